package rst

import (
	"regexp"
	"strconv"
	"strings"
)

// footnotes knows the numbers of footnotes that are numbered automatically.
type footnotes struct {
	labels               map[string]int // "#label"
	numbers              []int          // of "#", in order
	definitions, marked  int            // how many "#" and "*" were defined so far
	references, asterisk int            // and how many were referred to
}

var footnoteStart = regexp.MustCompile(`^\.\. \[([0-9]+|#[\w.-]*)\]`)

// numberFootnotes numbers them in their order, leaving out the numbers that
// others have.
func numberFootnotes(lines []string) footnotes {
	f := footnotes{labels: make(map[string]int)}
	taken := make(map[int]bool)
	var automatic []string
	for _, line := range lines {
		m := footnoteStart.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if n, err := strconv.Atoi(m[1]); err == nil {
			taken[n] = true
		} else if _, seen := f.labels[m[1]]; m[1] == "#" || !seen {
			automatic = append(automatic, m[1])
			f.labels[m[1]] = 0
		}
	}
	next := 1
	for _, label := range automatic {
		for taken[next] {
			next++
		}
		if label == "#" {
			f.numbers = append(f.numbers, next)
		} else {
			f.labels[label] = next
		}
		next++
	}
	return f
}

// definition is what stands in the brackets of the next definition of a label.
func (f *footnotes) definition(label string) string {
	switch label {
	case "#":
		f.definitions++
	case "*":
		f.marked++
	}
	return f.shown(label, f.definitions, f.marked)
}

func (f *footnotes) reference(label string) string {
	switch label {
	case "#":
		f.references++
	case "*":
		f.asterisk++
	}
	return f.shown(label, f.references, f.asterisk)
}

// symbols stand for "*", again and again.
var symbols = []string{"*", "†", "‡", "§", "¶", "#", "♠", "♥", "♦", "♣"}

func (f *footnotes) shown(label string, number, symbol int) string {
	switch {
	case label == "*":
		mark := symbols[(symbol-1)%len(symbols)]
		return strings.Repeat(mark, 1+(symbol-1)/len(symbols))
	case label == "#" && number <= len(f.numbers):
		return strconv.Itoa(f.numbers[number-1])
	case f.labels[label] > 0:
		return strconv.Itoa(f.labels[label])
	}
	return strings.TrimLeft(label, "#")
}

var footnoteReference = regexp.MustCompile(`^\[(#[\w.-]*|\*)\]_`)

func (s *scanner) footnote(rest string) {
	m := footnoteReference.FindStringSubmatch(rest[:min(len(rest), 128)])
	if m == nil || !s.endsReference(s.at+len(m[0])) {
		s.copy(1)
		return
	}
	s.out.WriteString("[" + s.parser.footnotes.reference(m[1]) + "]")
	s.at += len(m[0])
}

var targetLine = regexp.MustCompile("^\\.\\. _(`[^`]{1,200}`|[^:`]{1,200}):$")

// readTargets finds the headings that stand right after a label, by which
// others refer to them.
func (p *parser) readTargets(lines []string) {
	p.targets = make(map[string]string)
	var labels []string
	for i, line := range lines {
		if line == "" {
			continue
		}
		if m := targetLine.FindStringSubmatch(line); m != nil {
			labels = append(labels, normalName(strings.Trim(m[1], "`")))
			continue
		}
		if title := titleAt(lines[i:]); title != "" {
			for _, label := range labels {
				p.targets[label] = p.inline(title)
			}
		}
		labels = nil
	}
}

// titleAt is the section title that lines begin with, or "".
func titleAt(lines []string) string {
	switch {
	case len(lines) > 2 && isRule(lines[0]) && lines[2] == lines[0] && !isRule(lines[1]):
		return strings.TrimSpace(lines[1])
	case len(lines) > 1 && lines[0][0] != ' ' && !isRule(lines[0]) && isRule(lines[1]):
		return lines[0]
	}
	return ""
}

func normalName(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }

var codePoint = regexp.MustCompile(`^(?:0x|x|\\x|U\+|u|\\u|&#x)([0-9A-Fa-f]{1,6});?$`)

// unicodeText is the text of a unicode directive: code points and words, the
// white space between which is dropped where two code points meet.
func unicodeText(argument string) string {
	argument, _, _ = strings.Cut(argument, " .. ")
	var b strings.Builder
	wordBefore := false
	for i, field := range strings.Fields(argument) {
		text, word := field, true
		if m := codePoint.FindStringSubmatch(field); m != nil {
			n, _ := strconv.ParseInt(m[1], 16, 32)
			text, word = string(rune(n)), false
		} else if n, err := strconv.Atoi(field); err == nil {
			text, word = string(rune(n)), false
		}
		if i > 0 && word && wordBefore {
			b.WriteByte(' ')
		}
		b.WriteString(text)
		wordBefore = word
	}
	return b.String()
}
