package markdown

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/corpus/corpustest"
)

func TestBlocks(t *testing.T) {
	for name, test := range map[string]struct{ source, want string }{
		"headings": {"# One #\n\nTwo\n---\n\n### *Three* `x` {#id .c}\n####### seven\n", `
heading 1: One
heading 2: Two
heading 3: Three x
paragraph: ####### seven
`},
		"inline markup": {"A **bold** and *soft* [link](http://x.y \"t\") to <https://a.b>, ~~gone~~ ![alt *text*](i.png) [ref][r] `c  o*d*e`.\n\n[r]: http://z\n", `
paragraph: A bold and soft link to https://a.b, gone alt text ref c  o*d*e.
`},
		"escapes and references": {`\*not\* &amp; &lt;b&gt; \&amp; &#x41; &nosuch; a & b \q`, `
paragraph: *not* & <b> &amp; A &nosuch; a & b \\q
`},
		"line breaks": {"one\ntwo  \nthree\\\nfour   wide\n日本\n語 and\n日\n", `
paragraph: one two\nthree\nfour wide 日本語 and 日
`},
		"lists": {"- a\n- b\n\n  second\n  - deep\n    ```\n    code\n    ```\n- [x] done\n- [ ] not\n\n3) three\n4) four\n", `
list_item: - a
list_item: - b
list_item: second
list_item 1: - deep
code: code
list_item: - [x] done
list_item: - [ ] not
list_item: 3) three
list_item: 4) four
`},
		"code": {"```go\nfunc f() {\n\n\treturn\n}\n```\n\n    indented\n      more\n", `
code: func f() {\n\n\treturn\n}
code: indented\n  more
`},
		"quotes": {"> # said\n> some\n> words\n>\n> more\n", `
quote: said
quote: some words
quote: more
`},
		"alerts": {"> [!NOTE]\n> Take *care*.\n>\n> More.\n\n> [!WARNING]\n>\n> - a\n\n> [!odd] b\n\n- > [!TIP]\n  > c\n- d\n", `
quote: Note: Take care.
quote: More.
list_item: - Warning: a
quote: [!odd] b
list_item: - Tip: c
list_item: - d
`},
		"MyST": {"(a-label)=\n\n# H\n\nSee {ref}`the part <x>`, {mod}`~a.b` {string} `c` and {x}\n`d`.\n\n```{note} Take *care*\n:class: x\n\n- of it\n```\n\n```{code-block} python\n:linenos:\n\nx = 1\n```\n\n```{toctree}\na\n```\n\n````{warning}\n```{tip}\nInner.\n```\n````\n", `
heading 1: H
paragraph: See the part, b {string} c and {x} d.
paragraph: Note: Take care
list_item: - of it
code: x = 1
paragraph: Tip: Inner.
`},
		"tables": {"| Name | Age |\n|------|----:|\n| **Ann** | 12 |\n| `a|b` | |\n", `
table: Name | Age\nAnn | 12\n` + "`a | b`" + `
`},
		"footnotes": {"Known[^1] and[^x].\n\n[^1]: First *note*.\n\n    Second paragraph.\n[^x]: Other.\n", `
paragraph: Known[1] and[2].
paragraph: [1] First note.
paragraph: Second paragraph.
paragraph: [2] Other.
`},
		"HTML": {"<h1 align=\"center\">Top</h1>\n\n<!-- gone -->\n\n<p>One &amp; <b>two</b></p>\n<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>\n\nIn<br>line <kbd>K</kbd> <span hidden>x</span>\n\n<script>\nbad()\n</script>\n", `
heading 1: Top
paragraph: One & two
table: a | b\n1 | 2
paragraph: In\nline K x
`},
		"nothing":      {"\n\n---\n\n[a]: http://b\n", "\n"},
		"raw controls": {"a&#0;b&#7;c&#13;d\n", "\nparagraph: a\uFFFDbc\\nd\n"},
	} {
		t.Run(name, func(t *testing.T) { corpustest.Expect(t, Parser{}, test.source, test.want) })
	}
}

func TestTheTextIsWhatTheReaderSees(t *testing.T) {
	document := corpustest.Parse(t, Parser{}, "# Title\n\nPara *one*.\n\n- a\n  - b\n- c\n\nEnd.\n")
	if want := "Title\n\nPara one.\n\n- a\n  - b\n- c\n\nEnd."; document.Text != want {
		t.Errorf("got %q, want %q", document.Text, want)
	}
}

