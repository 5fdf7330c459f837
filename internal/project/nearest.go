package project

// nearest returns the word of list that is closest to s by edit distance, if it
// is close enough to be meant, else "".
func nearest(s string, list []string) string {
	best, bestDistance := "", len(s)/2+1
	for _, w := range list {
		if d := distance(s, w); d < bestDistance {
			best, bestDistance = w, d
		}
	}
	return best
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
