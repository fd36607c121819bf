package htmldoc

import (
	"strings"
	"testing"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/corpus/corpustest"
)

func TestBlocks(t *testing.T) {
	for name, test := range map[string]struct{ source, want string }{
		"headings and paragraphs": {"<h1>One <small>x</small></h1><p>Some\n  <b>bold</b> &amp; <i>soft</i>&nbsp;text<br>here.<p>Next<h3>Deep</h3>loose text", `
heading 1: One x
paragraph: Some bold & soft text\nhere.
paragraph: Next
heading 3: Deep
paragraph: loose text
`},
		"lists": {"<ul><li>a<li><p>b</p><p>c</p><ol start=3><li>d</li></ol></li></ul><dl><dt>Term</dt><dd>What it is</dd></dl>", `
list_item: - a
list_item: - b
list_item: c
list_item 1: 3. d
list_item: Term
list_item 1: What it is
`},
		"code": {"<pre><code>if <span>x</span>:\n\n    y &lt; 1\n</code></pre><p>and <code>a  b</code>", `
code: if x:\n\n    y < 1
paragraph: and a b
`},
		"tables of data": {"<table><caption>Ages</caption><thead><tr><th>Name<th>Age</thead><tr><td><p>Ann</p><p>Lee</p><td>12<tr><td><td></table>", `
paragraph: Ages
table: Name | Age\nAnn Lee | 12
`},
		"tables for layout": {"<table><tr><td><h2>Left</h2>text</td><td><table><tr><td>a<td>b</tr></table></td></tr></table>", `
heading 2: Left
paragraph: text
table: a | b
`},
		"quotes": {"<blockquote><p>Said</p>so <q>it</q></blockquote>", `
quote: Said
quote: so “it”
`},
		"what is not read": {"<p>a<script>x()</script><style>y{}</style><span hidden>h</span><span style='display: none'>n</span> b</p><nav>menu</nav><svg><text>s</text></svg><noscript>no</noscript><button>OK</button><template>t</template><p>c <a class=headerlink href=#>¶</a>", `
paragraph: a b
paragraph: c
`},
		"images": {"<p>See <img src=a.png alt='the picture'> here", `
paragraph: See the picture here
`},
		"ruby and mathematics": {"<p><ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby> <math><mi>x</mi><annotation>\\x</annotation></math>", `
paragraph: 漢 x
`},
		"signs that are links": {"<h2><a href=#x>§</a>Part<a class=anchor href='#x'>#</a></h2><p>A note<a href=#n><sup>1</sup></a> <a href=#top><img alt=top></a><a href=#m>back</a>", `
heading 2: Part
paragraph: A note1 back
`},
		"pictures of signs":         {"<p><img alt='<-'> <img alt='***'> <img alt='😀'> <img alt='No. 1'>", "\nparagraph: 😀 No. 1\n"},
		"hidden code":               {"<pre><code><span class=boring>fn main() {\n</span>x();\n<span class=boring>}</span></code></pre>", "\ncode: x();\n"},
		"tables of boxes":           {"<div class='summary-table two-column-summary'><div class='table-header col-first'>Name</div><div class='table-header col-last'>What</div><div class=col-first>f()</div><div class=col-last>does <b>it</b></div></div>", "\ntable: Name | What\\nf() | does it\n"},
		"what is not seen of words": {"<p>New&nbsp;York, Donau&shy;dampf&ZeroWidthSpace;schiff", "\nparagraph: New York, Donaudampfschiff\n"},
		"typed pages": {"<h2>NAME</h2><pre>\n   ls - list</pre><h2>SYNOPSIS</h2><pre>\n   int ls(void);\n</pre><pre>\n   The  command  lists what is in a directory, and it\n   goes on to the next one. It does so\n   until the end.\n\n   - one\n   - two\n</pre>", `
heading 2: NAME
paragraph: ls - list
heading 2: SYNOPSIS
code:    int ls(void);
paragraph: The command lists what is in a directory, and it\ngoes on to the next one. It does so\nuntil the end.
list_item: - one
list_item: - two
`},
		"asides":         {"<main><p>text of it, that is long</p><aside class=note>kept</aside></main>", "\nparagraph: text of it, that is long\nparagraph: kept\n"},
		"nothing":        {"<html><body><script>x</script></body></html>", "\n"},
		"no markup":      {"just text & more", "\nparagraph: just text & more\n"},
		"damaged markup": {"<p>a<b>b<p>c</b></div></p><td>d", "\nparagraph: ab\nparagraph: c\nparagraph: d\n"},
	} {
		t.Run(name, func(t *testing.T) { corpustest.Expect(t, Parser{}, test.source, test.want) })
	}
}

