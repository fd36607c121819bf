package markdown

import (
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"graphmill/pipeline/corpus"
)

// MyST, the Markdown of Sphinx: roles before code, directives as fences, and
// labels before headings.
var (
	roleMark      = regexp.MustCompile(`\{[a-zA-Z][\w:+.-]{0,40}\}$`)
	labelLine     = regexp.MustCompile(`^\([\w .:-]{1,200}\)=$`)
	directiveInfo = regexp.MustCompile(`^\{([a-zA-Z][\w:+.-]{0,40})\} ?(.*)$`)
	directiveLine = regexp.MustCompile(`^:[\w-]+:(?: |$)`)
)

// maxDirectives bounds how deep directives nest: each is parsed by itself.
const maxDirectives = 5

// directive reads a fence that is one of Sphinx's directives: notes are text,
// lists of files are not shown, and all others are code.
func (w *writer) directive(n *ast.FencedCodeBlock) bool {
	if n.Info == nil || w.directives >= maxDirectives {
		return false
	}
	m := directiveInfo.FindStringSubmatch(strings.TrimSpace(string(n.Info.Value(w.source))))
	if m == nil {
		return false
	}
	lines := strings.Split(w.lines(n), "\n")
	for len(lines) > 0 && directiveLine.MatchString(lines[0]) {
		lines = lines[1:]
	}
	content := strings.Join(lines, "\n")
	switch m[1] {
	case "note", "warning", "tip", "important", "hint", "caution", "danger", "error", "attention":
		w.label = strings.ToUpper(m[1][:1]) + m[1][1:] + ": "
		w.nested(m[2] + "\n" + content)
		w.label = ""
	case "seealso":
		w.label = "See also: "
		w.nested(m[2] + "\n" + content)
		w.label = ""
	case "admonition", "topic", "sidebar", "dropdown":
		w.nested(m[2] + "\n\n" + content)
	case "toctree", "contents", "include", "image", "raw", "currentmodule":
		// Nothing of them is seen, or it is generated.
	default:
		w.builder.Add(corpus.Code, 0, content)
	}
	return true
}

// nested reads Markdown inside of a directive.
func (w *writer) nested(source string) {
	outer := w.source
	w.source = []byte(source)
	w.directives++
	w.children(newEngine().Parser().Parse(text.NewReader(w.source)))
	w.directives--
	w.source = outer
}

// roleText is the text of code that a role stands before: what "text <target>"
// shows, and a name without what it is looked up by.
func roleText(content string) string {
	if at := strings.LastIndexByte(content, '<'); at > 0 && strings.HasSuffix(content, ">") {
		return strings.TrimSpace(content[:at])
	}
	if name, ok := strings.CutPrefix(content, "~"); ok {
		return name[strings.LastIndexByte(name, '.')+1:]
	}
	return content
}
