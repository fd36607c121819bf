package rst

import (
	"strings"
	"testing"
	"unicode"

	"graphmill/pipeline/corpus/corpustest"
	"graphmill/pipeline/corpus/htmldoc"
)

func TestRealFiles(t *testing.T) {
	corpustest.Golden(t, Parser{}, "../../../testdata/formats/rst")
}

// Pages that Sphinx built of two of the files hold the same words, but for some
// that it adds: the module before a function's name, "class" and the like.
func TestSphinxShowsTheSameWords(t *testing.T) {
	const dir = "../../../testdata/formats/"
	for source, page := range map[string]string{
		"rst/python-tomllib.rst": "html/sphinx-tomllib.html", "rst/requests-authentication.rst": "html/sphinx-requests-authentication.html",
	} {
		ours := words(corpustest.Load(t, Parser{}, dir+source).Text)
		theirs := words(corpustest.Load(t, htmldoc.Parser{}, dir+page).Text)
		all, differ := 0, 0
		for word, n := range theirs {
			all += n
			differ += max(0, n-ours[word])
		}
		for word, n := range ours {
			differ += max(0, n-theirs[word])
		}
		if differ*100 > 3*all {
			t.Errorf("%s: %d of %d words differ", source, differ, all)
		}
	}
}

// words counts runs of letters and digits.
func words(text string) map[string]int {
	counts := make(map[string]int)
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		counts[word]++
	}
	return counts
}