func TestFrontMatter(t *testing.T) {
	for name, test := range map[string]struct {
		source, title, date, text string
		metadata                  map[string]string
		note                      bool
	}{
		"YAML": {"---\ntitle: \"On: Things\"\ndate: 2024-05-01T10:00:00Z\ntags: [a, b]\nversion: 1.10\nauthor:\n  name: Ann\nempty:\n---\n# H\n", "On: Things", "2024-05-01", "H",
			map[string]string{"date": "2024-05-01T10:00:00Z", "tags": "a, b", "version": "1.10", "author.name": "Ann"}, false},
		"TOML": {"+++\ntitle = 'T'\ndate = 2024-05-01\ndraft = false\n[params]\nx = 1\n+++\ntext\n", "T", "2024-05-01", "text",
			map[string]string{"date": "2024-05-01", "draft": "false", "params.x": "1"}, false},
		"heading for a title":    {"---\nlayout: post\n---\n## B\n\n# A\n", "A", "", "B\n\nA", map[string]string{"layout": "post"}, false},
		"several top headings":   {"---\nlayout: post\n---\n## B\n\n# A\n\n# C\n", "B", "", "B\n\nA\n\nC", map[string]string{"layout": "post"}, false},
		"ended by dots":          {"---\ntitle: T\n...\nx\n", "T", "", "x", nil, false},
		"Windows line ends":      {"---\r\ntitle: T\r\n---\r\nx\r\n", "T", "", "x", nil, false},
		"a line and no matter":   {"---\n\ntext\n\n---\n", "", "", "text", nil, false},
		"never ended":            {"---\ntitle: T\n", "", "", "title: T", nil, false},
		"not at the beginning":   {"x\n\n---\ntitle: T\n---\n", "title: T", "", "x\n\ntitle: T", nil, false},
		"damaged stays as text":  {"---\ntitle: [a\n---\nx\n", "", "", "title: [a\n\nx", nil, true},
		"no mapping, stays text": {"---\n- a\n---\nx\n", "", "", "- a\n\nx", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			document := corpustest.Parse(t, Parser{}, test.source)
			if document.Title != test.title || document.Date != test.date || document.Text != test.text || !maps.Equal(document.Metadata, test.metadata) || (len(document.Notes) > 0) != test.note {
				t.Errorf("title %q, date %q, text %q, metadata %v, notes %v", document.Title, document.Date, document.Text, document.Metadata, document.Notes)
			}
		})
	}
}

// Texts that make the Markdown parser take quadratic time or memory; without
// their bounds these take minutes.
func TestTangledTextIsReadPlain(t *testing.T) {
	var footnotes strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&footnotes, "[^%d]\n\n[^%d]: x\n\n", i, i)
	}
	for name, source := range map[string]string{
		"unfinished links":  strings.Repeat("[a](", 100_000),
		"unfinished titles": strings.Repeat("[a](<)", 60_000),
		"definitions":       strings.Repeat("[a]: b\n", 100_000),
		"footnotes":         footnotes.String(),
		"emphasis":          strings.Repeat("*a **b", 40_000),
		"many paragraphs":   strings.Repeat(strings.Repeat("**a*b ", 4000)+"\n\n", 20),
		"wide tables":       strings.Repeat("|a", 5000) + "\n" + strings.Repeat("|-", 5000) + "\n" + strings.Repeat("|a|\n", 5000),
		"quotes":            strings.Repeat(">", 100_000) + "a",
		"list items":        strings.Repeat("- ", 100_000) + "a",
	} {
		t.Run(name, func(t *testing.T) {
			document := corpustest.Parse(t, Parser{}, source)
			if len(document.Notes) != 1 || !strings.Contains(document.Notes[0], "read as plain text") || document.Format != corpus.Markdown {
				t.Errorf("format %s, notes %v", document.Format, document.Notes)
			}
			if got, want := strings.Join(strings.Fields(document.Text), ""), strings.Join(strings.Fields(source), ""); got != want {
				t.Error("text was lost")
			}
		})
	}
}

func TestOrdinaryTextIsNotTangled(t *testing.T) {
	for name, source := range map[string]string{
		"a long list of links": strings.Repeat("- [name](http://example.com/a/b/c) - what it is\n", 20_000),
		"a long numbered list": strings.Repeat("1. [name](http://example.com/a/b/c) - what it is\n", 20_000),
		"a large table":        "| a | b | c |\n|---|---|---|\n" + strings.Repeat("| [x](y) | b | c |\n", 20_000),
		"definitions":          strings.Repeat("[a]: http://example.com\n", 2000),
		"names":                strings.Repeat("some_name_here = OTHER_NAME\n", 20_000),
		"nested lists":         "- a\n  - b\n    - c\n      - d\n        - e\n",
		"deeply indented code": "```\n" + strings.Repeat(" ", 400) + "x - y\n```\n",
	} {
		if reason := tooTangled(source); reason != "" {
			t.Errorf("%s: %s", name, reason)
		}
	}
}

func TestLargeInputs(t *testing.T) {
	for name, source := range map[string]string{
		"prose": strings.Repeat("Some *words* and a [link](http://x) with `code`.\n\n", 5000), "one line": strings.Repeat("word ", 100_000),
		"brackets": strings.Repeat("[", 50_000), "stars": strings.Repeat("*a **b", 5000), "backquotes": strings.Repeat("`a``b", 20_000),
		"angles": strings.Repeat("<a ", 10_000), "references": strings.Repeat("&amp", 50_000), "HTML": strings.Repeat("<div>\n\n", 4000),
	} {
		t.Run(name, func(t *testing.T) { corpustest.Parse(t, Parser{}, source) })
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "# a\n\n- b\n  1. c\n", "|a|b|\n|-|-|\n|c|\n", "---\na: b\n---\nx", "+++\na=1\n+++\n", "a[^1]\n\n[^1]: b\n", "<div>\n<pre>\n x\n</div>\n", "    code\n\tmore\n", "> > a\n\\\n&#0;", "a  \nb\\\nc", "- [ ] a\n\n<br><img alt=x>",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		document, err := Parser{}.Parse(t.Context(), corpus.File{Path: "f"}, []byte(source), corpus.Limits{})
		if err != nil {
			return
		}
		if err := document.Check(); err != nil {
			t.Errorf("%v: %q", err, source)
		}
	})
}
