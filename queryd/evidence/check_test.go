package evidence

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// session is a ledger with a few items: 1 to 6.
func session() *Ledger {
	l := NewLedger(0)
	l.Add(
		Item{Tool: "retrieve", Kind: Passage, Content: "Alice Moreau has worked at Acme Corp since 1998. She leads two teams.",
			Place: Place{Document: "staff/4711.md", Headings: "Handbook › Staff"}},
		Item{Tool: "retrieve", Kind: Passage, Content: "Corvane ships 2.80 million units, 1,250 a day, on 12.05.2019; planning takes 5 % of it."},
		Item{Tool: "retrieve", Kind: Entity, Content: "Corvane Systems\nOrganization\nCorvane Systems makes pumps in Zürich."},
		Item{Tool: "status", Kind: Graph, Content: "Graph kb: 12 documents, 300 chunks"},
		Item{Tool: "retrieve", Kind: Fact, Content: "Globex (Organization) ACQUIRED Initech (Organization)\nGlobex acquired Initech for $3.5M in 2004."},
		Item{Tool: "retrieve", Kind: Passage, Content: "Version 1.2.3 of the X-200 came on 2021-03-09, its second release. この館は2011年に開館した。"},
	)
	return l
}

func TestMarkers(t *testing.T) {
	for text, want := range map[string]string{
		"a [3] b":                       "3",
		"a [1, 4] b [1-3].":             "1,4 1,2,3",
		"a [1,4;6]":                     "1,4,6",
		"a [ 2 – 4 , 9 ]":               "2,3,4,9",
		"a [3-1]":                       "1,2,3",
		"a[1][2]":                       "1 2",
		"a [[5]] [[6], [7]]":            "5 6 7",
		"a [007]":                       "7",
		"[999999999999999999999]":       "9007199254740991",
		"[1-1000000]":                   "1,1000000",
		"[1-100]":                       strings.TrimSuffix(numbersUpTo(100), ","),
		"[1](https://a.b/c) [2](x)":     "",
		"[^1] [1.5] [-1] [+1] [a1] []":  "",
		`\[1\] and \\[2]`:               "2",
		"[1, ] [, 1] [1-] [1--2] [1 2]": "",
		"[1":                            "",
		"1] [2]":                        "2",
	} {
		var got []string
		for _, m := range markersIn(text) {
			got = append(got, strings.ReplaceAll(strings.Trim(fmt.Sprint(m.numbers()), "[]"), " ", ","))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", text, got, want)
		}
	}
}

func numbersUpTo(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d,", i+1)
	}
	return b.String()
}

func TestCodeLinksAndAddressesHoldNoCitations(t *testing.T) {
	for _, text := range []string{
		"use `a[1]` here", "``a[1] ` b[2]``", "```\na[1]\n```\n", "~~~go\na[1]\n", "text\n```\n[1]", "https://a.b/c?d=1", "[1]: https://a.b/c",
		"[1]: <https://a.b>", "see [x](a[1)", "![1](y.png)",
	} {
		if found := markersIn(visible(text)); len(found) != 0 {
			t.Errorf("%q: %+v", text, found)
		}
	}
	for _, text := range []string{"a `b [1] c", "`a` [1] `b`", "[x](y) [1]", "https://a.b/c [1]", "x [1]: that", "`a\n\nb` [1]", "```a``` [1]"} {
		if found := markersIn(visible(text)); len(found) != 1 {
			t.Errorf("%q: %+v", text, found)
		}
	}
}

func TestWhatPointsAtNothingIsTakenOutOfTheAnswer(t *testing.T) {
	for _, c := range []struct {
		draft, answer  string
		cited, invalid []int
		grounded       bool
	}{
		{"Alice works [1].", "Alice works [1].", []int{1}, nil, true},
		{"Alice works [9].", "Alice works.", nil, []int{9}, false},
		{"Alice works [1, 9] and [1-3].", "Alice works [1] and [1-3].", []int{1, 2, 3}, []int{9}, false},
		{"So [4-9].", "So [4-6].", []int{4, 5, 6}, []int{7, 8, 9}, false},
		{"So [2,0, 3]", "So [2, 3]", []int{2, 3}, []int{0}, false},
		{"So [[9]]!", "So!", nil, []int{9}, false},
		{"So [1-1000000].", "So.", nil, []int{1, 1000000}, false},
		{"So [3-1].", "So [3-1].", []int{1, 2, 3}, nil, true},
		{"Nothing cited.", "Nothing cited.", nil, nil, false},
		{"", "", nil, nil, false},
	} {
		got := session().CheckCitations(c.draft)
		if got.Answer != c.answer || !slices.Equal(got.Cited, c.cited) || !slices.Equal(got.Invalid, c.invalid) || got.Grounded != c.grounded {
			t.Errorf("%q: %+v", c.draft, got)
		}
	}
}

