package extractors

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"graphmill/pipeline/graph"
)

// MaxDescription bounds a description, in code points.
const MaxDescription = 500

// The length in code points between which a sentence tells most.
const (
	tellingLeast = 40
	tellingMost  = 300
)

// Telling says how much a sentence tells about the name at the given range of
// its bytes, 0 to 1: most when it opens with the name, says what that is or
// was, is of readable length and is prose. A heading, a list of names or a
// table row tells least. It is a rule of thumb, for choosing between the
// sentences of a document that mention a thing; only order means anything.
func Telling(sentence string, name graph.Range) float64 {
	if name.Start < 0 || name.End > len(sentence) || name.Len() <= 0 {
		return 0
	}
	score := 0.3
	before := strings.Trim(sentence[:name.Start], " \t\n#*_>-•\"'“‘`")
	after := sentence[name.End:]
	switch lead := len(strings.Fields(before)); {
	case lead == 0:
		score += 0.2
	case lead == 1 && isArticle(before), lead <= 3 && strings.HasSuffix(before, ","):
		score += 0.15
	case lead <= 4:
		score += 0.05
	}
	if score > 0.4 && defines(after) {
		score += 0.35
	} else if defines(after) {
		score += 0.1
	}
	switch n := utf8.RuneCountInString(sentence); {
	case n >= tellingLeast && n <= tellingMost:
		score += 0.15
	case n < tellingLeast/2:
		score -= 0.2
	case n > 2*tellingMost:
		score -= 0.15
	}
	if !isProse(sentence) {
		score -= 0.25
	}
	// Steps of 0.05 add up with rounding noise that no comparison should see.
	return float64(int(min(1, max(0, score))*100+0.5)) / 100
}

func isArticle(word string) bool {
	word = strings.ToLower(word)
	return word == "the" || word == "a" || word == "an"
}

// defines reports that what follows a name says what it is: "is a", "was the",
// ", a", "(…) is an".
func defines(after string) bool {
	after = strings.TrimLeft(after, "*_`\"'”’ \t\n")
	if strings.HasPrefix(after, "(") {
		if end := strings.IndexByte(after, ')'); end > 0 && end < 120 {
			after = after[end+1:]
		}
	}
	fields := strings.FieldsFunc(after, func(r rune) bool { return unicode.IsSpace(r) })
	if len(fields) < 2 {
		return false
	}
	first, second := strings.ToLower(fields[0]), strings.ToLower(strings.Trim(fields[1], "*_`"))
	if first == "," {
		return isArticle(second)
	}
	copula := first == "is" || first == "was" || first == "are" || first == "were" || first == "refers" || first == "means"
	return copula && (isArticle(second) || second == "one" || second == "to" || strings.HasSuffix(second, "ed") || first == "means")
}

// isProse reports a sentence that ends as one and is not mostly marks, digits
// or cells.
func isProse(sentence string) bool {
	trimmed := strings.TrimRight(strings.TrimSpace(sentence), "\"'”’)*_`")
	end, _ := utf8.DecodeLastRuneInString(trimmed)
	if !strings.ContainsRune(".!?。！？…:", end) {
		return false
	}
	if strings.HasPrefix(trimmed, "#") || strings.Count(trimmed, "|") > 1 || strings.Count(trimmed, "\t") > 1 {
		return false
	}
	letters, others := 0, 0
	for _, r := range trimmed {
		switch {
		case unicode.IsLetter(r) || unicode.IsMark(r):
			letters++
		case !unicode.IsSpace(r):
			others++
		}
	}
	return letters > 3*others
}

// Description is a sentence as a description: on one line, without the marks
// that open a heading or list item, cut between words to MaxDescription code
// points.
func Description(sentence string) string {
	text := strings.Join(strings.Fields(sentence), " ")
	for _, mark := range []string{"# ", "## ", "### ", "#### ", "##### ", "###### ", "- ", "* ", "+ ", "> ", "• "} {
		text = strings.TrimPrefix(text, mark)
	}
	if utf8.RuneCountInString(text) <= MaxDescription {
		return text
	}
	end := 0
	for range MaxDescription - 1 {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	if space := strings.LastIndexByte(text[:end], ' '); space > end/2 {
		end = space
	}
	return strings.TrimRight(text[:end], " ,;:") + "…"
}
