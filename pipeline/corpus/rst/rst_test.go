package rst

import (
	"maps"
	"strings"
	"testing"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/corpus/corpustest"
)

func TestBlocks(t *testing.T) {
	for name, test := range map[string]struct{ source, want string }{
		"sections by order of appearance": {"=====\nTitle\n=====\n\nSub\n###\n\ntext\n\nDeep\n====\n\nSub2\n####\n", `
heading 1: Title
heading 2: Sub
paragraph: text
heading 3: Deep
heading 2: Sub2
`},
		"paragraphs and inline markup": {"Some **bold** and *soft* text with ``lit *e* ral``,\na `link <http://x>`_, a ref_, `phrase ref`__, |sub| and [1]_.\n\n.. |sub| replace:: the *value*\n", `
paragraph: Some bold and soft text with lit *e* ral, a link, a ref, phrase ref, the value and [1].
`},
		"roles": {"See :ref:`the part <label>`, :class:`~a.b.C`, :func:`os.open`, :pep:`8`, :rfc:`5322`, :kbd:`Ctrl-C`, `x`:code: and :c:type:`!int`.\n", `
paragraph: See the part, C, os.open(), PEP 8, RFC 5322, Ctrl-C, x and int.
`},
		"what is no markup": {"2 * 3 * 4, a*b*c, _private, my_var_name, snake__case, C:\\\\dir, \\*escaped\\*, re\\ Structured, x|y|z, __init__ and 10 ``.\n", `
paragraph: 2 * 3 * 4, a*b*c, _private, my_var_name, snake__case, C:\\dir, *escaped*, reStructured, x|y|z, __init__ and 10 ` + "``" + `.
`},
		"lists": {"- one\n  two\n\n  more\n\n  * deep\n- last\n\n#. auto\n2) odd\n(c) paren\n\nA. Einstein was\na man.\n", `
list_item: - one two
list_item: more
list_item 1: - deep
list_item: - last
list_item: 1. auto
list_item: 2) odd
list_item: (c) paren
paragraph: A. Einstein was a man.
`},
		"definitions and fields": {"term *x*\n   What it is.\n\n   More.\n\n:param a: the first\n   one\n:returns:\n", `
list_item: term x
list_item 1: What it is.
list_item 1: More.
list_item: param a: the first one
list_item: returns:
`},
		"options": {"text\n\n-a, --all   Everything\n--size=N    How much\n            of it\n-v\n", `
paragraph: text
list_item: -a, --all  Everything
list_item: --size=N  How much of it
list_item: -v
`},
		"literal blocks": {"Like this::\n\n    code  x\n      more\n\n::\n\n  only\n\nQuoted::\n\n> a\n> b\n\n>>> 1 + 1\n2\n", `
paragraph: Like this:
code: code  x\n  more
code: only
paragraph: Quoted:
code: > a\n> b
code: >>> 1 + 1\n2
`},
		"quotes and line blocks": {"He said:\n\n   Some words\n   of his.\n\n| One line\n| Two\n  lines\n", `
paragraph: He said:
quote: Some words of his.
paragraph: One line\nTwo lines
`},
		"notes": {".. note:: Take care\n   of it.\n\n   And more.\n\n.. versionadded:: 3.2\n\n.. versionchanged:: 3.4 It differs.\n\n.. warning::\n\n   - a\n", `
paragraph: Note: Take care of it.
paragraph: And more.
paragraph: Added in version 3.2.
paragraph: Changed in version 3.4: It differs.
list_item: Warning: - a
`},
		"code, images and what is not shown": {".. code-block:: python\n   :linenos:\n\n   def f():\n       pass\n\n.. image:: a.png\n   :alt: A picture\n\n.. figure:: b.png\n\n   The caption.\n\n.. toctree::\n   :maxdepth: 2\n\n   a\n   b\n\n.. a comment\n   goes on\n\n.. _target:\n\n.. contents::\n\n..\n\n   A quote.\n", `
code: def f():\n    pass
paragraph: A picture
paragraph: The caption.
quote: A quote.
`},
		"domains and unknown directives": {".. py:function:: open(name, *, mode='r')\n                 open(x)\n   :module: io\n\n   Opens it.\n\n   :param name: which\n\n.. strange:: arg\n\n   Kept *text*.\n", `
paragraph: open(name, *, mode='r')
paragraph: open(x)
paragraph: Opens it.
list_item: param name: which
paragraph: arg
paragraph: Kept text.
`},
		"footnotes and citations": {"See [#note]_.\n\n.. [#note] The **text**\n   of it.\n.. [CIT2002] A book.\n", `
paragraph: See [1].
paragraph: [1] The text of it.
paragraph: [CIT2002] A book.
`},
		"numbered footnotes": {"A [#]_, B [#two]_, C [2]_, D [#]_, E [*]_ and F [*]_; ``[#]_``.\n\n.. [#] one\n.. [#two] three\n.. [2] two\n.. [#] four\n.. [*] star\n.. [*] dagger\n", `
paragraph: A [1], B [3], C [2], D [4], E [*] and F [†]; [#]_.
paragraph: [1] one
paragraph: [3] three
paragraph: [2] two
paragraph: [4] four
paragraph: [*] star
paragraph: [†] dagger
`},
		"numbered items": {"3. three\n#. four\n#. five\n\ntext\n\n#. one\n\n   #. inner\n   #. next\n\n#. two\n", `
list_item: 3. three
list_item: 4. four
list_item: 5. five
paragraph: text
list_item: 1. one
list_item 1: 1. inner
list_item 1: 2. next
list_item: 2. two
`},
		"signs in quotes and targets": {"Use \"*\" or (*) or '\\*' and \"**\", an _`inline target`, \\*not this*.\n\n__\n.. __: http://x\n\n:PEP:`8`\n", `
paragraph: Use \"*\" or (*) or '*' and \"**\", an inline target, *not this*.
paragraph: PEP 8
`},
		"blocks in cells": {"+---+----------------+\n| a | - one          |\n|   | - two          |\n|   |                |\n|   | .. _t: x       |\n|   |                |\n|   | *Like*::       |\n|   |                |\n|   |     x = ``1``  |\n+---+----------------+\n\n== =======\n1  * item\n   * next\n2  -\n== =======\n\n:math:`\\frac{a}{b}` and :code:`a\\b`\n", `
table: a | - one - two Like: x = ` + "``1``" + `
table: 1 | - item - next\n2 | -
paragraph: \\frac{a}{b} and a\\b
`},
		"numbers above their text": {"(1)\n   one\n\n2.\n   two\n\nA.\n", `
list_item: (1) one
list_item: 2. two
paragraph: A.
`},
		"modules, dates of removal and names to look up": {".. module:: x\n.. moduleauthor:: Ann\n.. deprecated-removed:: 3.1 3.3 Use :func:`.other`, :file:`.netrc` or :file:`..`.\n", `
paragraph: Deprecated since version 3.1, will be removed in version 3.3: Use other(), .netrc or ...
`},
		"references to parts": {"See :ref:`here`, :ref:`there` and :ref:`it <here>`.\n\n.. _here:\n.. _`There`:\n\nThe *part*\n----------\n", `
paragraph: See The part, The part and it.
heading 1: The part
`},
		"characters by number": {"Copyright |c| 2024, |tm|.\n\n.. |c| unicode:: U+00A9 .. the sign\n.. |tm| unicode:: Brand U+2122\n   :trim:\n", `
paragraph: Copyright © 2024, Brand™.
`},
		"cells that span": {"+-----+-----+---+\n| a   | b       |\n+=====+=====+===+\n| one | two words |\n+-----+ over    +\n| c   | rows    |\n+-----+-----+---+\n| d   | e   | - |\n+-----+-----+---+\n\n=====  =====  ======\n   Inputs     Output\n------------  ------\n  A      B    A or B\n=====  =====  ======\nFalse  False  False\n=====  =====  ======\n", `
table: a | b\none | two words over rows\nc\nd | e | -
table: Inputs |  | Output\nA | B | A or B\nFalse | False | False
`},
		"grid tables": {"+------+-------+\n| Name | Age   |\n+======+=======+\n| Ann  | 12    |\n| Lee  |       |\n+------+-------+\n| both columns |\n+------+-------+\n", `
table: Name | Age\nAnn Lee | 12\nboth columns
`},
		"simple tables": {"=====  =====\nA      B\n=====  =====\n**1**  two\n       lines\n2      x\n\\      y\n=====  =====\n\nafter\n", `
table: A | B\n1 | two lines\n2 | x\n | y
paragraph: after
`},
		"other tables": {".. list-table:: Caption\n   :header-rows: 1\n\n   * - a\n     - b\n   * - 1\n       more\n     - *2*\n\n.. csv-table::\n   :header: \"x\", \"y\"\n\n   \"1, 2\", 3\n", `
paragraph: Caption
table: a | b\n1 more | 2
table: x | y\n1, 2 | 3
`},
		"glossary": {".. glossary::\n\n   one\n   two\n      Both of them.\n\n   three\n      It.\n", `
list_item: one
list_item: two
list_item 1: Both of them.
list_item: three
list_item 1: It.
`},
		"sections inside only": {".. only:: html\n\n   Part\n   ====\n\n   text\n", `
heading 1: Part
paragraph: text
`},
		"a transition and a short underline": {"a\n\n----\n\nb\n\nxyz\n--\n", `
paragraph: a
paragraph: b
paragraph: xyz --
`},
	} {
		t.Run(name, func(t *testing.T) { corpustest.Expect(t, Parser{}, test.source, test.want) })
	}
}

