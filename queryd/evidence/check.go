package evidence

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"graphmill/pipeline/graph"
	"graphmill/pipeline/prose"
)

// Check is what was found of a draft answer.
type Check struct {
	// Grounded says that the draft cites evidence and nothing that is none.
	Grounded bool
	Cited    []int  // numbers of the session's evidence, sorted
	Invalid  []int  // numbers that point at nothing, sorted
	Answer   string // the draft without them
	Sources  []Item // what Cited names
	Uncited  []string
	// Unsupported are sentences whose evidence lacks figures or names of theirs.
	Unsupported []Unsupported
}

// Unsupported is a sentence with what its evidence lacks.
type Unsupported struct {
	Sentence string
	Figures  []string
	Names    []string
}

// CheckCitations compares a draft with the session's evidence. It is literal: a
// figure must stand in the evidence as a number, the words of a name as words. It
// takes time linear in the draft's length.
func (l *Ledger) CheckCitations(draft string) Check {
	draft = strings.ToValidUTF8(draft, "\uFFFD")
	c := checking{draft: draft, text: visible(draft), items: l.snapshot(), known: map[int]vocabulary{}, cited: map[int]bool{}, invalid: map[int]bool{}}
	c.markers = markersIn(c.text)
	c.bare = bare(c.text, c.markers)
	for i := range c.markers {
		c.look(&c.markers[i])
	}
	out := Check{Answer: c.answer()}
	for _, s := range c.sentences() {
		c.check(s, &out)
	}
	out.Cited, out.Invalid = slices.Sorted(maps.Keys(c.cited)), slices.Sorted(maps.Keys(c.invalid))
	for _, n := range out.Cited {
		out.Sources = append(out.Sources, c.items[n])
	}
	out.Grounded = len(out.Cited) > 0 && len(out.Invalid) == 0
	return out
}

// checking is the state of one check.
type checking struct {
	draft          string
	text           string // the draft with what is not prose blanked out
	bare           string // and without its citations
	markers        []marker
	items          map[int]Item
	known          map[int]vocabulary
	cited, invalid map[int]bool
}

// look finds out which of a marker's numbers are evidence.
func (c *checking) look(m *marker) {
	numbers := m.numbers()
	for _, n := range numbers {
		if _, ok := c.items[n]; ok && !m.tooWide() {
			c.cited[n] = true
			m.valid = append(m.valid, n)
		} else {
			c.invalid[n] = true
		}
	}
	m.whole = len(m.valid) == len(numbers)
}

// answer is the draft without the numbers that point at nothing.
func (c *checking) answer() string {
	var b strings.Builder
	at := 0
	for _, m := range c.markers {
		switch {
		case m.whole:
			continue
		case len(m.valid) > 0:
			b.WriteString(c.draft[at:m.start] + written(m.valid))
		default:
			b.WriteString(strings.TrimRight(c.draft[at:m.start], " \t\u00a0"))
		}
		at = m.end
	}
	b.WriteString(c.draft[at:])
	return b.String()
}

// sentence is a sentence of the draft with the citations that belong to it.
type sentence struct {
	graph.Range
	markers []marker // in it, or before it and not of the sentence before
	after   []marker // between it and the next
	table   bool     // the head of a table, or the line below it
}

// sentences divides the draft as if it had no citations, and gives each sentence
// those that stand in it or belong to it.
func (c *checking) sentences() []sentence {
	var list []sentence
	rest := c.markers
	for _, r := range prose.Sentences(c.bare) {
		s := sentence{Range: r}
		if n := len(list); n > 0 {
			rest = rest[c.follow(&list[n-1], rest, r.Start):]
		}
		for len(rest) > 0 && rest[0].start < r.End {
			s.markers = append(s.markers, rest[0])
			rest = rest[1:]
		}
		if len(list) > 0 && tableRule(c.bare[r.Start:r.End]) {
			list[len(list)-1].table, s.table = true, true
		}
		list = append(list, s)
	}
	if len(list) > 0 {
		list[len(list)-1].after = append(list[len(list)-1].after, rest...)
	}
	return list
}

// follow gives a sentence those of the citations before the next one that belong
// to it, and returns how many: a citation that touches it or the one before, or
// any when it has none of its own or no other sentence stands in the paragraph.
// Behind one that does not belong to it none does.
func (c *checking) follow(before *sentence, markers []marker, next int) int {
	end := before.End
	lastBreak := end + strings.LastIndex(c.text[end:next], "\n\n") // of a paragraph; before end when there is none
	for i, m := range markers {
		touches := end == m.start || len(before.markers) == 0
		if m.start >= next || strings.Contains(c.text[end:m.start], "\n\n") || !touches && lastBreak < m.end {
			return i
		}
		before.after = append(before.after, m)
		end = m.end
	}
	return len(markers)
}

// tableRule reports whether a line stands between the head and the rows of a
// table.
func tableRule(line string) bool {
	return strings.HasPrefix(line, "|") && strings.Contains(line, "-") && strings.Trim(line, "|-: \t") == ""
}

// check looks at one sentence.
func (c *checking) check(s sentence, out *Check) {
	text := c.bare[s.Start:s.End]
	if s.table || heading(text) {
		return
	}
	stated := claimOf(withoutLacking(c.bare[s.Start:s.End]))
	if stated.empty() {
		return
	}
	cited := c.vocabularies(slices.Concat(s.markers, s.after))
	if len(cited) == 0 {
		if !strings.HasSuffix(strings.TrimRight(text, "\"”’'*_) "), "?") {
			out.Uncited = append(out.Uncited, c.shown(s))
		}
		return
	}
	if figures, names := stated.missing(cited); len(figures)+len(names) > 0 {
		out.Unsupported = append(out.Unsupported, Unsupported{c.shown(s), figures, names})
	}
}

// heading reports whether a sentence is a Markdown heading, which names and does
// not claim.
func heading(text string) bool {
	rest := strings.TrimLeft(text, "#")
	return len(rest) < len(text) && strings.HasPrefix(rest, " ")
}

// bare is a text without its citations; every byte keeps its place.
func bare(text string, markers []marker) string {
	out := []byte(text)
	for _, m := range markers {
		blank(out, m.start, m.end)
	}
	return string(out)
}

// maxShown bounds a sentence as it is shown: enough to find it.
const maxShown = 300

func (c *checking) shown(s sentence) string {
	text := strings.Join(strings.Fields(c.draft[s.Start:s.End]), " ")
	if utf8.RuneCountInString(text) <= maxShown {
		return text
	}
	return string([]rune(text)[:maxShown-1]) + "…"
}

// vocabularies are those of the evidence that markers cite.
func (c *checking) vocabularies(markers []marker) []vocabulary {
	var numbers []int
	for _, m := range markers {
		numbers = append(numbers, m.valid...)
	}
	slices.Sort(numbers)
	var list []vocabulary
	for _, n := range slices.Compact(numbers) {
		list = append(list, c.vocabulary(n))
	}
	return list
}

func (c *checking) vocabulary(n int) vocabulary {
	v, ok := c.known[n]
	if !ok {
		item := c.items[n]
		v = vocabularyOf(item.Content + "\n" + item.Place.Title + "\n" + item.Place.Headings)
		c.known[n] = v
	}
	return v
}