const sentence = "This is a sentence of the article, with a comma or two, and it says something that is worth reading, at some length. "

func article(paragraphs int) string {
	return strings.Repeat("<p>"+strings.Repeat(sentence, 3)+"</p>\n", paragraphs)
}

func TestMainContent(t *testing.T) {
	for name, test := range map[string]struct{ source, in, out string }{
		"the main element":                 {"<body><div>Banner words</div><main><h1>T</h1>" + article(3) + "</main><div>Imprint</div>", "T", "Banner"},
		"the only article":                 {"<body><div>Banner words</div><article>" + article(3) + "</article>", "worth reading", "Banner"},
		"several articles":                 {"<body><div>Banner words</div><article>" + article(3) + "</article><article>Second one " + article(2) + "</article>", "Second one", ""},
		"a main element that holds little": {"<body><main><p>Loading…</p></main><div id=x>" + article(4) + "</div>", "worth reading", ""},
		"a sidebar":                        {"<body><div class=sidebar><ul><li><a href=a>Home page</a><li><a href=b>About</a></ul><p>Find</p></div><div class=content>" + article(8) + "</div>", "worth reading", "Home page"},
		"two halves":                       {"<body><div class=a>" + article(8) + "</div><div class=comments>" + strings.ReplaceAll(article(7), "article", "second half") + "</div>", "second half", ""},
		"a footer":                         {"<body>" + article(1) + "<footer>All rights</footer>", "worth reading", "All rights"},
	} {
		text := corpustest.Parse(t, Parser{}, test.source).Text
		if !strings.Contains(text, test.in) || test.out != "" && strings.Contains(text, test.out) {
			t.Errorf("%s: got %q", name, text)
		}
	}
	if n := strings.Count(corpustest.Parse(t, Parser{}, "<body><header><h1>Own title</h1></header><title>Own title – Site</title><main>"+article(2)+"</main>").Text, "Own title"); n != 1 {
		t.Errorf("the page's heading stands there %d times", n)
	}
}

func TestFurniture(t *testing.T) {
	for name, test := range map[string]struct{ source, want string }{
		"menus":                     {`<div class="topNav"><ul><li><a href=a>Overview</a> | <a href=b>Tree</a></ul></div><p>Text`, "paragraph: Text\n"},
		"what is only named a menu": {`<div class=menu><p>Soup of the day, <a href=b>bread</a></div>`, "paragraph: Soup of the day, bread\n"},
		"a wrapper named after it":  {`<div class="with-sidebar"><p>All the text</p><ul class=sidebar><li><a href=x>Home</a></ul></div>`, "paragraph: All the text\n"},
		"the page's own contents":   {`<div id=toc><ul><li><a href=#a>One</a><li><a href=#b>Two</a></ul></div><h2 id=a>One</h2>x<h2 id=b>Two</h2>y`, "heading 2: One\nparagraph: x\nheading 2: Two\nparagraph: y\n"},
		"contents of a book":        {`<div class=toc><ul><li><a href=one.html>One</a></ul></div>`, "list_item: - One\n"},
		"short footers":             {`<p>Text<div id="page-footer">Copyright 2024 Ann. Last changed today.</div>`, "paragraph: Text\n"},
		"long footers":              {`<div class=footer>` + sentence + sentence + sentence + sentence + sentence + sentence + `</div>`, "paragraph: " + strings.TrimSpace(strings.Repeat(sentence, 6)) + "\n"},
		"links that skip":           {`<a class="skip-link" href="#m">Skip to content</a><p>Text`, "paragraph: Text\n"},
	} {
		t.Run(name, func(t *testing.T) { corpustest.Expect(t, Parser{}, test.source, test.want) })
	}
}

