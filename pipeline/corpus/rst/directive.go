package rst

import (
	"encoding/csv"
	"regexp"
	"strconv"
	"strings"

	"graphmill/pipeline/corpus"
)

var (
	directiveLine = regexp.MustCompile(`^([A-Za-z][\w.+-]*(?::[\w.+-]+)*) ?::(?: +(.*))?$`)
	footnoteLine  = regexp.MustCompile(`^\[([^\]]{1,100})\](?: +(.*))?$`)
	substitution  = regexp.MustCompile(`^\.\. \|([^|]{1,200})\| +([\w-]+):: *(.*)$`)
	optionLine    = regexp.MustCompile(`^:([\w -]+):(?: +(.*))?$`)
)

// explicit reads what starts with "..": a directive, a footnote, a target or a
// comment.
func (p *parser) explicit(lines []string, c place) int {
	n, least := indented(lines[1:])
	if lines[0] == ".." && (len(lines) == 1 || lines[1] == "") {
		return 1 // an empty comment takes nothing with it
	}
	rest := dedent(lines[1:1+n], least)
	head := strings.TrimSpace(strings.TrimPrefix(lines[0], ".."))
	if m := footnoteLine.FindStringSubmatch(head); m != nil {
		marker := "[" + p.footnotes.definition(m[1]) + "] "
		inner := c.inside()
		inner.marker = &marker
		p.body(append([]string{m[2]}, rest...), inner)
		return 1 + n
	}
	if m := directiveLine.FindStringSubmatch(head); m != nil {
		p.directive(newDirective(m[1], m[2], rest), c)
	}
	return 1 + n
}

type directive struct {
	name     string // without its domain
	domain   string
	argument string
	options  map[string]string
	content  []string
}

// newDirective tells argument, options and content apart: options start the
// lines below, content follows a blank line, and what stands before either
// continues the argument.
func newDirective(name, argument string, lines []string) directive {
	d := directive{name: strings.ToLower(name), argument: argument, options: make(map[string]string)}
	if domain, rest, ok := strings.Cut(d.name, ":"); ok {
		d.domain, d.name = domain, rest
	}
	i := 0
	for ; i < len(lines) && lines[i] != "" && optionLine.FindStringSubmatch(lines[i]) == nil; i++ {
		d.argument += "\n" + lines[i]
	}
	for ; i < len(lines) && lines[i] != ""; i++ {
		if m := optionLine.FindStringSubmatch(lines[i]); m != nil {
			d.options[m[1]] = m[2]
		} else if indentOf(lines[i]) == 0 {
			break
		}
	}
	d.argument = strings.Trim(d.argument, "\n")
	d.content = lines[i:]
	return d
}

// versions are directives that say since or until when something holds.
var versions = map[string]string{
	"versionadded": "Added in version ", "versionchanged": "Changed in version ", "deprecated": "Deprecated since version ",
	"deprecated-removed": "Deprecated since version ", "versionremoved": "Removed in version ",
}

func (p *parser) directive(d directive, c place) {
	switch d.name {
	case "note", "warning", "tip", "important", "hint", "caution", "danger", "error", "attention", "seealso":
		p.labelled(label(d.name), append(strings.Split(d.argument, "\n"), d.content...), c)
	case "versionadded", "versionchanged", "deprecated", "deprecated-removed", "versionremoved":
		version, text, _ := strings.Cut(strings.ReplaceAll(d.argument, "\n", " "), " ")
		if d.name == "deprecated-removed" {
			var removed string
			removed, text, _ = strings.Cut(text, " ")
			version += ", will be removed in version " + removed
		}
		p.labelled(versions[d.name]+version+": ", append([]string{text}, d.content...), c)
	case "code-block", "code", "sourcecode", "parsed-literal", "productionlist", "doctest", "testcode", "testoutput", "prompt",
		"ipython", "math", "graphviz", "digraph", "graph", "mermaid", "uml", "console", "command-output":
		p.code(d)
	case "image", "figure":
		p.figure(d, c)
	case "raw", "toctree", "contents", "include", "literalinclude", "index", "highlight", "highlightlang", "currentmodule",
		"currentlibrary", "default-role", "role", "default-domain", "sectnum", "section-numbering", "target-notes", "tabularcolumns",
		"tableofcontents", "testsetup", "testcleanup", "autosummary", "program", "namespace", "sectionauthor", "codeauthor", "title",
		"bibliography", "todolist", "restructuredtext-test-directive", "module", "moduleauthor":
		// Nothing of them is seen, or it is generated.
	case "meta":
		for _, line := range append(strings.Split(d.argument, "\n"), d.content...) {
			if m := optionLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
				p.setMetadata(m[1], m[2])
			}
		}
		for key, value := range d.options {
			p.setMetadata(key, value)
		}
	case "list-table":
		p.caption(d, c)
		p.listTable(d)
	case "csv-table":
		p.caption(d, c)
		p.csvTable(d)
	case "replace":
	case "container", "class", "cssclass", "rst-class", "only", "ifconfig", "tabs", "grid", "epigraph", "highlights", "pull-quote",
		"compound", "glossary", "hlist", "centered", "rubric", "topic", "sidebar", "admonition", "table":
		p.wrapper(d, c)
	default:
		p.described(d, c)
	}
}

func label(name string) string {
	if name == "seealso" {
		return "See also: "
	}
	return strings.ToUpper(name[:1]) + name[1:] + ": "
}

