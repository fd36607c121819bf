package extractors

import (
	"strings"
	"testing"
)

func TestQuotesAreFoundAsTheyStand(t *testing.T) {
	const text = "Ada Lovelace — born\nin London — wrote “Notes”. The Society was founded in Oslo by Erik Dahl in 1911. " +
		"Anna met Ann. It did not acquire Corvane Systems that spring. 東京大学は1877年に設立された。"
	for name, c := range map[string]struct {
		quote, want string
		similarity  float64
	}{
		"exactly":                     {"wrote “Notes”", "wrote “Notes", 1}, // marks at the ends are the quote's own
		"over a line break":           {"born in London", "born\nin London", 1},
		"in another case":             {"ADA LOVELACE", "Ada Lovelace", 1},
		"with other marks":            {`Lovelace - born in London - wrote "Notes`, "Lovelace — born\nin London — wrote “Notes", 1},
		"in quotation marks":          {`"The Society was founded"`, "The Society was founded", 1},
		"with one word changed":       {"The Society was founded at Oslo by Erik Dahl", "The Society was founded in Oslo by Erik Dahl", 0.95},
		"whole words only":            {"Ann", "Ann", 1},
		"without spaces":              {"1877年に設立", "1877年に設立", 1},
		"another year":                {"The Society was founded in Oslo by Erik Dahl in 1912", "", 0},
		"without its negation":        {"It did acquire Corvane Systems that spring", "", 0},
		"a short one with one letter": {"Erik Dall in 1911", "", 0},
		"half of it invented":         {"The Society was founded in Oslo by Nils Berg, a spy", "", 0},
		"not there":                   {"Grace Hopper joined the Navy", "", 0},
		"nothing":                     {" \"\" ", "", 0},
		"part of a word":              {"nna", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			found, ok := newPassage(text).locate(c.quote)
			if got := text[found.at.Start:found.at.End]; ok != (c.want != "") || got != c.want {
				t.Fatalf("found %q, %v; want %q", got, ok, c.want)
			}
			if ok && (found.similarity < c.similarity-0.02 || found.similarity > c.similarity+0.02) {
				t.Errorf("similarity %.3f, want about %.2f", found.similarity, c.similarity)
			}
		})
	}
}

// The floor lies where the documentation says.
func TestTheFloorOfAQuote(t *testing.T) {
	sentence := strings.Repeat("abcdefghi ", 10) // 99 characters without the last space
	for changed, want := range map[int]bool{0: true, 9: true, 10: false} {
		runes := []rune(sentence)
		for i := range changed {
			runes[10*i] = 'x'
		}
		if _, ok := newPassage("So it begins. " + sentence + "And ends.").locate(string(runes)); ok != want {
			t.Errorf("%d of 99 characters changed: found is %v, want %v", changed, ok, want)
		}
	}
}

func FuzzQuotesAreOfTheText(f *testing.F) {
	f.Add("Ada met\nBob.", "ada MET bob")
	f.Add("x̂ é", "é")
	f.Add("", "a")
	f.Fuzz(func(t *testing.T, text, quote string) {
		p := newPassage(text)
		found, ok := p.locate(quote)
		if !ok {
			return
		}
		if found.at.Start < 0 || found.at.End > len(text) || found.at.Len() <= 0 {
			t.Fatalf("a place outside of the text: %v", found.at)
		}
		if found.similarity < QuoteFloor || found.similarity > 1 {
			t.Fatalf("similarity %v", found.similarity)
		}
	})
}
