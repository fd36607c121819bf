package rst

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// inline resolves inline markup to what is read of it.
func (p *parser) inline(text string) string {
	if !strings.ContainsAny(text, "`*_|\\") {
		return text
	}
	s := &scanner{parser: p, text: text, unclosed: make(map[string]bool)}
	for s.at < len(text) {
		s.step()
	}
	return s.out.String()
}

type scanner struct {
	parser *parser
	text   string
	at     int
	out    strings.Builder
	// unclosed are the delimiters that are known not to end before the end of
	// the text, so that none is looked for twice.
	unclosed map[string]bool
}

var roleBefore = regexp.MustCompile(`^:([A-Za-z][\w+.-]{0,60}(?::[\w+.-]{1,60}){0,3}):` + "`")

func (s *scanner) step() {
	rest := s.text[s.at:]
	switch rest[0] {
	case '\\':
		s.escape(rest)
	case ':':
		if m := roleBefore.FindStringSubmatch(rest[:min(len(rest), 256)]); m != nil && s.starts(len(m[0])) {
			if content, end, ok := s.closed(s.at+len(m[0]), "`"); ok {
				s.out.WriteString(s.parser.roleText(m[1], content))
				s.at = end
				return
			}
		}
		s.copy(1)
	case '`':
		s.backquote(rest)
	case '*':
		s.emphasis(rest)
	case '|':
		s.substitute()
	case '_':
		s.underscore(rest)
	case '[':
		s.footnote(rest)
	default:
		n := strings.IndexAny(rest[1:], "\\:`*|_[")
		if n < 0 {
			n = len(rest) - 1
		}
		s.copy(1 + n)
	}
}

func (s *scanner) copy(n int) {
	s.out.WriteString(s.text[s.at : s.at+n])
	s.at += n
}

func (s *scanner) escape(rest string) {
	if len(rest) == 1 {
		s.at++
		return
	}
	r, size := utf8.DecodeRuneInString(rest[1:])
	if r != ' ' && r != '\n' {
		s.out.WriteString(rest[1 : 1+size])
	}
	s.at += 1 + size
}

// starts reports whether inline markup can begin here: after white space or an
// opening sign, and before something that is not white space. What stands alone
// between quotes or brackets begins none: "*" is an asterisk.
func (s *scanner) starts(length int) bool {
	var before rune
	if s.at > 0 {
		before, _ = utf8.DecodeLastRuneInString(s.text[:s.at])
		if !unicode.IsSpace(before) && before != '\\' && !strings.ContainsRune("-:/'\"<([{—–“‘«", before) && !unicode.Is(unicode.Ps, before) && !unicode.Is(unicode.Pi, before) {
			return false
		}
	}
	next, _ := utf8.DecodeRuneInString(s.text[s.at+length:])
	return s.at+length < len(s.text) && !unicode.IsSpace(next) && next != closerOf(before)
}

// closerOf is the sign that closes what opener opens; 0 for none.
func closerOf(opener rune) rune {
	const openers, closers = "'\"([{<‘“«", "'\")]}>’”»"
	at := strings.IndexRune(openers, opener)
	if opener == 0 || at < 0 {
		return 0
	}
	return []rune(closers)[utf8.RuneCountInString(openers[:at])]
}

// closed finds the end of markup whose content starts at from. The delimiter
// that ends it stands after something that is not white space and before white
// space or a sign.
func (s *scanner) closed(from int, delimiter string) (content string, end int, ok bool) {
	if s.unclosed[delimiter] {
		return "", 0, false
	}
	for at := from + 1; at < len(s.text); {
		n := strings.Index(s.text[at:], delimiter)
		if n < 0 {
			break
		}
		at += n
		after := at + len(delimiter)
		before, _ := utf8.DecodeLastRuneInString(s.text[:at])
		escaped := before == '\\' && delimiter != "``"
		if !unicode.IsSpace(before) && !escaped && s.ends(after) {
			return s.text[from:at], after, true
		}
		at++
	}
	s.unclosed[delimiter] = true
	return "", 0, false
}

func (s *scanner) ends(at int) bool {
	if at >= len(s.text) {
		return true
	}
	next, _ := utf8.DecodeRuneInString(s.text[at:])
	return !unicode.IsLetter(next) && !unicode.IsDigit(next)
}

