package extractors

import (
	"strings"
	"unicode/utf8"
)

// eachPiece yields the parts of a text that no name reaches over, in order:
// paragraphs, list items, rows of tables.
func eachPiece(text string, yield func(start, end int)) {
	start := 0
	for at := 0; at < len(text); at++ {
		next := strings.IndexByte(text[at:], '\n')
		if next < 0 {
			break
		}
		if at += next; parts(text, at) {
			yield(start, at)
			start = at + 1
		}
	}
	yield(start, len(text))
}

// parts reports whether the line break at a place of text stands between two
// things and does not only wrap a line: an empty line follows, or a line with the
// mark of a list, heading or quote, or one of the two lines is a row of a table.
func parts(text string, at int) bool {
	before := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
	after := text[at+1:]
	if end := strings.IndexByte(after, '\n'); end >= 0 {
		after = after[:end]
	}
	after = strings.TrimSpace(after)
	return after == "" || opensLine(after) || isRow(before) || isRow(after)
}

// isRow reports whether a line is a row of a table as parsers write it.
func isRow(line string) bool { return strings.Contains(line, " | ") }

// opensLine reports whether line begins with a mark such as "- " or "2. ".
func opensLine(line string) bool {
	rest := strings.TrimLeft(line, "0123456789")
	if len(rest) < len(line) {
		return strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, ") ")
	}
	mark, size := utf8.DecodeRuneInString(line)
	if strings.ContainsRune("|#>", mark) {
		return true
	}
	return strings.ContainsRune("-*+•–", mark) && (size == len(line) || line[size] == ' ' || line[size] == '\t')
}
