package rst

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"graphmill/pipeline/corpus"
)

var (
	bulletItem  = regexp.MustCompile(`^[-*+•‣⁃](?: +|$)`)
	numberItem  = regexp.MustCompile(`^(?:\(?(?:[0-9]{1,9}|[a-zA-Z#]|[ivxlcdmIVXLCDM]{1,8})\)|(?:[0-9]{1,9}|[a-zA-Z#]|[ivxlcdmIVXLCDM]{1,8})\.)(?: +|$)`)
	fieldItem   = regexp.MustCompile(`^:([^:\s](?:[^:\\]|\\.|:[^ ]){0,100}?):(?: +|$)`)
	optionItem  = regexp.MustCompile(`^(?:(?:--?|/|\+)[A-Za-z0-9?][\w-]*(?:[ =]<?[A-Za-z][\w.-]*>?)?(?:, )?)+(?:  +|$)`)
	simpleTable = regexp.MustCompile(`^=+(?: +=+)+$`)
	gridTable   = regexp.MustCompile(`^\+(?:-+\+)+$`)
	doctest     = regexp.MustCompile(`^>>>(?: |$)`)
)

// body reads the blocks of lines that share their indentation.
func (p *parser) body(lines []string, c place) {
	if c.level > maxLevel {
		p.add(c, p.inline(strings.Join(strings.Fields(strings.Join(lines, " ")), " ")))
		return
	}
	number := 0
	c.number = &number
	for i := 0; i < len(lines) && p.ctx.Err() == nil && !p.builder.Full(); {
		if lines[i] == "" {
			i++
			continue
		}
		before := number
		i += max(1, p.block(lines[i:], c))
		if number == before {
			number = 0
		}
	}
}

// block reads the block at the start of lines, the first of which is not blank,
// and returns how many lines it takes.
func (p *parser) block(lines []string, c place) int {
	line := lines[0]
	if n := p.section(lines, c); n > 0 {
		return n
	}
	switch {
	case line[0] == ' ':
		return p.indentedQuote(lines, c)
	case strings.HasPrefix(line, ".. ") || line == "..":
		return p.explicit(lines, c)
	case strings.HasPrefix(line, "__ ") || line == "__":
		return 1
	case gridTable.MatchString(line):
		return p.grid(lines)
	case simpleTable.MatchString(line):
		if n := p.simple(lines); n > 0 {
			return n
		}
	case isRule(line) && len(line) >= 4 && (len(lines) == 1 || lines[1] == ""):
		return 1
	case bulletItem.MatchString(line):
		return p.item(lines, len(bulletItem.FindString(line)), "- ", c)
	case doctest.MatchString(line):
		n := until(lines, func(s string) bool { return s == "" })
		p.builder.Add(corpus.Code, 0, strings.Join(lines[:n], "\n"))
		return n
	case strings.HasPrefix(line, "| ") || line == "|":
		return p.lineBlock(lines, c)
	case fieldItem.MatchString(line):
		return p.field(lines, c)
	case numberItem.MatchString(line) && enumerates(lines):
		mark := numberItem.FindString(line)
		return p.item(lines, len(mark), c.numbered(strings.TrimRight(mark, " "))+" ", c)
	case optionItem.MatchString(line):
		return p.option(lines, c)
	}
	if len(lines) > 1 && indentOf(lines[1]) > 0 && !strings.HasSuffix(line, "::") {
		return p.definition(lines, c)
	}
	return p.paragraph(lines, c)
}

// section reads a title with a line of punctuation under it, or over and under.
func (p *parser) section(lines []string, c place) int {
	if !c.top || len(lines) < 2 {
		return 0
	}
	if isRule(lines[0]) && len(lines) > 2 && lines[1] != "" && isRule(lines[2]) && lines[2][0] == lines[0][0] && !isRule(lines[1]) {
		p.heading(lines[1], "over"+lines[0][:1])
		return 3
	}
	if lines[0][0] == ' ' || isRule(lines[0]) || !isRule(lines[1]) || simpleTable.MatchString(lines[1]) {
		return 0
	}
	if n := len(lines[1]); n < 4 && n < utf8.RuneCountInString(lines[0]) {
		return 0
	}
	p.heading(lines[0], lines[1][:1])
	return 2
}