// labelled reads content whose first paragraph starts with a label.
func (p *parser) labelled(label string, content []string, c place) {
	inner := c.inside()
	inner.marker = &label
	p.body(content, inner)
	if strings.Contains(label, "version") {
		label = strings.TrimSuffix(label, ": ") + "."
		p.leftOver(inner)
	}
}

func (p *parser) code(d directive) {
	content := d.content
	if d.name == "math" || d.name == "productionlist" || d.name == "parsed-literal" {
		content = append(strings.Split(d.argument, "\n"), content...)
	}
	text := strings.Join(content, "\n")
	switch d.name {
	case "parsed-literal":
		text = p.inline(text)
	case "productionlist":
		text = strings.ReplaceAll(text, "`", "")
	}
	p.builder.Add(corpus.Code, 0, text)
}

func (p *parser) figure(d directive, c place) {
	p.add(c, p.inline(d.options["alt"]))
	if d.name == "figure" {
		p.body(d.content, c.inside())
	}
}

func (p *parser) caption(d directive, c place) {
	p.add(c, p.inline(strings.ReplaceAll(d.argument, "\n", " ")))
}

// wrapper reads a directive that shows its title, if it has one, and its
// content.
func (p *parser) wrapper(d directive, c place) {
	inner := c.inside()
	switch d.name {
	case "only", "ifconfig", "class", "cssclass", "rst-class", "container", "compound":
		inner.top = c.top
	case "epigraph", "highlights", "pull-quote":
		inner.quote = true
		p.body(strings.Split(d.argument, "\n"), inner)
	case "glossary":
		p.glossary(d.content, c)
		return
	case "tabs", "grid", "hlist":
	default:
		p.caption(d, c)
	}
	p.body(d.content, inner)
}

// glossary reads terms, several of which may share a definition.
func (p *parser) glossary(lines []string, c place) {
	for i := 0; i < len(lines); i++ {
		if lines[i] != "" && indentOf(lines[i]) == 0 && (i+1 == len(lines) || indentOf(lines[i+1]) == 0) && !strings.HasPrefix(lines[i], "..") {
			c.lists++
			p.add(c, p.inline(lines[i]))
			c.lists--
			continue
		}
		if lines[i] != "" {
			n := p.block(lines[i:], c.inside())
			i += max(0, n-1)
		}
	}
}

// described reads what domains describe, such as functions and options, and any
// directive that is not known: its argument, as signatures or text, and its
// content.
func (p *parser) described(d directive, c place) {
	for _, signature := range strings.Split(d.argument, "\n") {
		p.add(c, strings.ReplaceAll(strings.TrimSpace(signature), `\`, ""))
	}
	p.body(d.content, c.inside())
}

// readSubstitutions reads the definitions of |name|.
func (p *parser) readSubstitutions(lines []string) {
	for i, line := range lines {
		if !strings.HasPrefix(line, ".. |") {
			continue
		}
		m := substitution.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		n, least := indented(lines[i+1:])
		more := dedent(lines[i+1:i+1+n], least)
		switch m[2] {
		case "replace":
			p.substitutions[m[1]] = p.inline(strings.TrimSpace(m[3] + " " + joinLines(more)))
		case "image":
			p.substitutions[m[1]] = p.inline(newDirective("image", m[3], more).options["alt"])
		case "unicode":
			p.substitutions[m[1]] = unicodeText(m[3])
		}
	}
}

func (p *parser) listTable(d directive) {
	lines := d.content
	var rows []string
	for i := 0; i < len(lines); {
		if !bulletItem.MatchString(lines[i]) {
			i++
			continue
		}
		n := 1 + until(lines[i+1:], func(s string) bool { return s != "" && indentOf(s) == 0 })
		row := append([]string{lines[i][len(bulletItem.FindString(lines[i])):]}, dedent(lines[i+1:i+n], 2)...)
		rows = append(rows, strings.Join(p.listCells(row), " | "))
		i += n
	}
	p.builder.AddTable(d.headerRows(), rows)
}

// headerRows is how many of a table's rows name its columns.
func (d directive) headerRows() int {
	n, _ := strconv.Atoi(strings.TrimSpace(d.options["header-rows"]))
	return n
}

func (p *parser) listCells(lines []string) []string {
	var cells []string
	for i := 0; i < len(lines); {
		n := 1 + until(lines[i+1:], func(s string) bool { return s != "" && indentOf(s) == 0 })
		if mark := bulletItem.FindString(lines[i]); mark != "" {
			cells = append(cells, p.inline(joinLines(append([]string{lines[i][len(mark):]}, lines[i+1:i+n]...))))
		}
		i += n
	}
	return cells
}

func (p *parser) csvTable(d directive) {
	source := strings.Join(d.content, "\n")
	head := d.headerRows()
	if header := d.options["header"]; header != "" {
		source = header + "\n" + source
		head++
	}
	reader := csv.NewReader(strings.NewReader(source))
	reader.FieldsPerRecord = -1
	reader.LazyQuotes = true
	reader.TrimLeadingSpace = true
	records, err := reader.ReadAll()
	if err != nil {
		p.builder.Add(corpus.Table, 0, source)
		return
	}
	rows := make([]string, 0, len(records))
	for _, record := range records {
		for i, cell := range record {
			record[i] = p.inline(strings.Join(strings.Fields(cell), " "))
		}
		rows = append(rows, strings.Join(record, " | "))
	}
	p.builder.AddTable(head, rows)
}
