package llm

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// maxCandidates bounds how many beginnings of JSON in an answer are tried.
const maxCandidates = 8

// repairs finds the JSON in an answer: the answer itself, what stands in its
// code fences, and what begins at a bracket; each as it is, and with its small
// faults mended: commas before a closing bracket, raw control characters in
// strings, closing brackets missing at the end. Nothing is invented and no value
// is left out: a string or number that breaks off is no candidate.
func repairs(answer string) []string {
	text := strings.TrimSpace(strings.TrimPrefix(withoutThoughts(answer), "\uFEFF"))
	var out []string
	seen := map[string]bool{}
	add := func(s string) {
		if whole := compact(s); whole != "" && !seen[whole] {
			seen[whole] = true
			out = append(out, whole)
		}
	}
	parts := append([]string{text}, fenced(text)...)
	for _, part := range parts {
		add(part)
	}
	for _, part := range parts {
		at := 0
		for n := 0; n < maxCandidates; n++ {
			next := strings.IndexAny(part[at:], "{[")
			if next < 0 {
				break
			}
			at += next
			mended, end := mend(part[at:])
			if mended != "" {
				add(mended)
			}
			at += max(end, 1)
		}
	}
	return out
}

// withoutThoughts drops what a reasoning model wrote before its answer.
func withoutThoughts(s string) string {
	trimmed := strings.TrimSpace(s)
	if strings.HasPrefix(trimmed, "<think>") {
		if _, after, ok := strings.Cut(trimmed, "</think>"); ok {
			return after
		}
	}
	return s
}

// fenced returns what stands between ``` lines.
func fenced(text string) []string {
	pieces := strings.Split(text, "```")
	var out []string
	for i := 1; i < len(pieces) && len(out) < maxCandidates; i += 2 {
		piece := pieces[i]
		if line, rest, ok := strings.Cut(piece, "\n"); ok && !strings.ContainsAny(line, "{[") {
			piece = rest // the language's name
		}
		out = append(out, strings.TrimSpace(piece))
	}
	return out
}

// compact is valid JSON without blanks, or "".
func compact(s string) string {
	var out bytes.Buffer
	if !utf8.ValidString(s) || json.Compact(&out, []byte(s)) != nil {
		return ""
	}
	return out.String()
}

// mend reads one value that begins with a bracket, mending as it goes, and says
// where the value ended. "" when it cannot be mended.
func mend(s string) (string, int) {
	m := mender{in: s}
	for m.at < len(s) {
		c := s[m.at]
		switch {
		case c == '"':
			if !m.text() {
				return "", len(s)
			}
		case c == '{' || c == '[':
			m.open = append(m.open, c+2) // in ASCII the closing bracket is the next but one
			m.copy()
		case c == '}' || c == ']':
			if len(m.open) == 0 || m.open[len(m.open)-1] != c {
				return "", m.at
			}
			m.open = m.open[:len(m.open)-1]
			m.dropComma()
			m.copy()
			if len(m.open) == 0 {
				return m.out.String(), m.at
			}
		default:
			m.copy()
		}
	}
	return m.close(), len(s)
}

type mender struct {
	in   string
	at   int
	open []byte // the closing brackets that are owed
	out  bytes.Buffer
}

func (m *mender) copy() {
	m.out.WriteByte(m.in[m.at])
	m.at++
}

// text copies a string, with its raw control characters escaped.
func (m *mender) text() bool {
	m.copy()
	for m.at < len(m.in) {
		switch c := m.in[m.at]; {
		case c == '\\' && m.at+1 < len(m.in):
			m.copy()
			m.copy()
		case c == '"':
			m.copy()
			return true
		case c < ' ':
			escaped, _ := json.Marshal(string(rune(c)))
			m.out.Write(escaped[1 : len(escaped)-1])
			m.at++
		default:
			m.copy()
		}
	}
	return false
}

// dropComma takes back a comma before a closing bracket.
func (m *mender) dropComma() {
	kept := bytes.TrimRight(m.out.Bytes(), " \t\r\n")
	if bytes.HasSuffix(kept, []byte(",")) {
		m.out.Truncate(len(kept) - 1)
	}
}

// close adds the brackets that are missing at the end. What stands last must be
// whole: a number may have lost digits, a word its end, a key its value, and a
// comma says that more was to come.
func (m *mender) close() string {
	kept := bytes.TrimRight(m.out.Bytes(), " \t\r\n")
	if len(kept) == 0 || !bytes.ContainsAny(kept[len(kept)-1:], `"}]`) {
		return ""
	}
	for i := len(m.open) - 1; i >= 0; i-- {
		m.out.WriteByte(m.open[i])
	}
	return m.out.String()
}