func TestMetadata(t *testing.T) {
	document := corpustest.Expect(t, Parser{}, "Title\n=====\n\n:Author: Ann *B*\n:Date: May 1, 2024\n:Abstract: It says.\n\n.. meta::\n   :keywords: a, b\n\ntext\n", `
heading 1: Title
list_item: Abstract: It says.
paragraph: text
`)
	if document.Title != "Title" || document.Date != "2024-05-01" || !maps.Equal(document.Metadata, map[string]string{"author": "Ann B", "date": "May 1, 2024", "keywords": "a, b"}) {
		t.Errorf("title %q, date %q, metadata %v", document.Title, document.Date, document.Metadata)
	}
	document = corpustest.Expect(t, Parser{}, "PEP: 8\nTitle: Style Guide\nAuthor: Guido <g@x>,\n        Barry\nCreated: 05-Jul-2001\n\nIntroduction\n============\n", "\nheading 1: Introduction\n")
	if document.Title != "Style Guide" || document.Date != "2001-07-05" || document.Metadata["author"] != "Guido <g@x>, Barry" {
		t.Errorf("title %q, date %q, metadata %v", document.Title, document.Date, document.Metadata)
	}
}

func TestDeepNestingKeepsTheText(t *testing.T) {
	document := corpustest.Parse(t, Parser{}, strings.Repeat("- ", 5000)+"end\n")
	if !strings.Contains(document.Text, "end") {
		t.Error("text was lost")
	}
	var b strings.Builder
	for i := range 1000 {
		b.WriteString(strings.Repeat(" ", i) + "word\n\n")
	}
	if got := strings.Count(corpustest.Parse(t, Parser{}, b.String()).Text, "word"); got != 1000 {
		t.Errorf("%d words of 1000", got)
	}
}