func TestSourcesAreWhatIsCited(t *testing.T) {
	got := session().CheckCitations("It has 12 documents [4]. Alice Moreau works at Acme Corp [1].").Sources
	if len(got) != 2 || got[0].N != 1 || got[0].Place.Document != "staff/4711.md" || got[1].Tool != "status" || got[1].Kind != Graph || got[1].Content == "" {
		t.Errorf("%+v", got)
	}
}

// Each sentence is one draft; after → stands what its evidence lacks.
func TestFiguresAndNamesMustStandInTheEvidence(t *testing.T) {
	for rule, drafts := range map[string][]string{
		"a figure must appear as a number": {
			"Alice Moreau has been there since 1998 [1]. →",
			"Alice Moreau has been there since 1999 [1]. → 1999",
			"She leads 2 teams [1]. → 2",
			"She leads two teams [1]. →",
			"It was the 2nd of them [1]. → 2",
			"It came 19 years ago [1]. → 19",
		},
		"trailing zeros and separators do not matter": {
			"They ship 2.8 million units [2]. →",
			"They ship 2.80 million units [2]. →",
			"They ship 2.800 million units [2]. →",
			"They ship 2,8 million units [2]. →",
			"They ship 28 million units [2]. → 28",
			"They ship 2.81 million units [2]. → 2.81",
			"They ship 1250 a day, or 1,250, or 1\u00a0250, or 1'250.0 [2]. →",
			"They ship 1250.5 a day [2]. → 1250.5",
			"They ship 125 a day [2]. → 125",
			"It takes 5% of it, 5 percent, 05 % [2]. →",
			"It takes 50% of it [2]. → 50",
			"It cost 3.5 million dollars, $3.50M, in 2004 [5]. →",
			"In the 2000s it cost 3.5 [5]. → 2000",
		},
		"dates and versions": {
			"It came on 12.05.2019 [2]. →",
			"It came in May 2019, on the 12th [2]. → May",
			"It came on 9 March 2021 [6]. → March",
			"It came on 2021-03-09 as 1.2.3 [6]. →",
			"It came as 1.2.4 [6]. → 1.2.4",
			"It came as X-200 and X-201 [6]. → 201",
		},
		"other scripts' digits are digits": {
			"Seit １９９８ und ١٩٩٨ [1]. →",
			"Seit １９９９ [1]. → １９９９",
		},
		"a number within letters that have no capitals is a number": {
			"東京大学は1998年に設立された[1]。 →",
			"東京大学は1999年に設立された[1]。 → 1999",
			"ปี1999 พ [1]. → 1999",
			"It opened in 2011 [6]. →",
			"It opened in 2012 [6]. → 2012",
			"第２０１１号 v2011 [6]. →",
		},
		"the file's path is not searched, its headings are": {
			"There are 4711 of them [1]. → 4711",
			"So says the Handbook of them [1]. →",
		},
		"a list's own numbers are no figures": {
			"7. She leads two teams [1]. →",
			"7) She leads two teams [1]. →",
		},
		"each word of three or more letters of a name, whole, whatever its case": {
			"The maker is Corvane Systems [3]. →",
			"The maker is CORVANE SYSTEMS [3]. →",
			"The maker is Corvane Systems [2]. → Corvane Systems",
			"The maker is Ann [2]. → Ann",
			"She is Alice J. Moreau [1]. →",
			"She is Alice O'Moreau [1]. →",
			"She is Al Moreau of ACME-Corp [1]. →",
			"They work in Zu\u0308rich [3]. →",
			"They work in Zurich [3]. → Zurich",
		},
		"a lone surname is a name": {
			"It was Moreau who led [1]. →",
			"It was Lovelace who led [1]. → Lovelace",
		},
		"a first word is checked when it starts a run or another name stands there": {
			"Corvane Systems ships pumps [2]. → Corvane Systems",
			"Globex acquired Initech [5]. →",
			"Umbrella acquired Initech [5]. → Umbrella",
			"Pumps are made there [5]. →",
			"The pumps of Initech are made there [5]. →",
			"However, Initech was sold [5]. →",
			"The Umbrella Group was sold [5]. → Umbrella Group",
			"In Umbrella they trust [5]. → Umbrella",
		},
		"one of several is enough, and all are asked": {
			"Alice Moreau left Corvane Systems in 1998 [1, 3]. →",
			"Alice Moreau left Corvane Systems in 1998 [1][3]. →",
			"Alice Moreau left Corvane Systems in 1998 [1-3]. →",
			"Alice Moreau left Corvane Systems in 1998 [3]. → 1998 Alice Moreau",
		},
	} {
		for _, line := range drafts {
			draft, want, _ := strings.Cut(line, " →")
			got := session().CheckCitations(draft)
			var lacks []string
			for _, u := range got.Unsupported {
				lacks = append(lacks, u.Figures...)
				lacks = append(lacks, u.Names...)
			}
			if strings.Join(lacks, " ") != strings.TrimSpace(want) || len(got.Uncited) != 0 || !got.Grounded {
				t.Errorf("%s: %s: lacks %q, uncited %q, grounded %v", rule, draft, lacks, got.Uncited, got.Grounded)
			}
		}
	}
}

