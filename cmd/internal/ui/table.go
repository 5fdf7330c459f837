package ui

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Cells returns how many terminal cells s takes: wide East Asian characters
// take two, combining marks none.
func Cells(s string) int {
	n := 0
	for _, r := range s {
		n += runeCells(r)
	}
	return n
}

func runeCells(r rune) int {
	if r < 0x300 {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	if r >= 0x1f300 && r <= 0x1faff {
		return 2
	}
	return 1
}

// Truncate cuts s to at most cells cells, the last one an ellipsis when
// something was cut.
func Truncate(s string, cells int) string {
	if Cells(s) <= cells {
		return s
	}
	if cells < 1 {
		return ""
	}
	var b strings.Builder
	used := 0
	for _, r := range s {
		w := runeCells(r)
		if used+w > cells-1 {
			break
		}
		b.WriteRune(r)
		used += w
	}
	return b.String() + "…"
}

// minLastColumn is the narrowest last column worth printing.
const minLastColumn = 12

// Table returns rows as aligned columns, two blanks apart. With maxCells > 0
// the last column is cut to fit; rows are never wrapped. Header may be nil.
func Table(header []string, rows [][]string, maxCells int) string {
	all := rows
	if header != nil {
		all = append([][]string{header}, rows...)
	}
	var widths []int
	for _, row := range all {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Cells(cell))
		}
	}
	var b strings.Builder
	for _, row := range all {
		b.WriteString(tableRow(row, widths, maxCells))
		b.WriteByte('\n')
	}
	return b.String()
}

func tableRow(row []string, widths []int, maxCells int) string {
	var b strings.Builder
	used := 0
	for i, cell := range row {
		if i == len(row)-1 {
			if maxCells > 0 {
				cell = Truncate(cell, max(maxCells-used, minLastColumn))
			}
			b.WriteString(cell)
			break
		}
		b.WriteString(cell)
		b.WriteString(strings.Repeat(" ", widths[i]-Cells(cell)+2))
		used += widths[i] + 2
	}
	return strings.TrimRight(b.String(), " ")
}
