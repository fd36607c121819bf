package cypher

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxNameBytes bounds labels, relationship types and property names; the engine
// keeps each of them for good.
const maxNameBytes = 255

// Label quotes a label, a relationship type or a property name. Between
// backticks FalkorDB takes every character but the backtick itself, for which
// it has no escape: such a name is an error, as are an empty or over-long name,
// one that is not UTF-8, and one with control characters, which no person could
// tell from its look-alike.
func Label(name string) (string, error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	return "`" + name + "`", nil
}

func checkName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("quote name: it is empty")
	case len(name) > maxNameBytes:
		return fmt.Errorf("quote name %.40q…: %d bytes, at most %d are allowed", name, len(name), maxNameBytes)
	case !utf8.ValidString(name):
		return fmt.Errorf("quote name %q: it is not UTF-8", name)
	case strings.ContainsRune(name, '`'):
		return fmt.Errorf("quote name %q: a backtick cannot stand in a label, a relationship type or a property name", name)
	case strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("quote name %q: it holds a control character", name)
	}
	return nil
}

// isIdentifier reports whether name may stand unquoted as a parameter's name.
func isIdentifier(name string) bool {
	for i := 0; i < len(name); i++ {
		c := name[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