// A sentence that is listed ends with →.
func TestSentencesThatStateAFigureOrANameNeedACitation(t *testing.T) {
	for rule, drafts := range map[string][]string{
		"figures and names": {
			"Alice Moreau works there. →", "It has 12 documents. →", "It is in Zürich. →", "It has a few documents.", "The pumps are made there.", "Unfortunately they are.", "Sources:", "Thus it is.", "Globex! Globex?",
			"I think so.", "Does Alice Moreau work in Zürich?", "## Alice Moreau, 1998", "", "…",
		},
		"what the evidence lacks": {
			"The graph does not say who founded Globex.",
			"The graph doesn't say who founded Globex in 1998.",
			"The documents contain no information about Globex.",
			"However, the retrieved passages do not mention Globex.",
			"I could not find who founded Globex.",
			"I found nothing about Globex in 1998.",
			"The search for Globex returned nothing. →",
			"The search returned nothing about Globex.",
			"There is no mention of Globex in the graph.",
			"No evidence of a merger with Globex was found.",
			"None of the sources mentions Globex.",
			"Nothing in the graph says when Globex began.",
			"The founder of Globex is not stated in the evidence.",
			"The evidence is silent on Globex.",
			"Unfortunately, the knowledge graph does not contain anything on Globex.",
		},
		"what the world lacks is a claim": {
			"Globex does not provide pensions. →",
			"Globex has no documents. →",
			"Globex does not provide pensions, says its founder. →",
			"Police found no evidence against Globex. →",
			"The trial evidence does not show that Globex paid. →",
			"Globex did not find Initech. →",
			"No one at Globex knows. →",
			"The annual report of Globex does not mention pensions. →",
			"Nothing was found at Globex by police. →",
			"Globex is not in London. →",
		},
		"what follows on the other hand": {
			"The graph does not say who founded Globex, but Initech was founded in 1990. →",
			"The graph does not say who founded Globex; Alice Moreau did not. →",
			"The graph does not say who founded Globex, but it is large.",
		},
	} {
		for _, line := range drafts {
			draft, listed := strings.CutSuffix(line, " →")
			got := session().CheckCitations(draft)
			if listed != (len(got.Uncited) == 1) || listed && got.Uncited[0] != draft || len(got.Unsupported) != 0 {
				t.Errorf("%s: %s: uncited %q, unsupported %+v", rule, draft, got.Uncited, got.Unsupported)
			}
		}
	}
}

func TestACitationBelongsToItsSentence(t *testing.T) {
	for draft, want := range map[string][]string{
		"Alice Moreau works there. [1] Globex acquired Initech. [5]":          nil,
		"Alice Moreau works there.[1] Globex acquired Initech.[5]":            nil,
		"Alice Moreau works there.[1, 2] Globex acquired Initech [5].":        nil,
		"Alice Moreau works there.\n[1]\n\nGlobex acquired Initech. [5]":      nil,
		"[1] Alice Moreau works there. Globex acquired Initech [5].":          nil,
		"Alice Moreau works there [1]. [5] Globex acquired Initech.":          nil,
		"Alice Moreau works there [1]. Globex acquired Initech.":              {"Globex acquired Initech."},
		"Alice Moreau works there.\n\n[5] Globex acquired Initech.":           {"Alice Moreau works there."},
		"- Alice Moreau works there [1]\n- Globex acquired Initech\n":         {"- Globex acquired Initech"},
		"Alice Moreau works there [9]. Globex acquired Initech [5].":          {"Alice Moreau works there [9]."},
		"| Name | Since |\n|---|---|\n| Alice Moreau | 1998 [1] |\n":          nil,
		"| Name | Since |\n|---|---|\n| Alice Moreau | 1998 |\n":              {"| Alice Moreau | 1998 |"},
		"Alice Moreau works there [1][9]. Dr. Moreau joined in 1998 [1].":     nil,
		"You run `Alice Moreau 1998` or see https://x.y/Alice/1998 for that.": nil,
	} {
		got := session().CheckCitations(draft)
		if !slices.Equal(got.Uncited, want) {
			t.Errorf("%q: uncited %q", draft, got.Uncited)
		}
	}
}

