// Package cypher is the one place where Cypher text is put together. A statement
// is a constant text, parameters that are rendered as literals in a CYPHER
// header, and labels that are checked and quoted. Whatever a document or a
// caller says becomes a parameter or a label, never text.
package cypher

import (
	"fmt"
	"maps"
	"strings"
)

// constant can only be an untyped string constant in another package: no
// variable converts to it, so no statement's text is put together elsewhere.
type constant string

// Statement is one Cypher statement. The zero value is not a statement.
type Statement struct {
	text   string
	params Params
	caller bool
	err    error
}

// New makes a statement of a text written in the source and its parameters.
func New(text constant, params Params) Statement {
	return Statement{text: string(text), params: params}
}

// Caller makes a statement of a text that came from outside. It is marked, and
// only the reading store takes it, after looking at it.
func Caller(text string, params Params) Statement {
	return Statement{text: text, params: params, caller: true}
}

// FromCaller reports whether the text came from outside.
func (s Statement) FromCaller() bool { return s.caller }

// Text is the statement without its parameters.
func (s Statement) Text() string { return s.text }

// WithLabel puts a checked and quoted label, relationship type or property name
// in the place of every «placeholder» in the text. A name that cannot be quoted
// makes Append fail.
func (s Statement) WithLabel(placeholder constant, name string) Statement {
	quoted, err := Label(name)
	if err != nil && s.err == nil {
		s.err = err
	}
	mark := "«" + string(placeholder) + "»"
	if !strings.Contains(s.text, mark) && s.err == nil {
		s.err = fmt.Errorf("put label %q: the statement has no %s", name, mark)
	}
	s.text = strings.ReplaceAll(s.text, mark, quoted)
	return s
}

// With returns the statement with further parameters.
func (s Statement) With(params Params) Statement {
	all := maps.Clone(s.params)
	if all == nil {
		all = Params{}
	}
	maps.Copy(all, params)
	s.params = all
	return s
}

// Append renders the statement, parameters first, behind b.
func (s Statement) Append(b []byte) ([]byte, error) {
	if s.err != nil {
		return b, s.err
	}
	b, err := s.params.Append(b)
	if err != nil {
		return b, err
	}
	return append(b, s.text...), nil
}

// Render returns the statement as it is sent.
func (s Statement) Render() (string, error) {
	b, err := s.Append(nil)
	if err != nil {
		return "", err
	}
	return string(b), nil
}