func (p *parser) heading(title, style string) {
	depth := 0
	for i, known := range p.styles {
		if known == style {
			depth = i + 1
		}
	}
	if depth == 0 {
		p.styles = append(p.styles, style)
		depth = len(p.styles)
	}
	p.builder.Add(corpus.Heading, depth, strings.Join(strings.Fields(p.inline(strings.TrimSpace(title))), " "))
}

// isRule reports whether a line is one punctuation character repeated.
func isRule(line string) bool {
	if len(line) < 2 || !strings.ContainsRune("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", rune(line[0])) {
		return false
	}
	return strings.Trim(line, line[:1]) == "" && line != ".." && line != "::"
}

func indentOf(line string) int {
	if line == "" {
		return 0
	}
	return len(line) - len(strings.TrimLeft(line, " "))
}

func until(lines []string, stop func(string) bool) int {
	for i, line := range lines {
		if stop(line) {
			return i
		}
	}
	return len(lines)
}

// indented returns the lines from the start that are blank or indented, without
// the blank ones at the end, and their least indentation.
func indented(lines []string) (n, least int) {
	for i, line := range lines {
		if line == "" {
			continue
		}
		indent := indentOf(line)
		if indent == 0 {
			break
		}
		if n == 0 || indent < least {
			least = indent
		}
		n = i + 1
	}
	return n, least
}

// dedent removes that much indentation, or what there is of it.
func dedent(lines []string, by int) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = line[min(by, indentOf(line)):]
	}
	return out
}

func (p *parser) indentedQuote(lines []string, c place) int {
	n, least := indented(lines)
	inner := c.inside()
	inner.quote = true
	p.body(dedent(lines[:n], least), inner)
	return n
}

// item reads a list item: what follows its marker, and the lines below that are
// indented at least as far as the marker is wide.
func (p *parser) item(lines []string, width int, marker string, c place) int {
	n := 1
	for i := 1; i < len(lines); i++ {
		if lines[i] == "" {
			continue
		}
		if indentOf(lines[i]) == 0 || indentOf(lines[i]) < min(width, 2) {
			break
		}
		n = i + 1
	}
	content := append([]string{lines[0][min(width, len(lines[0])):]}, dedent(lines[1:n], width)...)
	if c.marker != nil {
		// A note that begins with a list: its label stands before the first item.
		marker = *c.marker + marker
		*c.marker = ""
	}
	inner := c.inside()
	inner.lists++
	inner.marker = &marker
	p.body(content, inner)
	return n
}

// numbered is a list item's mark with the number that "#" stands for. It counts
// the items of the list.
func (c place) numbered(mark string) string {
	if c.number == nil {
		return mark
	}
	*c.number++
	digits := strings.Trim(mark, "().")
	if n, err := strconv.Atoi(digits); err == nil {
		*c.number = n
	}
	return strings.Replace(mark, "#", strconv.Itoa(*c.number), 1)
}

// enumerates reports whether a line that looks like a numbered item is one: its
// next line is blank, indented or an item too. Otherwise it is a paragraph that
// starts with an initial or a number. A mark alone needs its text below.
func enumerates(lines []string) bool {
	if !strings.Contains(lines[0], " ") {
		return len(lines) > 1 && indentOf(lines[1]) > 0
	}
	return len(lines) == 1 || lines[1] == "" || indentOf(lines[1]) > 0 || numberItem.MatchString(lines[1])
}

func (p *parser) lineBlock(lines []string, c place) int {
	n := until(lines, func(s string) bool { return s == "" || s[0] != '|' && s[0] != ' ' })
	var text []string
	for _, line := range lines[:n] {
		line = p.inline(strings.TrimSpace(strings.TrimPrefix(line, "|")))
		if strings.HasPrefix(lines[len(text)], " ") && len(text) > 0 {
			text[len(text)-1] += " " + line
			text = append(text, "")
			continue
		}
		text = append(text, line)
	}
	kept := text[:0]
	for _, line := range text {
		if line != "" {
			kept = append(kept, line)
		}
	}
	p.add(c, strings.Join(kept, "\n"))
	return n
}