// hostile are drafts that cost a careless reader dearly.
var hostile = map[string]string{
	"brackets":         strings.Repeat("[", 1<<20),
	"nested":           strings.Repeat("[", 1<<19) + "1" + strings.Repeat("]", 1<<19),
	"lists":            "[" + strings.Repeat("1,", 1<<19),
	"open ranges":      strings.Repeat("[1-", 1<<18),
	"wide ranges":      strings.Repeat("[1-99]", 1<<17),
	"behind":           "Bob 5 [1]." + strings.Repeat(" [1]", 1<<19) + " Ray Bob ran.",
	"behind, apart":    "Bob 5 [1]." + strings.Repeat(" [1]", 1<<19) + "\n\nRay Bob ran.",
	"ranges":           strings.Repeat("Bob Ray [1-99]. ", 1<<16),
	"digits":           strings.Repeat("9", 1<<20),
	"numbers":          strings.Repeat("1,000 ", 1<<17),
	"separators":       strings.Repeat("1.", 1<<19),
	"capitals":         strings.Repeat("Abc ", 1<<18),
	"backticks":        strings.Repeat("` `` ``` ", 1<<16),
	"rising backticks": risingTicks(1 << 10),
	"fences":           strings.Repeat("```\n", 1<<18),
	"links":            strings.Repeat("[a](", 1<<18),
	"backslashes":      strings.Repeat(`\`, 1<<19) + "[1]" + strings.Repeat(`\[1]`, 1<<17),
	"lacking":          strings.Repeat("the graph does not ", 1<<16),
	"lacking lines":    strings.Repeat("no evidence the the the the graph. ", 1<<15),
	"addresses":        strings.Repeat("http://", 1<<17),
	"marks":            "e" + strings.Repeat("\u0301", 1<<19),
	"lines":            strings.Repeat("\n", 1<<20),
	"stops":            strings.Repeat(".", 1<<20),
	"invalid bytes":    strings.Repeat("\xff[1]", 1<<18),
	"bullets":          strings.Repeat("- * > # ", 1<<17),
	"table":            strings.Repeat("|-|\n", 1<<18),
	"quotes":           strings.Repeat("Abc's ", 1<<17),
}

func risingTicks(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat("`", i+1) + "a")
	}
	return b.String()
}

func TestHostileDraftsEndQuickly(t *testing.T) {
	l := session()
	for name, draft := range hostile {
		start := time.Now()
		got := l.CheckCitations(draft)
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s take %v", name, took)
		} else {
			t.Logf("%s: %v", name, took.Round(time.Millisecond))
		}
		if !utf8.ValidString(got.Answer) {
			t.Errorf("%s: the answer is no text", name)
		}
	}
}

func FuzzCheckCitations(f *testing.F) {
	for _, draft := range hostile {
		f.Add(draft[:min(len(draft), 200)])
	}
	for _, draft := range []string{"Alice [1, 9]. **Bob** [[3]] `[4]` [1](x)", "| a | [1] |\n|---|\n| B | 2 |", "[1]: http://x\n\n[1]", "日本語[1]。Zürich [2]！", "\u202e[1]\x00"} {
		f.Add(draft)
	}
	l := session()
	f.Fuzz(func(t *testing.T, draft string) {
		got := l.CheckCitations(draft)
		if got.Grounded != (len(got.Cited) > 0 && len(got.Invalid) == 0) || len(got.Sources) != len(got.Cited) {
			t.Errorf("%+v", got)
		}
		if !utf8.ValidString(got.Answer) || len(got.Answer) > 3*len(draft) {
			t.Errorf("answer %q", got.Answer)
		}
		again := l.CheckCitations(got.Answer)
		if !slices.Equal(again.Cited, got.Cited) && len(got.Invalid) == 0 {
			t.Errorf("cited %v, then %v", got.Cited, again.Cited)
		}
		if got.Grounded && again.Answer != got.Answer {
			t.Errorf("%q becomes %q", got.Answer, again.Answer)
		}
	})
}
