package prose

import (
	"strings"
	"testing"
)

func TestEachAbbreviationIsInOneClass(t *testing.T) {
	// A word in two classes would silently have the later one.
	seen := map[string]abbreviation{}
	for word, class := range abbreviations {
		seen[word] = class
	}
	for _, class := range abbreviationClasses {
		for word := range strings.FieldsSeq(class.words) {
			if seen[word] != class.class {
				t.Errorf("%q is in classes %d and %d", word, class.class, seen[word])
			}
		}
	}
}