func TestLargeInputs(t *testing.T) {
	for name, source := range map[string]string{
		"prose": strings.Repeat("Some *words* and a `link <http://x>`_ with ``code``.\n\n", 5_000), "one line": strings.Repeat("word ", 50_000),
		"backquotes": strings.Repeat("a``", 10_000) + "``", "stars": strings.Repeat("*a ", 10_000), "roles": strings.Repeat(":a:`", 10_000),
		"table starts": strings.Repeat("=== ===\nx\n", 15_000), "bars": strings.Repeat("|a ", 10_000), "dots": strings.Repeat(".. note::\n", 15_000),
		"terms": strings.Repeat("a\n b\n", 15_000), "colons": strings.Repeat("a::\n", 15_000), "underscores": strings.Repeat("a_ ", 10_000), "fields": strings.Repeat(":a: b\n", 15_000),
		"substitutions": strings.Repeat(".. |a| replace:: b\n", 10_000), "grid": "+-+-+\n" + strings.Repeat("|a|b|\n+-+-+\n", 15_000), "paragraphs in bullets": "- a\n" + strings.Repeat("  b\n\n", 15_000),
	} {
		t.Run(name, func(t *testing.T) { corpustest.Parse(t, Parser{}, source) })
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "A\n=\n\n- b\n\n  c::\n\n   d\n", "=== ===\na   b\n=== ===\n", "+-+\n|a|\n+-+\n", ".. note:: x\n   :a: b\n\n   c\n", "a\n  b\n", ":a: b\n\n-x  y\n", ".. |a| image:: b\n   :alt: c\n\n|a|_", "*a `b <c>`_ ``d`` :e:`f` g_ \\", "| a\n  b\n", ".. list-table::\n\n   * - a\n", ".. csv-table::\n\n   \"a\n", ".. glossary::\n\n   a\n     b\n", "..\n\n x", ".. [1] a\n", "PEP: 1\nTitle: a\nB: c\n\n",
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
