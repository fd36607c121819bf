package chunkers

import (
	"strings"
	"testing"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/graph"
)

// Each text is written with "|" where a sentence ends.
func TestSentences(t *testing.T) {
	tables := map[string][]string{
		"titles and initials": {
			"Dr. Smith met Mr. J. R. R. Tolkien. | They talked.",
			"Prof. Ada Lovelace and Gen. Lee left. | The rest stayed.",
			"George W. Bush was president. | He left in 2009.",
			"It took 5 ms. | Peter waited.",
		},
		"acronyms": {
			"He lives in the U.S. | The house is large.",
			"The U.S. Congress met at 5 p.m. on Monday. | It voted.",
			"She has a Ph.D. from Acme Inc. in Boston. | We met.",
			"It works, e.g. for Peter, i.e. for him, cf. Jones vs. Smith etc. | Next one.",
		},
		"numbers": {
			"Pi is 3.14 and v1.2.3 is out. | It costs $5. | Pay now.",
			"See No. 5, Fig. 3 and pp. 12 ff. for more. | He said no. | Then he left.",
			"It was founded in 1998. | The company grew.",
			"On Jan. 5 and Sept. 7 it rained. | We stayed.",
			"1. Install the package.",
			"3.1. Scope of the work.",
			"IV. Results of the work.",
			"- 2. Create a branch. | Then push it.",
			"[x] 3. Clean up.",
			"Table 8.6. Binary data types. | It has two rows.",
			"Abbildung 3. Das Netz.",
			"We have 3. | Others have more than the Table 4. | Next.",
		},
		"ellipses": {
			"Wait... what? | Well... | He left. | And so on . . . until the end.",
			"Nothing… but this. | Nothing… | Then this.",
		},
		"quotes and brackets": {
			`"Stop!" he said. | "Why?" | She left.`,
			"(He left.) | Then (see above.) it ended.",
			"“It works.” | ‘Really?’ | Yes.",
			"It is so.[1][12] | Others disagree.",
			"**Note.** | The rest.",
		},
		"signs that stand alone": {
			"!! Note: it works. | And so on.",
			"... and then he left. | ¿? Nobody knows.",
		},
		"names with stops": {
			"Node.js is at example.com. | See https://a.b/c?d=e.f for more. | iOS and file.txt are fine.",
			"We use Yahoo! and others. | It works.",
			"It runs on macOS. | iPhone users wait.",
		},
		"German": {
			"Das gilt z. B. am 3. Oktober 1990 bzw. im 19. Jahrhundert. | Dr. Müller sagte: „Ja.“ | Er ging usw. | Danach nicht.",
			"Es kostet 5 Mio. Euro, d. h. viel. | Nr. 7 fehlt.",
		},
		"French": {
			"M. Dupont et Mme. Curie sont là. | « Vraiment ? » | Oui, cf. p. 3.",
			"Il a dit : « Non ! » | Puis il est parti.",
		},
		"Russian": {
			"А. С. Пушкин родился в 1799 г. | Он жил в г. Москва на ул. Арбат. | Это т. е. так и т. д. | Всё!",
			"— Стой! — крикнул он. | — Нет.",
		},
		"Japanese and Chinese": {
			"日本語です。|次の文！|本当？！|「はい。」と言った。|円周率は3.14です。",
			"他说：“你好。”|然后走了！|真的吗？|价格是３．１４元。",
		},
		"Arabic and Hindi": {
			"هل هذا سؤال؟ | نعم. | انتهى الأمر.",
			"यह एक वाक्य है।|दूसरा वाक्य॥|तीसरा।",
		},
		"lines": {
			"A hard-wrapped line goes\non here. | And\nmore.",
			"No stop at the end\n\n|A new paragraph",
			"# A heading\n|Text under it\ngoes on.\n|## Next\n|More.",
			"Choose one:\n|- first thing\n|- second thing\nthat wraps\n|1. third",
			"He was born in\n1998. | Then more - with a dash\n- and on.",
			"page one\f|page two",
		},
	}
	for name, cases := range tables {
		t.Run(name, func(t *testing.T) {
			for _, marked := range cases {
				checkMarked(t, marked)
			}
		})
	}
}

func checkMarked(t *testing.T, marked string) {
	t.Helper()
	text := strings.ReplaceAll(marked, "|", "")
	var want []string
	for _, part := range strings.Split(marked, "|") {
		want = append(want, strings.TrimSpace(part))
	}
	got := sliced(text, Sentences(text))
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("sentences\n got %s\nwant %s", strings.Join(got, " | "), strings.Join(want, " | "))
	}
	checkSentences(t, text, Sentences(text))
}

func sliced(text string, ranges []graph.Range) []string {
	parts := make([]string, 0, len(ranges))
	for _, r := range ranges {
		parts = append(parts, text[r.Start:r.End])
	}
	return parts
}

func TestDocumentSentencesKeepToBlocks(t *testing.T) {
	document := documentOf(
		piece{corpus.Heading, "About Dr. Who. And others", 1},
		piece{corpus.Paragraph, "First one. Second\none", 0},
		piece{corpus.ListItem, "apples", 0},
		piece{corpus.ListItem, "pears. And more", 0},
		piece{corpus.Table, "| a | b. C |\n| 1 | 2 |", 0},
		piece{corpus.Code, "x = 1.\nY = 2", 0},
	)
	want := []string{"About Dr. Who. And others", "First one.", "Second\none", "apples", "pears.", "And more",
		"| a | b. C |", "| 1 | 2 |", "x = 1.", "Y = 2"}
	got := sliced(document.Text, DocumentSentences(document))
	if strings.Join(got, "¦") != strings.Join(want, "¦") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

type piece struct {
	kind  corpus.BlockKind
	text  string
	depth int
}

// documentOf joins pieces with blank lines, list items with line breaks.
func documentOf(pieces ...piece) *corpus.Document {
	document := &corpus.Document{}
	for i, p := range pieces {
		if i > 0 {
			document.Text += "\n"
			if p.kind != corpus.ListItem || pieces[i-1].kind != corpus.ListItem {
				document.Text += "\n"
			}
		}
		start := len(document.Text)
		document.Text += p.text
		document.Blocks = append(document.Blocks, corpus.Block{Kind: p.kind, Depth: p.depth, Range: graph.Range{Start: start, End: len(document.Text)}})
	}
	document.Sections = sectionsOf(document)
	return document
}
