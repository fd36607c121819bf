package extractors

import (
	"strings"
	"unicode"

	"graphmill/pipeline/graph"
)

// What the model finds and what names something by itself are not the same:
// asked for dates it also answers "Tuesday", "next year" and "48 hours", asked
// for roles also "engineer" and "nurse". One entity for all Tuesdays or all
// engineers of a corpus joins what has nothing to do with each other, so such
// answers are left out. The rules go with the prompt, not with the label: who
// wants them asks for "time" or "occupation". Figures stand in docs/quality.md.

// namesNothing returns the rule that tells a prompt's empty answers, or nil.
func namesNothing(prompt string) func(text string) bool {
	switch prompt {
	case "date":
		return isVagueDate
	case "role":
		return isOccupation
	}
	return nil
}

var months = words(`january february march april may june july august september october november december
	jan feb mar apr jun jul aug sep sept oct nov dec`)

// isVagueDate reports a date that needs its text to be one: it has no month, no
// year and no century.
func isVagueDate(text string) bool {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		lower := strings.ToLower(word)
		switch {
		case months[lower] && lower != word, lower == "century", lower == "centuries":
			return false
		case len(word) >= 3 && word[0] >= '0' && word[0] <= '9':
			// A year, a decade, "19th"; "300 days" is seldom asked for as a date.
			return strings.Contains(text, "hour") || strings.Contains(text, "day") || strings.Contains(text, "year ") || strings.HasSuffix(text, "years")
		case strings.ContainsFunc(word, unicode.IsDigit) && strings.ContainsAny(text, "/."):
			return false
		}
	}
	// What is written in another script is not judged by English words.
	return strings.IndexFunc(text, func(r rune) bool { return r > unicode.MaxLatin1 && unicode.IsLetter(r) }) < 0
}

// periodMarks stand between the two dates of a period.
var periodMarks = []string{" – ", " — ", " - ", "–", " to ", " until ", " and "}

// splitPeriod returns the two dates of "26 July 1894 – 22 November 1963", which
// are dates of their own, or the range as it is. "1914–18" stays whole.
func splitPeriod(text string, at graph.Range) []graph.Range {
	for _, mark := range periodMarks {
		place := strings.Index(text[at.Start:at.End], mark)
		if place < 0 {
			continue
		}
		first := graph.Range{Start: at.Start, End: at.Start + place}
		second := graph.Range{Start: first.End + len(mark), End: at.End}
		if holdsYear(text[first.Start:first.End]) && holdsYear(text[second.Start:second.End]) {
			return []graph.Range{first, second}
		}
	}
	return []graph.Range{at}
}

// holdsYear reports four digits in a row.
func holdsYear(text string) bool {
	digits := 0
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			digits = 0
		} else if digits++; digits == 4 {
			return true
		}
	}
	return false
}

// offices are the nouns that name an office or position, rather than a
// profession.
var offices = words(`president vice-president premier minister secretary chancellor governor mayor senator congressman
	congresswoman representative deputy speaker ambassador consul envoy commissioner councillor alderman sheriff marshal
	king queen emperor empress prince princess duke duchess earl count sultan shah tsar czar pope bishop archbishop
	cardinal abbot patriarch caliph viceroy regent chief head director chair chairman chairwoman chairperson ceo cfo cto
	coo executive officer manager administrator treasurer registrar trustee curator professor lecturer instructor dean
	rector provost principal headmaster fellow editor leader commander commander-in-chief coach maintainer
	spokesman spokeswoman spokesperson judge justice magistrate attorney solicitor prosecutor ombudsman auditor
	comptroller conductor laureate general-secretary secretary-general director-general governor-general founder
	co-founder supervisor superintendent inspector delegate assistant adviser advisor undersecretary`)

// isOccupation reports a role without a word for an office.
func isOccupation(text string) bool {
	for _, word := range strings.Fields(strings.ToLower(text)) {
		if offices[strings.Trim(word, ",.'’")] {
			return false
		}
	}
	return strings.IndexFunc(text, func(r rune) bool { return r > unicode.MaxLatin1 && unicode.IsLetter(r) }) < 0
}
