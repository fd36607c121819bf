// Package rst parses reStructuredText as documentation uses it, Sphinx's
// additions among it. The text of the document is what a reader of the page
// sees. It knows no configuration of a project: what a directive includes,
// generates or looks up elsewhere is not there; the content of a directive that
// it does not know is kept as text.
package rst

import (
	"context"
	"regexp"
	"strings"

	"graphmill/pipeline/corpus"
)

// Parser parses reStructuredText. The zero value is ready.
type Parser struct{}

// Parse implements [corpus.Parser].
func (Parser) Parse(ctx context.Context, file corpus.File, data []byte, limits corpus.Limits) (*corpus.Document, error) {
	text, notes, err := corpus.Decode(file, data, limits)
	if err != nil {
		return nil, err
	}
	p := &parser{
		ctx: ctx, builder: &corpus.Builder{Limit: limits.WithDefaults().MaxTextBytes},
		metadata: make(map[string]string), substitutions: make(map[string]string),
	}
	lines := splitLines(text)
	p.footnotes = numberFootnotes(lines)
	p.readTargets(lines)
	p.readSubstitutions(lines)
	p.body(p.readHeader(lines), place{top: true})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	document, err := p.builder.Document(file, corpus.RST)
	if err != nil {
		return nil, err
	}
	document.Title = p.metadata["title"]
	delete(p.metadata, "title")
	if document.Title == "" && len(document.Sections) > 0 {
		document.Title = document.Sections[0].Title
	}
	document.Date = p.date()
	if len(p.metadata) > 0 {
		document.Metadata = p.metadata
	}
	document.Notes = notes
	return document, nil
}

type parser struct {
	ctx           context.Context
	builder       *corpus.Builder
	styles        []string // the section markers in order of appearance
	metadata      map[string]string
	substitutions map[string]string
	targets       map[string]string // headings by the labels before them
	footnotes     footnotes
	tables        int     // how many tables' cells it is in
	endless       *string // the last of lines that hold no table's end
}

// place is where in the structure lines stand.
type place struct {
	top    bool // sections may begin here
	level  int  // how deep blocks nest
	quote  bool
	lists  int     // how many lists it is in
	marker *string // of the list item or note that begins; emptied once it has
	number *int    // of the list's item before
}

func (c place) inside() place {
	c.level++
	c.top = false
	return c
}

// maxLevel is how deep blocks may nest; what nests deeper is read as text.
const maxLevel = 60

const tabWidth = 8

// splitLines returns lines without white space at their end and with tabs
// replaced by spaces.
func splitLines(text string) []string {
	lines := strings.Split(strings.ReplaceAll(text, "\f", "\n"), "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, " \t\u00a0")
		if strings.Contains(line, "\t") {
			line = expandTabs(line)
		}
		lines[i] = line
	}
	return lines
}

func expandTabs(line string) string {
	var b strings.Builder
	column := 0
	for _, r := range line {
		if r != '\t' {
			b.WriteRune(r)
			column++
			continue
		}
		for n := tabWidth - column%tabWidth; n > 0; n-- {
			b.WriteByte(' ')
			column++
		}
	}
	return b.String()
}

// add writes text of the kind that its place gives it.
func (p *parser) add(c place, text string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	if c.marker != nil {
		text = *c.marker + text
		*c.marker = ""
	}
	switch {
	case c.lists > 0:
		p.builder.AddIndented(corpus.ListItem, c.lists-1, strings.Repeat("  ", min(c.lists-1, 16)), text)
	case c.quote:
		p.builder.Add(corpus.Quote, 0, text)
	default:
		p.builder.Add(corpus.Paragraph, 0, text)
	}
}

var headerLine = regexp.MustCompile(`^([A-Z][A-Za-z-]{1,30}):(?: +(.*))?$`)

// readHeader takes mail-like headers, as enhancement proposals have them, from
// the beginning of the lines and returns the others.
func (p *parser) readHeader(lines []string) []string {
	fields, key, end := make(map[string]string), "", 0
	for end < len(lines) && lines[end] != "" {
		line := lines[end]
		if m := headerLine.FindStringSubmatch(line); m != nil {
			key = strings.ToLower(m[1])
			fields[key] = m[2]
		} else if key != "" && line[0] == ' ' {
			fields[key] = strings.TrimSpace(fields[key] + " " + strings.TrimSpace(line))
		} else {
			return lines
		}
		end++
	}
	if len(fields) < 3 || fields["title"] == "" {
		return lines
	}
	for key, value := range fields {
		p.setMetadata(key, value)
	}
	return lines[end:]
}

const (
	maxMetadata = 100
	maxValue    = 2000
)

func (p *parser) setMetadata(key, value string) {
	key, value = strings.ToLower(strings.TrimSpace(key)), strings.Join(strings.Fields(value), " ")
	if key == "" || value == "" || len(key) > 100 || len(value) > maxValue || len(p.metadata) >= maxMetadata {
		return
	}
	p.metadata[key] = value
}

func (p *parser) date() string {
	for _, key := range []string{"date", "created", "published", "last-modified", "modified", "updated"} {
		if date := corpus.NormalDate(p.metadata[key]); date != "" {
			return date
		}
	}
	return ""
}
