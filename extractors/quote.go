package extractors

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"graphmill/pipeline/graph"
)

// A language model quotes a passage from memory: nearly always to the letter,
// sometimes with another quotation mark, case or line break, seldom with a word
// changed. What it quotes is looked up in three steps, each only when the one
// before found nothing; what is found is always the passage's own text.

const (
	// QuoteFloor is the least similarity, 1 less the share of characters to
	// change, at which a passage holds a quote. At 0.9 a word of five letters may
	// differ in a sentence of fifty; below, sentences of one form are taken for
	// each other ("… was founded in Oslo by …").
	QuoteFloor = 0.9
	// leastFuzzy and mostFuzzy bound, in characters, a quote that is compared by
	// similarity: a shorter one is a name or two, where one letter is another
	// name; a longer one costs too much.
	leastFuzzy, mostFuzzy = 20, 600
	// mostCompared bounds the comparison of one quote with one passage: tens of
	// milliseconds.
	mostCompared = 16_000_000
)

// passage is a text in which quotes are looked up.
type passage struct {
	text   string
	folded []rune
	at     []int // byte of text at which each folded rune starts
}

func newPassage(text string) *passage {
	p := &passage{text: text}
	p.folded, p.at = fold(text)
	return p
}

// quoted is a place that holds a quote.
type quoted struct {
	at         graph.Range // bytes of the passage
	similarity float64     // 1 when it differs in white space, case and kind of marks at most
}

// locate returns the first place that holds the quote, as whole words: exactly,
// else with white space, case and kinds of quotation marks and dashes folded,
// else with a similarity of at least [QuoteFloor] and the same figures and
// negations.
func (p *passage) locate(quote string) (quoted, bool) {
	quote = strings.TrimFunc(quote, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("\"“”„«»‘’…", r)
	})
	if quote == "" || len(quote) > 4*len(p.text)+64 {
		return quoted{}, false
	}
	if at, ok := p.exact(quote, graph.Range{End: len(p.text)}); ok {
		return quoted{at, 1}, true
	}
	wanted, _ := fold(quote)
	if at, ok := p.loose(wanted, 0, len(p.folded)); ok {
		return quoted{at, 1}, true
	}
	return p.similar(wanted)
}

// exact finds a quote in a part of the passage, letter by letter.
func (p *passage) exact(quote string, within graph.Range) (graph.Range, bool) {
	for from := within.Start; ; {
		found := strings.Index(p.text[from:within.End], quote)
		if found < 0 {
			return graph.Range{}, false
		}
		at := graph.Range{Start: from + found, End: from + found + len(quote)}
		if wholeWords(p.text, at) {
			return at, true
		}
		_, size := utf8.DecodeRuneInString(p.text[at.Start:])
		from = at.Start + size
	}
}

// loose finds folded runes among those from one number to another.
func (p *passage) loose(wanted []rune, from, to int) (graph.Range, bool) {
	if len(wanted) == 0 {
		return graph.Range{}, false
	}
	for i := from; i+len(wanted) <= to; i++ {
		if p.folded[i] != wanted[0] || !equalRunes(p.folded[i:i+len(wanted)], wanted) {
			continue
		}
		if at := p.bytes(i, i+len(wanted)); wholeWords(p.text, at) {
			return at, true
		}
	}
	return graph.Range{}, false
}

