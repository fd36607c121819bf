package fulltext_test

import (
	"strings"
	"testing"
	"unicode"

	"graphmill/pipeline/falkor/fulltext"
)

func TestExtraSpellsNamesWithSignsAsWords(t *testing.T) {
	for text, want := range map[string]string{
		"plain words only":                "",
		"C++ and C#, .NET":                "cplusplus csharp",
		"Node.js at AT&T.":                "atandt nodejs",
		"rock-n-roll by e-mail":           "email rocknroll",
		"version 3.1 is not 31":           "3dot1",
		"CVE-2023-1234":                   "cve2023dash1234",
		"über Café":                       "cafe uber",
		"東京都":                             "京都 東京",
		"user@example.com":                "examplecom",
		"don't 'quote'":                   "dont",
		"-- --- ... &&& +++ ''":           "",
		strings.Repeat("a-", 100) + "end": "",
	} {
		if got := fulltext.Extra(text); got != want {
			t.Errorf("Extra(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestQueryIsWordsAndNothingElse(t *testing.T) {
	for question, want := range map[string]string{
		"":                                       "",
		"?!* @ -":                                "",
		"Who wrote the Analytical Engine notes?": "wrote|analytical|engine|notes",
		"The Who":                                "the|who",
		"C++":                                    "c|cplusplus",
		"user@example.com a:b %x% ~y ((((":       "user|example|com|examplecom|b|ab|x|y",
		"Node.js or node.js":                     "node|js|nodejs",
		"Zürich":                                 "zürich|zurich",
		"東京都":                                    "京都|東京",
	} {
		if got := fulltext.Query(question); got != want {
			t.Errorf("Query(%q) = %q, want %q", question, got, want)
		}
	}
}

func FuzzQueryHasNoSigns(f *testing.F) {
	for _, s := range []string{"a", "C++ & x|y", "東京 x'y\"", "\x00\xff", "a-b-c 1.2.3", "@x:{y}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, question string) {
		query := fulltext.Query(question)
		if query == "" {
			return
		}
		terms := strings.Split(query, "|")
		if len(terms) > fulltext.MaxQueryTerms {
			t.Fatalf("%d terms", len(terms))
		}
		for _, term := range terms {
			if term == "" || strings.ContainsFunc(term, func(r rune) bool {
				return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
			}) {
				t.Fatalf("Query(%q) = %q", question, query)
			}
		}
		fulltext.Extra(question)
	})
}
