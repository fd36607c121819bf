package extractors

import (
	"slices"
	"strings"
	"testing"

	"graphmill/chunkers"
	"graphmill/pipeline/graph"
)

func TestDatesThatNeedTheirTextAreNone(t *testing.T) {
	for text, vague := range map[string]bool{
		"14 March 1879": false, "1998": false, "1990s": false, "the 19th century": false, "May": false, "summer of 1991": false,
		"2024-05-01": false, "3/4/98": false, "March": false, "昭和五年": false,
		"Tuesday": true, "next year": true, "two years": true, "48 hours": true, "eighteen years": true, "may": true, "today": true, "300 days": true,
	} {
		if got := isVagueDate(text); got != vague {
			t.Errorf("%q: vague is %v", text, got)
		}
	}
}

func TestOnlyOfficesAreRoles(t *testing.T) {
	for text, occupation := range map[string]bool{
		"president": false, "Chief Executive Officer": false, "head of security": false, "associate professor": false,
		"engineer": true, "novelist": true, "nuclear scientist": true,
	} {
		if got := isOccupation(text); got != occupation {
			t.Errorf("%q: occupation is %v", text, got)
		}
	}
}

func TestAPeriodIsTwoDates(t *testing.T) {
	for text, want := range map[string][]string{
		"26 July 1894 – 22 November 1963": {"26 July 1894", "22 November 1963"},
		"1838 to 1840":                    {"1838", "1840"},
		"1914–18":                         {"1914–18"},
		"3 to 5 May 2001":                 {"3 to 5 May 2001"},
		"2024-05-01":                      {"2024-05-01"},
	} {
		var got []string
		for _, r := range splitPeriod(text, graph.Range{End: len(text)}) {
			got = append(got, text[r.Start:r.End])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q is %q", text, got)
		}
	}
}

func TestMentionsOfAPassageAgree(t *testing.T) {
	text := "Mary Ode met Ode in Ode; Acme sued ACME."
	mention := func(name, kind string, score float64, nth int) graph.Mention {
		start := 0
		for range nth {
			start += strings.Index(text[start:], name) + 1
		}
		start += strings.Index(text[start:], name)
		return graph.Mention{Range: graph.Range{Start: start, End: start + len(name)}, Text: name, Type: kind, Score: score, Method: "gliner"}
	}
	e := graph.Extraction{Mentions: []graph.Mention{
		mention("Mary Ode", "Person", 0.9, 0), mention("Ode", "Location", 0.6, 1), mention("Ode", "Location", 0.6, 2),
		mention("Acme", graph.UnknownType, 0.45, 0), mention("ACME", "Organization", 0.8, 0),
	}, Pruned: graph.Pruned{UnknownEntities: 1}}
	agree(chunkers.Chunk{Text: text, Range: graph.Range{End: len(text)}}, defaultOntology(t), &e)
	if got, want := strings.Join(typed(e), " "), "Mary Ode/Person Ode/Person Ode/Location Acme/Organization ACME/Organization"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if e.Pruned.UnknownEntities != 0 {
		t.Errorf("%d are counted as Unknown", e.Pruned.UnknownEntities)
	}
}

func TestACertainMentionIsNotOutvoted(t *testing.T) {
	e := graph.Extraction{Mentions: []graph.Mention{
		{Range: graph.Range{Start: 0, End: 4}, Text: "Acme", Type: "Product", Score: 1, Method: "pattern"},
		{Range: graph.Range{Start: 5, End: 9}, Text: "Acme", Type: "Organization", Score: 0.9, Method: "gliner"},
		{Range: graph.Range{Start: 10, End: 14}, Text: "Acme", Type: "Organization", Score: 0.9, Method: "gliner"},
	}}
	agree(chunkers.Chunk{Text: "Acme Acme Acme", Range: graph.Range{End: 14}}, defaultOntology(t), &e)
	if e.Mentions[0].Type != "Product" {
		t.Errorf("the certain mention became %s", e.Mentions[0].Type)
	}
}