func (s *scanner) backquote(rest string) {
	if strings.HasPrefix(rest, "``") {
		if s.starts(2) {
			if content, end, ok := s.closed(s.at+2, "``"); ok {
				s.out.WriteString(content)
				s.at = end
				return
			}
		}
		s.copy(2)
		return
	}
	if !s.starts(1) {
		s.copy(1)
		return
	}
	content, end, ok := s.closed(s.at+1, "`")
	if !ok {
		s.copy(1)
		return
	}
	s.at = end
	after := s.text[end:]
	if role := roleAfter.FindString(after[:min(len(after), 128)]); role != "" {
		s.at += len(role)
	} else {
		for n := 0; n < 2 && strings.HasPrefix(s.text[s.at:], "_"); n++ {
			s.at++
		}
	}
	s.out.WriteString(linkText(unescape(content)))
}

var roleAfter = regexp.MustCompile(`^:[A-Za-z][\w+.-]{0,60}:`)

func (s *scanner) emphasis(rest string) {
	delimiter := "*"
	if strings.HasPrefix(rest, "**") {
		delimiter = "**"
	}
	if s.starts(len(delimiter)) {
		if content, end, ok := s.closed(s.at+len(delimiter), delimiter); ok {
			s.out.WriteString(unescape(content))
			s.at = end
			return
		}
	}
	s.copy(len(delimiter))
}

func (s *scanner) substitute() {
	if s.starts(1) {
		if name, end, ok := s.closed(s.at+1, "|"); ok && len(name) <= 200 {
			if value, known := s.parser.substitutions[name]; known {
				s.out.WriteString(value)
			} else {
				s.out.WriteString(name)
			}
			s.at = end
			for n := 0; n < 2 && strings.HasPrefix(s.text[s.at:], "_"); n++ {
				s.at++
			}
			return
		}
	}
	s.copy(1)
}

// underscore reads the mark after a reference name, and the one before an
// inline target.
func (s *scanner) underscore(rest string) {
	if strings.HasPrefix(rest, "_`") && s.starts(2) {
		if content, end, ok := s.closed(s.at+2, "`"); ok {
			s.out.WriteString(unescape(content))
			s.at = end
			return
		}
	}
	n := 1
	if strings.HasPrefix(rest, "__") {
		n = 2
	}
	before, _ := utf8.DecodeLastRuneInString(s.text[:s.at])
	if s.at > 0 && (unicode.IsLetter(before) || unicode.IsDigit(before) || before == ']') && s.endsReference(s.at+n) && !s.underscored() {
		s.at += n
		return
	}
	s.copy(n)
}

// maxReference is the longest word, in bytes, that is looked at as a reference.
const maxReference = 200

// underscored reports whether the word before the position starts with an
// underscore, as the names of programs do and those of references do not.
func (s *scanner) underscored() bool {
	before := s.text[max(0, s.at-maxReference):s.at]
	start := strings.LastIndexFunc(before, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_.-+:", r)
	})
	return strings.HasPrefix(strings.TrimLeftFunc(before[start+1:], func(r rune) bool { return r == utf8.RuneError }), "_")
}

func (s *scanner) endsReference(at int) bool {
	if at >= len(s.text) {
		return true
	}
	next, _ := utf8.DecodeRuneInString(s.text[at:])
	return unicode.IsSpace(next) || strings.ContainsRune(".,;:!?)]}'\"-/\\>”’»", next)
}

// linkText is the text of "text <target>".
func linkText(content string) string {
	if !strings.HasSuffix(content, ">") {
		return content
	}
	open := strings.LastIndexByte(content, '<')
	switch {
	case open > 0:
		return strings.TrimSpace(content[:open])
	case open == 0:
		return content[1 : len(content)-1]
	}
	return content
}

// roleText is what is read of interpreted text.
func (p *parser) roleText(role, content string) string {
	name := strings.ToLower(role[strings.LastIndexByte(role, ':')+1:])
	if name == "math" || name == "code" {
		return content
	}
	content = unescape(content)
	text := linkText(content)
	if text != content {
		return text
	}
	content = strings.TrimPrefix(content, "!")
	switch name {
	case "rfc", "pep", "cve", "cwe":
		return strings.ToUpper(name) + " " + content
	case "func", "meth", "method", "function":
		text = lastPart(strings.TrimPrefix(content, "."))
		if !strings.HasSuffix(text, ")") {
			text += "()"
		}
		return text
	case "class", "attr", "mod", "exc", "data", "const", "obj":
		// The dot tells where to look a name up.
		return lastPart(strings.TrimPrefix(content, "."))
	case "ref":
		if title := p.targets[normalName(content)]; title != "" {
			return title
		}
	case "raw-html":
		return ""
	}
	return lastPart(content)
}

// lastPart is the last part of a dotted name after "~".
func lastPart(name string) string {
	if rest, ok := strings.CutPrefix(name, "~"); ok {
		return rest[strings.LastIndexByte(rest, '.')+1:]
	}
	return name
}

func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			if i++; i == len(s) || s[i] == ' ' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
