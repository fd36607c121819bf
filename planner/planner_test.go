package planner_test

import (
	"errors"
	"maps"
	"math"
	"strings"
	"testing"

	"graphmill/chunkers"
	"graphmill/pipeline/corpus"
	"graphmill/pipeline/graph"
	"graphmill/planner"
	"graphmill/planner/catalogue"
)

// strategies are the real chunkers, and extractors and resolvers as a later
// version may have them.
func strategies() []catalogue.Strategy {
	return append(chunkers.Catalogue(),
		catalogue.Strategy{Kind: catalogue.Extractor, Name: "pattern", Cheap: true},
		catalogue.Strategy{Kind: catalogue.Extractor, Name: "gliner", Cheap: true, Cost: catalogue.Cost{LocalSecondsPerKToken: 0.5}},
		catalogue.Strategy{Kind: catalogue.Extractor, Name: "llm", Cost: catalogue.Cost{ModelCallsPerChunk: 2, TokensPerCall: 700, OutputTokensPerCall: 300}},
		catalogue.Strategy{Kind: catalogue.Resolver, Name: "exact", Cheap: true},
		catalogue.Strategy{Kind: catalogue.Resolver, Name: "llm_verified", Cost: catalogue.Cost{ModelCallsPerChunk: 0.5}},
	)
}

