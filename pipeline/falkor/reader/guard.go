package reader

import (
	"regexp"
	"strings"

	"graphmill/pipeline/falkor/conn"
)

var (
	loadWord = regexp.MustCompile(`(?i)(^|[^\pL\pN_])LOAD([^\pL\pN_]|$)`)
	csvWord  = regexp.MustCompile(`(?i)(^|[^\pL\pN_])CSV([^\pL\pN_]|$)`)
	// A statement's first clause, and what may stand before it.
	firstWord   = regexp.MustCompile(`(?i)(^|[^\pL\pN_.$])(MATCH|OPTIONAL|RETURN|UNWIND|WITH|CALL|PROFILE|EXPLAIN)([^\pL\pN_]|$)`)
	callerWants = "put words that you search for into parameters"
)

// refuse looks at a text that came from outside. The engine takes LOAD CSV in a
// reading statement and fetches files and addresses for it, so both words in one
// text are refused, wherever they stand: a check that told comments and strings
// apart would have to agree with the engine's parser in every case. PROFILE and
// EXPLAIN belong to people at a console.
func refuse(text string) error {
	if loadWord.MatchString(text) && csvWord.MatchString(text) {
		return &conn.Error{Kind: conn.ReadOnly, Op: "check statement: LOAD CSV would read files and addresses", Hint: callerWants}
	}
	if first := firstWord.FindStringSubmatch(text); first != nil {
		switch strings.ToUpper(first[2]) {
		case "PROFILE", "EXPLAIN":
			return &conn.Error{Kind: conn.ReadOnly, Op: "check statement: " + strings.ToUpper(first[2]) + " is not for callers", Hint: "send the statement without it"}
		}
	}
	return nil
}
