package markdown

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extension "github.com/yuin/goldmark/extension/ast"

	"graphmill/pipeline/corpus"
)

// inline is the text of a block's inline content as it is read.
func (w *writer) inline(n ast.Node) string {
	var t inlineText
	w.writeInline(&t, n)
	return t.String()
}

// inlineText joins lines that were broken only in the source: by a space, or by
// nothing between characters of scripts that are written without spaces.
type inlineText struct {
	strings.Builder
	broken bool
	last   rune
}

func (t *inlineText) write(s string) {
	if s == "" {
		return
	}
	if t.broken {
		t.broken = false
		next, _ := utf8.DecodeRuneInString(s)
		if t.last != '\n' && !(corpus.Spaceless(t.last) && corpus.Spaceless(next)) {
			t.WriteByte(' ')
		}
	}
	t.WriteString(s)
	t.last, _ = utf8.DecodeLastRuneInString(s)
}

func (w *writer) writeInline(t *inlineText, n ast.Node) {
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		switch child := child.(type) {
		case *ast.Text:
			value := string(child.Value(w.source))
			if !child.IsRaw() {
				if _, code := child.NextSibling().(*ast.CodeSpan); code && !child.SoftLineBreak() {
					value = roleMark.ReplaceAllString(value, "")
				}
				value = unescape(collapse(value))
			}
			t.write(value)
			if child.HardLineBreak() {
				t.write("\n")
			} else if child.SoftLineBreak() {
				t.broken = true
			}
		case *ast.String:
			t.write(string(child.Value))
		case *ast.CodeSpan:
			w.writeCode(t, child)
		case *ast.AutoLink:
			t.write(string(child.Label(w.source)))
		case *ast.RawHTML:
			w.writeTag(t, child)
		case *extension.TaskCheckBox:
			if child.IsChecked {
				t.write("[x] ")
			} else {
				t.write("[ ] ")
			}
		case *extension.FootnoteLink:
			t.write(fmt.Sprintf("[%d]", child.Index))
		case *extension.FootnoteBacklink:
		default:
			w.writeInline(t, child)
		}
	}
}

func (w *writer) writeCode(t *inlineText, n *ast.CodeSpan) {
	var code strings.Builder
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		if child, ok := child.(*ast.Text); ok {
			code.WriteString(strings.ReplaceAll(string(child.Value(w.source)), "\n", " "))
		}
	}
	content := code.String()
	if before, ok := n.PreviousSibling().(*ast.Text); ok && roleMark.Match(before.Value(w.source)) && !before.SoftLineBreak() {
		content = roleText(content)
	}
	t.write(content)
}

// writeTag reads of an HTML tag in a line what is seen of it: a line break.
func (w *writer) writeTag(t *inlineText, n *ast.RawHTML) {
	if n.Segments.Len() == 0 {
		return
	}
	segment := n.Segments.At(0)
	if tag := strings.ToLower(string(segment.Value(w.source))); strings.HasPrefix(tag, "<br") {
		t.write("\n")
	}
}

// reference is a character reference as CommonMark has them: with a semicolon,
// and numbers of bounded length.
var reference = regexp.MustCompile(`^&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,40});`)

// longestReference is longer than any named character reference.
const longestReference = 44

// unescape resolves backslash escapes and character references, each once.
func unescape(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && s[i+1] < utf8.RuneSelf && strings.ContainsRune("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", rune(s[i+1])):
			i++
			b.WriteByte(s[i])
		case s[i] == '&':
			found := reference.FindString(s[i:min(len(s), i+longestReference)])
			if found == "" {
				b.WriteByte('&')
				continue
			}
			b.WriteString(html.UnescapeString(found))
			i += len(found) - 1
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// collapse makes one space of several, as a browser does.
func collapse(s string) string {
	for strings.Contains(s, "  ") {
		s = strings.ReplaceAll(s, "  ", " ")
	}
	return s
}