func newPlanner(t *testing.T, rules []planner.Rule, limits planner.Limits) *planner.Planner {
	t.Helper()
	p, err := planner.New(rules, limits, strategies())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func markdown(path string) planner.File {
	return planner.File{Path: path, Format: corpus.Markdown, Size: 10_000}
}

func TestDefaultsFollowTheFormat(t *testing.T) {
	p := newPlanner(t, nil, planner.Limits{})
	for format, want := range map[corpus.Format]string{
		corpus.Markdown: "structural 256 · pattern+gliner · exact",
		corpus.RST:      "structural 256 · pattern+gliner · exact",
		corpus.HTML:     "structural 256 · pattern+gliner · exact",
		corpus.PDF:      "sentence 256 · pattern+gliner · exact",
		corpus.Text:     "sentence 256 · pattern+gliner · exact",
	} {
		a := p.Assign(planner.File{Path: "a/b", Format: format})
		if a.String() != want || a.Rule != -1 || a.Reason != "default for "+string(format) || a.MaxChunks != 1000 {
			t.Errorf("%s: %s, %+v", format, a, a)
		}
	}
}

func TestTheFirstMatchingRuleWins(t *testing.T) {
	rules := []planner.Rule{
		{Match: "reports/**/*.pdf", Chunker: "fixed"},
		{Match: "*.md", Chunker: "sentence"},
		{Match: "./docs/*", Chunker: "fixed"},
		{Match: "odd[1].md", Chunker: "fixed"},
		{Match: "*.{txt,rst}", Chunker: "fixed"},
	}
	p := newPlanner(t, rules, planner.Limits{})
	for path, want := range map[string]int{
		"reports/q1.pdf":         0,
		"reports/2024/q/q1.pdf":  0,
		"old/reports/q1.pdf":     -1,
		"readme.md":              1,
		"deep/down/readme.md":    1,
		"docs/page.html":         2,
		"docs/sub/page.html":     -1,
		"docs/a.md":              1,
		"a.txt":                  4,
		"a.TXT":                  -1,
		"reports/q1.pdf/more.go": -1,
	} {
		if got := p.Assign(planner.File{Path: path, Format: corpus.Text}); got.Rule != want {
			t.Errorf("%s: rule %d, want %d", path, got.Rule, want)
		}
	}
	literal := newPlanner(t, []planner.Rule{{Match: "odd[1].md", Chunker: "fixed"}}, planner.Limits{})
	if got := literal.Assign(markdown("odd[1].md")); got.Rule != 0 {
		t.Error("a file whose name is the pattern does not match it")
	}
}

func TestARuleFillsInOnlyWhatItNames(t *testing.T) {
	rules := []planner.Rule{{Match: "*", MaxChunks: 20, Parameters: map[string]int{"chunk_tokens": 512}, Origin: "graphmill.yaml:14"}}
	a := newPlanner(t, rules, planner.Limits{}).Assign(markdown("a.md"))
	if a.String() != "structural 512 · pattern+gliner · exact" || a.MaxChunks != 20 || a.Reason != `rule 1 "*" (graphmill.yaml:14)` {
		t.Errorf("%s: %+v", a, a)
	}
}

func TestChoicesOutsideTheLimitsAreReplacedAndSaid(t *testing.T) {
	yes := []string{"fixed"}
	for name, c := range map[string]struct {
		rule   planner.Rule
		limits planner.Limits
		plan   string
		reason string
	}{
		"chunker": {planner.Rule{Chunker: "contextual"}, planner.Limits{}, "structural 256 · pattern+gliner · exact",
			"chunker contextual is outside the plan limits (fixed, sentence, structural), structural is used"},
		"default chunker not allowed": {planner.Rule{}, planner.Limits{Chunkers: yes}, "fixed 256 +32 · pattern+gliner · exact", ""},
		"one of two extractors": {planner.Rule{Extractors: []string{"llm", "gliner"}}, planner.Limits{}, "structural 256 · gliner · exact",
			"extractor llm is outside the plan limits (pattern, gliner), gliner is used"},
		"all extractors": {planner.Rule{Extractors: []string{"llm"}}, planner.Limits{Extractors: []string{"pattern"}}, "structural 256 · pattern · exact",
			"extractor llm is outside the plan limits (pattern), pattern is used"},
		"resolver": {planner.Rule{Resolver: "llm_verified"}, planner.Limits{}, "structural 256 · pattern+gliner · exact",
			"resolver llm_verified is outside the plan limits (exact), exact is used"},
		"allowed by wider limits": {planner.Rule{Extractors: []string{"llm"}}, planner.Limits{Extractors: []string{"llm"}}, "structural 256 · llm · exact", ""},
		"max_chunks": {planner.Rule{MaxChunks: 5000}, planner.Limits{}, "structural 256 · pattern+gliner · exact",
			"max_chunks 5000 is over the plan limit, 1000 is used"},
		"parameters": {planner.Rule{Parameters: map[string]int{"chunk_tokens": 99}}, planner.Limits{DefaultParameters: true}, "structural 256 · pattern+gliner · exact",
			"the plan limits do not allow setting parameters, the defaults are used"},
		"parameter of another chunker": {planner.Rule{Parameters: map[string]int{"overlap_sentences": 2}}, planner.Limits{}, "structural 256 · pattern+gliner · exact",
			"overlap_sentences does not apply to chunker structural"},
	} {
		t.Run(name, func(t *testing.T) {
			c.rule.Match = "*"
			a := newPlanner(t, []planner.Rule{c.rule}, c.limits).Assign(markdown("a.md"))
			reason := strings.TrimPrefix(strings.TrimPrefix(a.Reason, `rule 1 "*"`), "; ")
			if a.String() != c.plan || reason != c.reason {
				t.Errorf("plan   %s\nwant   %s\nreason %s\nwant   %s", a, c.plan, reason, c.reason)
			}
		})
	}
}

func TestNewNamesWhatIsWrongAndWhatIsAllowed(t *testing.T) {
	for want, c := range map[string]struct {
		rule   planner.Rule
		limits planner.Limits
	}{
		`rule 1 "*": unknown chunker "structurl"; did you mean "structural"? (allowed: fixed, sentence, structural, contextual)`: {rule: planner.Rule{Chunker: "structurl"}},
		`rule 1 "*": unknown extractor "zzz" (allowed: pattern, gliner, llm)`:                                                    {rule: planner.Rule{Extractors: []string{"zzz"}}},
		`rule 1 "*": extractor "gliner" is named twice`:                                                                          {rule: planner.Rule{Extractors: []string{"gliner", "gliner"}}},
		`rule 1 "*": unknown resolver "exakt"; did you mean "exact"? (allowed: exact, llm_verified)`:                             {rule: planner.Rule{Resolver: "exakt"}},
		`rule 1 "*": chunk_tokens is 4; allowed are 16 to 8192 tokens`:                                                           {rule: planner.Rule{Parameters: map[string]int{"chunk_tokens": 4}}},
		`rule 1 "*": unknown parameter of chunker sentence "chunk_chars"; did you mean "chunk_tokens"? (allowed: chunk_tokens, overlap_sentences)`: {
			rule: planner.Rule{Chunker: "sentence", Parameters: map[string]int{"chunk_chars": 400}}},
		`rule 1 "*": overlap_tokens is 40; allowed is up to half of chunk_tokens, 32`: {
			rule: planner.Rule{Parameters: map[string]int{"chunk_tokens": 64, "overlap_tokens": 40}}},
		`rule 1 "*": overlap_tokens is 40; allowed is up to half of chunk_tokens, 0`: {
			rule: planner.Rule{Chunker: "fixed", Parameters: map[string]int{"chunk_chars": 640, "overlap_tokens": 40}}},
		`rule 1 "*": max_chunks is -1; allowed is 1 or more`:                                                                     {rule: planner.Rule{MaxChunks: -1}},
		`rule 1 "a[": match is no glob; close every [ and {, or put \ before one that is meant literally`:                        {rule: planner.Rule{Match: "a["}},
		`rule 1 "/etc/*": match must be a glob on the path under the files root, without a leading / and without ..`:             {rule: planner.Rule{Match: "/etc/*"}},
		`plan limits: chunkers: unknown chunker "fix"; did you mean "fixed"? (allowed: fixed, sentence, structural, contextual)`: {limits: planner.Limits{Chunkers: []string{"fix"}}},
		`plan limits: extractors: none is allowed; name at least one of pattern, gliner, llm`:                                    {limits: planner.Limits{Extractors: []string{}}},
		`plan limits: max_chunks is -5; allowed is 1 or more`:                                                                    {limits: planner.Limits{MaxChunks: -5}},
	} {
		if c.rule.Match == "" {
			c.rule.Match = "*"
		}
		_, err := planner.New([]planner.Rule{c.rule}, c.limits, strategies())
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	_, err := planner.New([]planner.Rule{{Chunker: "a"}, {Match: "*", Resolver: "b"}}, planner.Limits{}, strategies())
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("not everything is reported: %v", err)
	}
}

func TestEveryAssignmentMakesAChunker(t *testing.T) {
	for _, parameters := range []map[string]int{
		nil, {"chunk_tokens": 16}, {"chunk_chars": 64}, {"chunk_chars": 100, "chunk_tokens": 20}, {"chunk_chars": 100, "overlap_chars": 50},
		{"chunk_tokens": 40, "overlap_tokens": 0}, {"overlap_sentences": 3},
	} {
		for _, chunker := range []string{"", "fixed", "sentence", "structural"} {
			p, err := planner.New([]planner.Rule{{Match: "*", Chunker: chunker, Parameters: parameters}}, planner.Limits{}, strategies())
			if err != nil {
				continue
			}
			a := p.Assign(markdown("a.md"))
			if _, err := chunkers.New(a.Chunker, a.Params); err != nil {
				t.Errorf("%s %v → %s: %v", chunker, parameters, a, err)
			}
		}
	}
}

func TestTheFingerprintCoversWhatChangesTheResult(t *testing.T) {
	fingerprint := func(rule planner.Rule, change func([]catalogue.Strategy)) string {
		rule.Match = "*"
		all := strategies()
		if change != nil {
			change(all)
		}
		limits := planner.Limits{Extractors: []string{"pattern", "gliner", "llm"}, Resolvers: []string{"exact", "llm_verified"}}
		p, err := planner.New([]planner.Rule{rule}, limits, all)
		if err != nil {
			t.Fatal(err)
		}
		return p.Assign(markdown("a.md")).Fingerprint
	}
	base := fingerprint(planner.Rule{}, nil)
	for name, same := range map[string]planner.Rule{
		"spelled out": {Chunker: "structural", Resolver: "exact", Extractors: []string{"pattern", "gliner"}, Parameters: map[string]int{"chunk_tokens": 256}},
		"max_chunks":  {MaxChunks: 7},
	} {
		if fingerprint(same, nil) != base {
			t.Errorf("%s changes the fingerprint", name)
		}
	}
	for name, other := range map[string]planner.Rule{
		"chunker": {Chunker: "sentence"}, "parameter": {Parameters: map[string]int{"chunk_tokens": 255}},
		"extractors": {Extractors: []string{"gliner"}}, "resolver": {Resolver: "llm_verified"},
	} {
		if fingerprint(other, nil) == base {
			t.Errorf("%s does not change the fingerprint", name)
		}
	}
	for _, name := range []string{"structural", "gliner", "exact"} {
		raise := func(all []catalogue.Strategy) {
			for i := range all {
				if all[i].Name == name {
					all[i].Version += 7
				}
			}
		}
		if fingerprint(planner.Rule{}, raise) == base {
			t.Errorf("a new version of %s does not change the fingerprint", name)
		}
	}
}

func TestCompareGivesTheFirstReason(t *testing.T) {
	stored := graph.Fingerprints{Content: "c", Plan: "p", Ontology: "o", Model: "m", Format: "f"}
	for want, change := range map[planner.Why]func(*graph.Fingerprints){
		planner.WhyNone:     func(*graph.Fingerprints) {},
		planner.WhyContent:  func(f *graph.Fingerprints) { *f = graph.Fingerprints{Content: "x"} },
		planner.WhyPlan:     func(f *graph.Fingerprints) { f.Plan, f.Model = "x", "x" },
		planner.WhyOntology: func(f *graph.Fingerprints) { f.Ontology = "x" },
		planner.WhyModel:    func(f *graph.Fingerprints) { f.Model = "x" },
		planner.WhyFormat:   func(f *graph.Fingerprints) { f.Format = "x" },
	} {
		current := stored
		change(&current)
		if got := planner.Compare(stored, current); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := planner.Compare(graph.Fingerprints{Plan: "p"}, stored); got != planner.WhyNew {
		t.Errorf("an unfinished document is %s", got)
	}
}

func TestEstimate(t *testing.T) {
	limits := planner.Limits{Extractors: []string{"gliner", "llm"}}
	p := newPlanner(t, []planner.Rule{{Match: "*.md", Extractors: []string{"llm"}}}, limits).WithRates(planner.Rates{InputPerMillion: 2, OutputPerMillion: 8})
	text := planner.File{Path: "a.txt", Format: corpus.Text, Size: 100_000}
	local := p.Estimate(text, p.Assign(text))
	if local.Tokens != 25_700 || local.Chunks < 100 || local.Chunks > 130 || local.ModelCalls != 0 || local.Money != 0 || local.Seconds < 12 || local.Seconds > 20 {
		t.Errorf("local: %+v", local)
	}
	file := markdown("a.md")
	remote := p.Estimate(file, p.Assign(file))
	if remote.ModelCalls != 2*remote.Chunks || remote.Chunks == 0 {
		t.Errorf("remote: %+v", remote)
	}
	if want := 2 * (2e-6*float64(remote.Chunks*700+remote.Tokens) + 8e-6*float64(remote.Chunks*300)); math.Abs(remote.Money-want) > 1e-4 {
		t.Errorf("money %f, want about %f", remote.Money, want)
	}
	if empty := p.Estimate(planner.File{Path: "e.md"}, p.Assign(file)); empty != (planner.Estimate{}) {
		t.Errorf("empty file: %+v", empty)
	}
}

func TestEstimatedChunksAreNearTheReal(t *testing.T) {
	text := strings.Repeat("The committee met in Geneva on 12 March and heard a report about the state of the work. ", 800)
	p := newPlanner(t, nil, planner.Limits{})
	for _, chunker := range []string{"fixed", "sentence"} {
		for _, tokens := range []int{64, 256, 1024} {
			rule := planner.Rule{Match: "*", Chunker: chunker, Parameters: map[string]int{"chunk_tokens": tokens}}
			p = newPlanner(t, []planner.Rule{rule}, planner.Limits{})
			file := planner.File{Path: "a.txt", Format: corpus.Text, Size: int64(len(text))}
			a := p.Assign(file)
			c, err := chunkers.New(a.Chunker, a.Params)
			if err != nil {
				t.Fatal(err)
			}
			chunks, err := c.Chunk(&corpus.Document{Text: text})
			if err != nil {
				t.Fatal(err)
			}
			if ratio := float64(p.Estimate(file, a).Chunks) / float64(len(chunks)); ratio < 0.7 || ratio > 1.5 {
				t.Errorf("%s: estimated %.2f of the real %d chunks", a, ratio, len(chunks))
			}
		}
	}
}

func TestAFileOverMaxChunksIsALimitError(t *testing.T) {
	p := newPlanner(t, nil, planner.Limits{MaxChunks: 10})
	a := p.Assign(markdown("a.md"))
	if err := p.CheckChunks(a, 10); err != nil {
		t.Errorf("10 of 10: %v", err)
	}
	var limit *planner.LimitError
	if err := p.CheckChunks(a, 11); !errors.As(err, &limit) || limit.Limit != "max_chunks" || !strings.Contains(err.Error(), "plan a.md: 11 chunks are over max_chunks, 10; raise") {
		t.Errorf("11 of 10: %v", err)
	}
}

func TestTotalsCountOnlyTheWorkThatWouldBeDone(t *testing.T) {
	p := newPlanner(t, nil, planner.Limits{})
	current := graph.Fingerprints{Content: "c", Ontology: "o", Model: "m", Format: "f"}
	done := current
	done.Plan = p.Assign(markdown("a.md")).Fingerprint
	var totals planner.Totals
	totals.Add(p.Plan(markdown("a.md"), done, current))
	fresh := p.Plan(markdown("b.md"), graph.Fingerprints{}, current)
	totals.Add(fresh)
	if totals.Files != 2 || !maps.Equal(totals.Why, map[planner.Why]int{planner.WhyNone: 1, planner.WhyNew: 1}) || totals.Work != fresh.Estimate {
		t.Errorf("%+v", totals)
	}
}
