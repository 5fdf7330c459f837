package diag

// Distance is the Levenshtein distance of a and b in bytes, for hints that ask
// whether another word was meant. It takes len(a) times len(b) steps. How near is
// near enough is the caller's to say: it depends on how alike the words are.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
