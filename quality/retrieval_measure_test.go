package quality_test

import (
	"slices"
	"strings"
	"testing"

	"graphmill/pipeline/graph"
	"graphmill/quality"
)

func at(document string, start, end int) quality.Place {
	return quality.Place{Document: document, Span: graph.Span{Start: start, End: end}}
}

func TestAnAnswerIsFoundWhereMostOfItStands(t *testing.T) {
	answer := at("a.md", 100, 200)
	for behaviour, c := range map[string]struct {
		hits []quality.Hit
		rank int
	}{
		"whole":                     {[]quality.Hit{{at("a.md", 0, 50)}, {at("a.md", 50, 300)}}, 2},
		"its larger piece":          {[]quality.Hit{{at("a.md", 0, 151)}}, 1},
		"its smaller piece":         {[]quality.Hit{{at("a.md", 0, 150)}}, 0},
		"another document":          {[]quality.Hit{{at("b.md", 0, 300)}}, 0},
		"the second place of a hit": {[]quality.Hit{{at("b.md", 0, 300), at("a.md", 0, 300)}}, 1},
		"a hit without places":      {[]quality.Hit{{}, {at("a.md", 0, 300)}}, 2},
		"nothing":                   {nil, 0},
	} {
		if ranks := quality.Ranks([]quality.Place{answer}, c.hits); ranks[0] != c.rank {
			t.Errorf("%s: rank %d, want %d", behaviour, ranks[0], c.rank)
		}
	}
}

func standings() []quality.Standing {
	var s quality.Standings
	for _, c := range []struct {
		search string
		number int
		ranks  []int
	}{{"fused", 1, []int{1, 6}}, {"fused", 2, []int{2}}, {"words", 1, []int{0, 6}}, {"words", 2, []int{0}}} {
		s.Add(c.search, quality.Question{Number: c.number}, c.ranks)
	}
	return s.Rows()
}

func TestStandingsAreMeansOverQuestions(t *testing.T) {
	rows := standings()
	want := []quality.Standing{
		{Search: "fused", Part: quality.All, Recall5: 75, Recall10: 100, MRR: 75, Questions: 2},
		{Search: "fused", Part: quality.HeldOut, Recall5: 100, Recall10: 100, MRR: 50, Questions: 1},
		{Search: "fused", Part: quality.Tuning, Recall5: 50, Recall10: 100, MRR: 100, Questions: 1},
	}
	if !slices.Equal(rows[:3], want) {
		t.Errorf("got  %v\nwant %v", rows[:3], want)
	}
	var written strings.Builder
	if err := quality.WriteStandings(&written, rows); err != nil {
		t.Fatal(err)
	}
	read, err := quality.ReadStandings(written.String())
	if err != nil || len(read) != len(rows) || !slices.Equal(read[:3], want) || len(quality.Falls(read, rows, 0)) > 0 || len(quality.Falls(rows, read, 0)) > 0 {
		t.Errorf("read %v, %v, wrote\n%s", read, err, written.String())
	}
}

func TestAFallIsSeen(t *testing.T) {
	row := func(search, part string, figure float64) quality.Standing {
		return quality.Standing{Search: search, Part: part, Recall5: figure, Recall10: figure, MRR: figure}
	}
	want := []quality.Standing{row("fused", quality.All, 80)}
	for behaviour, c := range map[string]struct {
		got   []quality.Standing
		falls int
	}{
		"more than is allowed":       {[]quality.Standing{row("fused", quality.All, 77)}, 3},
		"what is allowed":            {[]quality.Standing{row("fused", quality.All, 78)}, 0},
		"a rise":                     {[]quality.Standing{row("fused", quality.All, 90)}, 0},
		"a search that is not there": {[]quality.Standing{row("words", quality.All, 80)}, 1},
	} {
		if falls := quality.Falls(want, c.got, 2); len(falls) != c.falls {
			t.Errorf("%s: %q", behaviour, falls)
		}
	}
}

func TestASearchIsBetterInTheMean(t *testing.T) {
	row := func(search, part string, recall5, recall10, mrr float64) quality.Standing {
		return quality.Standing{Search: search, Part: part, Recall5: recall5, Recall10: recall10, MRR: mrr}
	}
	fused := row("fused", quality.All, 80, 90, 70)
	for behaviour, c := range map[string]struct {
		other  quality.Standing
		misses int
	}{
		"better in all":            {row("words", quality.All, 70, 80, 60), 0},
		"as good in one":           {row("words", quality.All, 70, 90, 60), 0},
		"a little worse in one":    {row("words", quality.All, 70, 92, 60), 0},
		"much worse in one":        {row("words", quality.All, 70, 93, 60), 1},
		"as good":                  {row("words", quality.All, 80, 90, 70), 1},
		"worse, but a little only": {row("words", quality.All, 81, 91, 71), 1},
		"worse in a part":          {row("words", quality.Tuning, 99, 99, 99), 0},
	} {
		if misses := quality.NotBetter([]quality.Standing{fused, c.other}, "fused", 2); len(misses) != c.misses {
			t.Errorf("%s: %q", behaviour, misses)
		}
	}
	if misses := quality.NotBetter(nil, "fused", 2); len(misses) != 1 {
		t.Errorf("not measured: %q", misses)
	}
}

func TestQuestionsAreRead(t *testing.T) {
	questions, err := quality.LoadQuestions(questionsFile)
	if err != nil {
		t.Fatal(err)
	}
	twoFiles := 0
	for _, q := range questions {
		if slices.ContainsFunc(q.Answers, func(a quality.Answer) bool { return a.Document != q.Answers[0].Document }) {
			twoFiles++
		}
	}
	if len(questions) != 40 || twoFiles < 4 || questions[0].Part() != quality.Tuning || questions[1].Part() != quality.HeldOut {
		t.Errorf("%d questions, %d of them answered by two files", len(questions), twoFiles)
	}
}
