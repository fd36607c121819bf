package evidence

import (
	"slices"
	"strconv"
	"strings"
)

const (
	// maxRange bounds what a range may cite: one that is wider cites nothing in
	// particular.
	maxRange = 100
	// hugeNumber stands for a number too long to be one: the largest integer that
	// every reader of JSON reads exactly.
	hugeNumber = 1<<53 - 1
)

// marker is a citation in a draft: [3], [1, 4], [1-3].
type marker struct {
	start, end int // bytes, brackets included
	spans      []numberRange
	// valid are the numbers that are evidence; whole says that all are.
	valid []int
	whole bool
}

// numberRange is a number, or a range of them with both ends.
type numberRange struct{ first, last int }

// numbers lists what a marker cites, in order, each once; of a range that is too
// wide its two ends.
func (m marker) numbers() []int {
	var list []int
	for _, r := range m.spans {
		if r.last-r.first >= maxRange {
			list = append(list, r.first, r.last)
			continue
		}
		for n := r.first; n <= r.last; n++ {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// tooWide reports whether a range in the marker is.
func (m marker) tooWide() bool {
	return slices.ContainsFunc(m.spans, func(r numberRange) bool { return r.last-r.first >= maxRange })
}

// markersIn finds the citations of a text, in order. What only looks like one is
// left alone: a link [1](…), a footnote [^1], an escaped \[1\]. Brackets around a
// marker belong to it.
func markersIn(text string) []marker {
	var found []marker
	free := 0 // where the last one ended
	for at := 0; at < len(text); {
		open := strings.IndexByte(text[at:], '[')
		if open < 0 {
			return found
		}
		start := at + open
		m, ok := readMarker(text, start)
		if !ok || escaped(text, start) || strings.HasPrefix(text[m.end:], "(") {
			at = start + 1
			continue
		}
		for m.start > free && text[m.start-1] == '[' && m.end < len(text) && text[m.end] == ']' {
			m.start--
			m.end++
		}
		found = append(found, m)
		at = m.end
	}
	return found
}

// escaped reports whether an odd number of backslashes stands before at. More
// than a few are no escape but somebody's joke.
func escaped(text string, at int) bool {
	count := 0
	for count < 8 && at-count > 0 && text[at-count-1] == '\\' {
		count++
	}
	return count%2 == 1
}

// readMarker reads the marker whose bracket is at start. It stops at the first
// character that no marker holds, so that reading all brackets of a text is
// linear.
func readMarker(text string, start int) (marker, bool) {
	m := marker{start: start}
	at := start + 1
	for {
		first, next, ok := readCited(text, at)
		if !ok {
			return m, false
		}
		r := numberRange{first, first}
		if after, dash := readDash(text, next); dash {
			last, end, ok := readCited(text, after)
			if !ok {
				return m, false
			}
			r, next = numberRange{min(first, last), max(first, last)}, end
		}
		m.spans = append(m.spans, r)
		if next >= len(text) {
			return m, false
		}
		switch text[next] {
		case ']':
			m.end = next + 1
			return m, true
		case ',', ';':
			at = next + 1
		default:
			return m, false
		}
	}
}

// readCited reads digits with white space around them.
func readCited(text string, at int) (n, next int, ok bool) {
	at = skipSpace(text, at)
	start := at
	for at < len(text) && '0' <= text[at] && text[at] <= '9' {
		at++
	}
	if at == start {
		return 0, at, false
	}
	n, err := strconv.Atoi(text[start:at])
	if err != nil || n > hugeNumber {
		n = hugeNumber
	}
	return n, skipSpace(text, at), true
}

func readDash(text string, at int) (next int, ok bool) {
	for _, dash := range []string{"-", "–", "—", "‐", "‑", "−"} {
		if strings.HasPrefix(text[at:], dash) {
			return at + len(dash), true
		}
	}
	return at, false
}

func skipSpace(text string, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r') {
		at++
	}
	return at
}

// written is a marker that cites numbers, which are sorted: three and more that
// follow each other are a range.
func written(numbers []int) string {
	var parts []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		if j-i >= 2 {
			parts = append(parts, strconv.Itoa(numbers[i])+"-"+strconv.Itoa(numbers[j]))
			i = j + 1
			continue
		}
		parts = append(parts, strconv.Itoa(numbers[i]))
		i++
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
