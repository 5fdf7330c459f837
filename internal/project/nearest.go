package project

import "github.com/skillpm/skillpm/internal/diag"

// nearest returns the word of list that is closest to s by edit distance, if it
// is close enough to be meant, else "".
func nearest(s string, list []string) string {
	best, bestDistance := "", len(s)/2+1
	for _, w := range list {
		if d := diag.Distance(s, w); d < bestDistance {
			best, bestDistance = w, d
		}
	}
	return best
}