// field reads ":name: text". At the beginning of a document fields are its
// metadata, elsewhere they are text.
func (p *parser) field(lines []string, c place) int {
	m := fieldItem.FindStringSubmatch(lines[0])
	n, least := indented(lines[1:])
	content := append([]string{lines[0][len(m[0]):]}, dedent(lines[1:1+n], least)...)
	name := p.inline(m[1])
	if c.top && p.onlyHeadings() {
		if key := strings.ToLower(name); key != "abstract" && key != "dedication" && key != "summary" {
			p.setMetadata(name, p.inline(strings.Join(content, " ")))
			return 1 + n
		}
	}
	marker := name + ": "
	inner := c.inside()
	inner.lists++
	inner.marker = &marker
	p.body(content, inner)
	p.leftOver(inner)
	return 1 + n
}

// leftOver writes a marker that no text followed.
func (p *parser) leftOver(c place) {
	marker := strings.TrimSpace(*c.marker)
	c.marker = nil
	p.add(c, marker)
}

func (p *parser) onlyHeadings() bool { return p.builder.Len() == len(p.styles) && len(p.styles) <= 2 }

func (p *parser) option(lines []string, c place) int {
	mark := optionItem.FindString(lines[0])
	n, least := indented(lines[1:])
	content := append([]string{lines[0][len(mark):]}, dedent(lines[1:1+n], least)...)
	marker := strings.TrimRight(mark, " ") + "  "
	inner := c.inside()
	inner.lists++
	inner.marker = &marker
	p.body(content, inner)
	p.leftOver(inner)
	return 1 + n
}

// definition reads a term and the indented lines right below it.
func (p *parser) definition(lines []string, c place) int {
	n, least := indented(lines[1:])
	term := c
	term.lists++
	p.add(term, p.inline(lines[0]))
	inner := c.inside()
	inner.lists += 2
	inner.marker = nil
	p.body(dedent(lines[1:1+n], least), inner)
	return 1 + n
}

func (p *parser) paragraph(lines []string, c place) int {
	n := until(lines, func(s string) bool { return s == "" })
	for i := 1; i < n; i++ {
		if indentOf(lines[i]) > 0 && strings.HasSuffix(lines[i-1], "::") {
			n = i
		}
	}
	text := joinLines(lines[:n])
	if !strings.HasSuffix(text, "::") {
		p.add(c, p.inline(text))
		return n
	}
	text = strings.TrimSuffix(text, "::")
	if text != "" && !strings.HasSuffix(text, " ") {
		text += ":"
	}
	p.add(c, p.inline(text))
	return n + p.literal(lines[n:])
}

// literal reads the block after "::": indented lines, or unindented ones that
// all start with one punctuation character.
func (p *parser) literal(lines []string) int {
	skip := until(lines, func(s string) bool { return s != "" })
	rest := lines[skip:]
	if len(rest) == 0 {
		return skip
	}
	if n, least := indented(rest); n > 0 {
		p.builder.Add(corpus.Code, 0, strings.Join(dedent(rest[:n], least), "\n"))
		return skip + n
	}
	if quote := rest[0][0]; isRule(string([]byte{quote, quote})) {
		n := until(rest, func(s string) bool { return s == "" || s[0] != quote })
		p.builder.Add(corpus.Code, 0, strings.Join(rest[:n], "\n"))
		return skip + n
	}
	return skip
}

// joinLines undoes line breaks, with nothing between characters of scripts that
// are written without spaces.
func joinLines(lines []string) string {
	var b strings.Builder
	var last rune
	for _, line := range lines {
		line = strings.Join(strings.Fields(line), " ")
		if line == "" {
			continue
		}
		first, _ := utf8.DecodeRuneInString(line)
		if b.Len() > 0 && !(corpus.Spaceless(last) && corpus.Spaceless(first)) {
			b.WriteByte(' ')
		}
		b.WriteString(line)
		last, _ = utf8.DecodeLastRuneInString(line)
	}
	return b.String()
}
