package pdf

import (
	"math"
	"strings"
	"unicode/utf8"
)

// The least that makes a table of lines with wide gaps: so many rows (two may be
// justified text), and cells that are no lines of running text in columns.
const (
	minTableRows   = 3
	maxCellAverage = 40
	// alignment is how far, in em, the edges of cells may be off those of the
	// row above to stand in one column.
	alignment = 0.8
)

// tableAt reads the table that lines begin with: rows of cells under each
// other. It returns how many lines it takes, and its rows with a bar between
// cells; 0 when there is none.
func tableAt(lines []line) (n int, rows []line) {
	chars, cells := 0, 0
	for n < len(lines) && isRow(lines[n]) && (n == 0 || below(lines[n-1], lines[n])) {
		for _, c := range lines[n].cells {
			chars += utf8.RuneCountInString(c.text)
		}
		cells += len(lines[n].cells)
		n++
	}
	if n < minTableRows || chars > maxCellAverage*cells {
		return 0, nil
	}
	for _, l := range lines[:n] {
		parts := make([]string, len(l.cells))
		for i, c := range l.cells {
			parts[i] = c.text
		}
		l.text = strings.Join(parts, " | ")
		l.hyphen = false
		rows = append(rows, l)
	}
	return n, rows
}

// isRow reports whether a line has cells. A mark and what it marks are none.
func isRow(l line) bool {
	if l.heading > 0 || l.mono || len(l.cells) < 2 || leader.MatchString(l.text) || listMark.MatchString(l.text) {
		return false
	}
	for i := 1; i < len(l.cells); i++ {
		if l.cells[i].left-l.cells[i-1].right < 1.1*l.size {
			return false
		}
	}
	return true
}

// below reports whether two cells of b or more stand under cells of a, by one
// of their edges or their middle.
func below(a, b line) bool {
	if math.Abs(a.size-b.size) > 0.08*a.size || a.baseline-b.baseline > 4*a.size {
		return false
	}
	matched, last := 0, 0
	for _, c := range b.cells {
		for i := last; i < len(a.cells); i++ {
			over := a.cells[i]
			off := min(math.Abs(c.left-over.left), math.Abs(c.right-over.right), math.Abs(c.left+c.right-over.left-over.right)/2)
			if off < alignment*a.size {
				matched++
				last = i + 1
				break
			}
		}
	}
	return matched >= 2
}