func TestHead(t *testing.T) {
	for name, test := range map[string]struct{ source, title, date, author string }{
		"meta":                   {`<title>A - Site</title><meta property="og:title" content="A"><meta property="article:published_time" content="2024-05-01T10:00:00+02:00"><meta name=author content="Ann B">`, "A", "2024-05-01", "Ann B"},
		"Dublin Core":            {`<title>T</title><meta name="DC.date" content="2023-04">`, "T", "2023-04", ""},
		"the only h1":            {`<title>T - Site</title><h1>T <span>x</span></h1><h2>y</h2>`, "T x", "", ""},
		"a time element":         {`<title>T</title><p>On <time datetime="2022-01-02">yesterday</time>`, "T", "2022-01-02", ""},
		"JSON-LD":                {`<title>T</title><script type="application/ld+json">{"datePublished": "2021-03-04T00:00:00Z"}</script>`, "T", "2021-03-04", ""},
		"no date that is one":    {`<title>T</title><meta name=date content="soon">`, "T", "", ""},
		"published over changed": {`<title>T</title><meta property="article:modified_time" content="2024-01-01"><meta name=pubdate content="2020-01-01">`, "T", "2020-01-01", ""},
	} {
		document := corpustest.Parse(t, Parser{}, `<html lang="en"><body>`+test.source+"<p>text")
		if document.Title != test.title || document.Date != test.date || document.Metadata["author"] != test.author || document.Metadata["language"] != "en" {
			t.Errorf("%s: title %q, date %q, metadata %v", name, document.Title, document.Date, document.Metadata)
		}
	}
}

func TestTangledMarkupKeepsItsText(t *testing.T) {
	var fonts strings.Builder
	for i := range 150 {
		fonts.WriteString("<font size=" + strings.Repeat("1", i+1) + ">")
	}
	for name, test := range map[string]struct {
		source string
		words  int
	}{
		"divs":              {strings.Repeat("<div>word ", 10_000), 10_000},
		"divs, ended":       {strings.Repeat("<div>word ", 10_000) + strings.Repeat("</div>", 10_000) + "<p>word", 10_001},
		"spans":             {strings.Repeat("<span>word ", 10_000), 10_000},
		"lists":             {strings.Repeat("<ul><li>word ", 10_000), 10_000},
		"tables":            {strings.Repeat("<table><tr><td>word ", 2000), 2000},
		"open formatting":   {fonts.String() + strings.Repeat("<p>word ", 20_000), 20_000},
		"quotes":            {strings.Repeat("<blockquote>word ", 10_000), 10_000},
		"mixed end tags":    {strings.Repeat("<div><b>word </i></section>", 5000), 5000},
		"many paragraphs":   {strings.Repeat("<p>word", 20_000), 20_000},
		"many unmatched":    {strings.Repeat("word </p>", 20_000), 20_000},
		"script in the way": {strings.Repeat("<div>", 1000) + "<script>if (a<div) word</script><p>word", 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Count(corpustest.Parse(t, Parser{}, test.source).Text, "word"); got != test.words {
				t.Errorf("%d words of %d", got, test.words)
			}
		})
	}
}

func TestAppendFragment(t *testing.T) {
	var b corpus.Builder
	AppendFragment(&b, "<details><summary>More</summary>\ntext</details><ul><li>x</ul>")
	document, err := b.Document(corpus.File{}, corpus.Markdown)
	if err != nil {
		t.Fatal(err)
	}
	if want := "More\n\ntext\n\n- x"; document.Text != want {
		t.Errorf("got %q, want %q", document.Text, want)
	}
}

func TestLargeInputs(t *testing.T) {
	for name, source := range map[string]string{
		"prose": "<body>" + article(500), "one text": strings.Repeat("word ", 50_000), "attributes": "<p " + strings.Repeat("a=b ", 10_000) + ">x", "entities": strings.Repeat("&amp;", 50_000),
		"comments": strings.Repeat("<!-- x -->", 10_000), "rows": "<table>" + strings.Repeat("<tr><td>a<td>b", 10_000), "angles": strings.Repeat("<", 50_000), "items": "<ul>" + strings.Repeat("<li>a", 10_000),
		"cells": "<table><tr>" + strings.Repeat("<td>a", 10_000), "breaks": strings.Repeat("a<br>", 30_000),
		"menus in menus": strings.Repeat("<div class=nav>", 190) + strings.Repeat("word ", 100_000),
	} {
		t.Run(name, func(t *testing.T) { corpustest.Parse(t, Parser{}, source) })
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "<h1>a</h1><p>b<br>c<ul><li>d<li>e</ul>", "<table><tr><td>a<th>b<table><tr><td>c", "<pre> a\n</pre><dl><dt>b<dd>c", "<main>x</main><article>y", "a&#0;&#13;\f<q>b", "<title>a</title><meta name=date content=2024>", "<svg><title>x</title><p>y", "<select><option>a<table>", strings.Repeat("<div>", 210) + "a", "<math><annotation-xml><p>a", "<frameset><frame>", "<template><p>a</template>", "<plaintext>a", "<xmp>a",
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