func equalRunes(a, b []rune) bool {
	for i := range b {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// bytes is the range of folded runes in the text, without what was folded away
// after the last of them.
func (p *passage) bytes(from, to int) graph.Range {
	start, last := p.at[from], p.at[to-1]
	_, size := utf8.DecodeRuneInString(p.text[last:])
	end := last + size
	for end < len(p.text) { // marks on the last letter
		r, size := utf8.DecodeRuneInString(p.text[end:])
		if !unicode.IsMark(r) {
			break
		}
		end += size
	}
	return graph.Range{Start: start, End: end}
}

// similar finds the part of the passage that fewest changes of characters turn
// into the quote: approximate matching after Sellers, "The theory and
// computation of evolutionary distances", 1980.
func (p *passage) similar(wanted []rune) (quoted, bool) {
	n := len(wanted)
	if n < leastFuzzy || n > mostFuzzy || n*len(p.folded) > mostCompared {
		return quoted{}, false
	}
	// costs[j] is the fewest changes that turn a part ending here into the first
	// j runes of the quote, and starts[j] where that part starts.
	costs, starts := make([]int, n+1), make([]int, n+1)
	for j := range costs {
		costs[j] = j
	}
	best, from, to := n, 0, 0
	for i, r := range p.folded {
		diagonal, start := costs[0], starts[0]
		starts[0] = i + 1
		for j := 1; j <= n; j++ {
			cost, at := diagonal, start
			if wanted[j-1] != r {
				cost++
			}
			if costs[j]+1 < cost {
				cost, at = costs[j]+1, starts[j]
			}
			if costs[j-1]+1 < cost {
				cost, at = costs[j-1]+1, starts[j-1]
			}
			diagonal, start = costs[j], starts[j]
			costs[j], starts[j] = cost, at
		}
		if costs[n] < best {
			best, from, to = costs[n], starts[n], i+1
		}
	}
	similarity := 1 - float64(best)/float64(n)
	if similarity < QuoteFloor || to <= from {
		return quoted{}, false
	}
	at := widen(p.text, p.bytes(from, to))
	if found, _ := fold(p.text[at.Start:at.End]); saysOtherwise(string(found), string(wanted)) {
		return quoted{}, false
	}
	return quoted{at, similarity}, true
}

// widen takes a range to the ends of its first and last word, and off white
// space.
func widen(text string, at graph.Range) graph.Range {
	for at.Start > 0 && insideWord(text, at.Start) {
		_, size := utf8.DecodeLastRuneInString(text[:at.Start])
		at.Start -= size
	}
	for at.End < len(text) && insideWord(text, at.End) {
		_, size := utf8.DecodeRuneInString(text[at.End:])
		at.End += size
	}
	for at.Len() > 1 && unicode.IsSpace(rune(text[at.Start])) {
		at.Start++
	}
	for at.Len() > 1 && unicode.IsSpace(rune(text[at.End-1])) {
		at.End--
	}
	return at
}

// saysOtherwise reports that two similar texts do not state the same: their
// figures or their negations differ. It knows English negations only.
func saysOtherwise(a, b string) bool {
	digits := func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsDigit(r) {
				return r
			}
			return -1
		}, s)
	}
	return digits(a) != digits(b) || denials(a) != denials(b)
}

func denials(text string) (n int) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' }) {
		switch {
		case strings.HasSuffix(word, "n't"), negations[word]:
			n++
		}
	}
	return n
}

var negations = words(`not no never nor neither without none cannot denied denies refused refuses failed`)

// fold writes text in lower case with one space for white space of any kind and
// length, one kind of quotation mark and dash, and without invisible characters;
// it returns the byte of text at which each rune stands.
func fold(text string) (folded []rune, at []int) {
	folded, at = make([]rune, 0, len(text)), make([]int, 0, len(text))
	for i, r := range text {
		switch {
		case unicode.IsSpace(r):
			if n := len(folded); n == 0 || folded[n-1] == ' ' {
				continue
			}
			r = ' '
		case strings.ContainsRune("‘’‚‛′`", r):
			r = '\''
		case strings.ContainsRune("“”„‟«»″", r):
			r = '"'
		case unicode.Is(unicode.Pd, r):
			r = '-'
		case unicode.Is(unicode.Cf, r), unicode.IsControl(r):
			continue
		default:
			r = unicode.ToLower(r)
		}
		folded, at = append(folded, r), append(at, i)
	}
	if n := len(folded); n > 0 && folded[n-1] == ' ' {
		folded, at = folded[:n-1], at[:n-1]
	}
	return folded, at
}

// wholeWords reports that a range neither begins nor ends inside a word.
func wholeWords(text string, at graph.Range) bool {
	return !insideWord(text, at.Start) && !insideWord(text, at.End)
}

// insideWord reports that a word goes on over a place of text. In scripts that
// put no space between words it never does.
func insideWord(text string, at int) bool {
	if at <= 0 || at >= len(text) {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at:])
	if unicode.IsMark(after) {
		return true
	}
	return inWord(before) && inWord(after)
}

func inWord(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) || r == '_') && !unicode.In(r, unspaced...)
}

// unspaced are the scripts written without spaces between words.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Hangul,
}

// occurrences are all places of a part of the passage that hold a name exactly,
// as whole words.
func (p *passage) occurrences(name string, within graph.Range) (all []graph.Range) {
	for {
		at, ok := p.exact(name, within)
		if !ok {
			return all
		}
		all = append(all, at)
		within.Start = at.End
	}
}
