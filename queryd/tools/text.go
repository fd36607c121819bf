package tools

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// section is a part of a text reply.
type section struct {
	title  string
	weight int // its share of the room
	items  []string
}

// compose puts sections into limit characters. Each gets its share by weight;
// what one does not need goes to those that need more, so that a long list
// cannot push the others out. A section that does not fit ends with
// "…(N more omitted)".
func compose(head string, sections []section, limit int) string {
	shares := divide(sections, limit-utf8.RuneCountInString(head))
	var b strings.Builder
	b.WriteString(head)
	for i, s := range sections {
		b.WriteString(s.fit(shares[i]))
	}
	return clip(b.String(), limit)
}

// divide gives every section what it needs or its share of what the others leave,
// whichever is less.
func divide(sections []section, room int) []int {
	shares := make([]int, len(sections))
	settled := make([]bool, len(sections))
	for {
		weight := 0
		for i, s := range sections {
			if !settled[i] {
				weight += s.weight
			}
		}
		if weight == 0 {
			return shares
		}
		left, again := room, false
		for i, s := range sections {
			if settled[i] {
				continue
			}
			shares[i] = room * s.weight / weight
			if size := s.size(); size <= shares[i] {
				shares[i], settled[i], again = size, true, true
				left -= size
			}
		}
		if !again {
			return shares
		}
		room = left
	}
}

func (s section) heading() string {
	if s.title == "" {
		return ""
	}
	return "\n" + s.title + "\n"
}

func (s section) size() int {
	if len(s.items) == 0 {
		return 0
	}
	size := utf8.RuneCountInString(s.heading())
	for _, item := range s.items {
		size += utf8.RuneCountInString(item) + 1
	}
	return size
}

const omitted = "…(%d more omitted)\n"

// fit is the section in at most room characters; nothing of it when not even its
// heading fits.
func (s section) fit(room int) string {
	if len(s.items) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(s.heading())
	used := utf8.RuneCountInString(s.heading())
	whole := s.size() <= room
	for i, item := range s.items {
		size := utf8.RuneCountInString(item) + 1
		note := fmt.Sprintf(omitted, len(s.items)-i)
		if !whole && used+size+utf8.RuneCountInString(note) > room {
			if used+utf8.RuneCountInString(note) > room {
				return ""
			}
			b.WriteString(note)
			break
		}
		b.WriteString(item + "\n")
		used += size
	}
	return b.String()
}

// clip cuts a text to limit characters and marks the cut.
func clip(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	runes := []rune(text)
	return string(runes[:max(limit-1, 0)]) + "…"
}

// escapeLine shows text of documents on one line: white space becomes a space,
// what would move a cursor, hide or reorder text is spelled out.
func escapeLine(text string) string {
	return escape(strings.Join(strings.Fields(text), " "))
}

// quoteBlock shows text of documents on lines of its own, each behind a |, so
// that none can pass for a line of the server's.
func quoteBlock(text string, limit int) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n").Replace(text)
	var lines []string
	for line := range strings.SplitSeq(strings.Trim(clip(text, limit), "\n"), "\n") {
		lines = append(lines, "    | "+escape(strings.TrimRight(line, " \t")))
	}
	return strings.Join(lines, "\n")
}

func escape(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return unseen(r) || joins(r) || selects(r) }) {
		return text
	}
	var b strings.Builder
	before := rune(0)
	for _, r := range text {
		if unseen(r) || smuggles(r, before) {
			fmt.Fprintf(&b, `\u{%04X}`, r)
		} else {
			b.WriteRune(r)
		}
		before = r
	}
	return b.String()
}

// unseen leaves alone the joiners that emoji and several scripts are written
// with: they neither hide nor reorder anything.
func unseen(r rune) bool {
	if ' ' <= r && r <= '~' || joins(r) {
		return false
	}
	switch r {
	case '\t':
		return false
	case '\u034f', '\u115f', '\u1160', '\u3164', '\uffa0': // a joiner of marks and letters without a shape
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}

func joins(r rune) bool { return r == '\u200c' || r == '\u200d' }

// selects reports whether a character chooses among the shapes of the one before.
func selects(r rune) bool { return unicode.Is(unicode.Variation_Selector, r) }

// smuggles reports whether a joiner or selector stands where writing has no use
// for one. In a row, they are a text that a model reads and a person does not see.
func smuggles(r, before rune) bool {
	switch {
	case joins(r):
		return joins(before)
	case r >= '\U000e0100' && selects(r):
		return !unicode.Is(unicode.Han, before)
	case selects(r):
		return selects(before) || joins(before)
	}
	return false
}
