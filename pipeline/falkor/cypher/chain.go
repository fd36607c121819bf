package cypher

import (
	"regexp"
	"strconv"
	"strings"
)

var parameter = regexp.MustCompile(`\$[A-Za-z_][A-Za-z0-9_]*`)

// Chain makes one statement of several that write, to be carried out in their
// order: the engine does a statement wholly or not at all. Each must end where a
// WITH can follow it and return nothing. Their parameters are renamed apart.
func Chain(statements ...Statement) Statement {
	var text strings.Builder
	chained := Statement{params: Params{}}
	for i, s := range statements {
		prefix := "s" + strconv.Itoa(i) + "_"
		if i > 0 {
			text.WriteString("\nWITH count(*) AS done\n")
		}
		text.WriteString(parameter.ReplaceAllStringFunc(s.text, func(name string) string { return "$" + prefix + name[1:] }))
		for name, value := range s.params {
			chained.params[prefix+name] = value
		}
		if s.err != nil && chained.err == nil {
			chained.err = s.err
		}
		chained.caller = chained.caller || s.caller
	}
	chained.text = text.String()
	return chained
}
