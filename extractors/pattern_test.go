package extractors

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"graphmill/chunkers"
	"graphmill/pipeline/graph"
)

func newPattern(t testing.TB, config PatternConfig) *Pattern {
	t.Helper()
	p, err := NewPattern(config)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func extractText(t testing.TB, e Extractor, o *graph.Ontology, text string) graph.Extraction {
	t.Helper()
	const offset = 11
	chunk := chunkers.Chunk{Text: text, Range: graph.Range{Start: offset, End: offset + len(text)}}
	out, err := e.Extract(context.Background(), []chunkers.Chunk{chunk}, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range out[0].Mentions {
		if text[m.Range.Start-offset:m.Range.End-offset] != m.Text {
			t.Errorf("%q is not the text at %v", m.Text, m.Range)
		}
	}
	return out[0]
}

func typed(e graph.Extraction) []string {
	out := []string{}
	for _, m := range e.Mentions {
		out = append(out, m.Text+"/"+m.Type)
	}
	return out
}

func TestBuiltinPatternsFindWhatHasAForm(t *testing.T) {
	all, _ := BuiltinPatterns()
	p := newPattern(t, PatternConfig{Builtin: all})
	e := extractText(t, p, p.Extend(&graph.Ontology{}), "CVE-2023-1234 and RFC 2119, RFC793; ISO/IEC 27001:2013, IEEE 802.11 (2024-05-31, not 2024-13-01). "+
		"ABC-123 is not UTF-8 nor SHA-256. Mail a.b+c@example.co.uk or see https://example.org/x?y=1. Version v1.2.3-rc.1.")
	want := []string{
		"CVE-2023-1234/Vulnerability", "RFC 2119/Standard", "RFC793/Standard", "ISO/IEC 27001:2013/Standard", "IEEE 802.11/Standard",
		"2024-05-31/Date", "ABC-123/Ticket", "a.b+c@example.co.uk/Email address", "https://example.org/x?y=1/URL", "v1.2.3-rc.1/Version",
	}
	if got := typed(e); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestBuiltinPatternsReadWhatTypesettingMakesOfAName(t *testing.T) {
	p := newPattern(t, PatternConfig{Builtin: []string{"cve", "rfc", "standard", "iso_date"}})
	e := extractText(t, p, p.Extend(&graph.Ontology{}), "As RFC\n2119 and RFC\u00a0793 say, with ISO/IEC\n27001:2013, DIN\u202fEN ISO\u00a09001, CVE\u20112023\u20111234 of 2024\u201105\u201131.\n\nRFC\n\n5 is none.")
	var keys []string
	for _, m := range e.Mentions {
		keys = append(keys, graph.NameKey(m.Text))
	}
	if want := []string{"rfc 2119", "rfc 793", "iso/iec 27001:2013", "iso 9001", "cve-2023-1234", "2024-05-31"}; !slices.Equal(keys, want) {
		t.Errorf("got %q, want %q", keys, want)
	}
}

// A pattern that takes a wrapped line for a space takes an empty line, the next
// item and the next row for one, too.
func TestMatchesDoNotReachOverParagraphsItemsAndRows(t *testing.T) {
	p := newPattern(t, PatternConfig{Builtin: []string{}, Rules: []PatternRule{{Name: "n", Pattern: `\p{Lu}\pL+(?:[\s|-]+\p{Lu}\pL+)*`, Type: "T", Neighbours: "NEAR"}}})
	e := extractText(t, p, p.Extend(&graph.Ontology{}), "Crew List\n\nAnn\nLee\n \t\nBo Ek\n- Cy Doe\n- Di Fay\nMade By | Part No\nAcme | Bolt")
	want := []string{"Crew List/T", "Ann\nLee/T", "Bo Ek/T", "Cy Doe/T", "Di Fay/T", "Made By | Part No/T", "Acme | Bolt/T"}
	if got := typed(e); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(e.Relations) != len(want)-1 {
		t.Errorf("%d names have %d neighbours", len(want), len(e.Relations))
	}
}

func TestTheLastWordIsReadAfterAnyKindOfSpace(t *testing.T) {
	p := newPattern(t, PatternConfig{Builtin: []string{}, Rules: []PatternRule{{Name: "n", Pattern: `\p{Lu}\pL+(?:[\s\x{a0}\x{3000}-]\p{Lu}\pL+)+`, Type: "T", Types: []TypeRule{{Type: "O", LastWord: []string{"Inc"}}}}}})
	e := extractText(t, p, p.Extend(&graph.Ontology{}), "Acme Inc, Acme\u00a0Inc, Acme\u3000Inc, Acme\nInc, Acme-Inc, Acme Zinc")
	if got := strings.Join(typed(e), ", "); got != "Acme Inc/O, Acme\u00a0Inc/O, Acme\u3000Inc/O, Acme\nInc/O, Acme-Inc/O, Acme Zinc/T" {
		t.Errorf("got %q", got)
	}
}

func TestDefaultPatternsLookOnlyForDeclaredTypes(t *testing.T) {
	p := newPattern(t, PatternConfig{})
	o := &graph.Ontology{Entities: []graph.EntityType{{Label: "Standard"}}}
	if extended := p.Extend(o); len(extended.Entities) != 1 {
		t.Errorf("patterns that nobody chose declare %v", extended.Entities)
	}
	e := extractText(t, p, o, "RFC 2119, CVE-2023-1234")
	if got := typed(e); !slices.Equal(got, []string{"RFC 2119/Standard"}) || len(e.Pruned.EntityTypes) != 0 {
		t.Errorf("got %q, pruned %v", got, e.Pruned)
	}
	if got := typed(extractText(t, p, defaultOntology(t), "RFC 2119, CVE-2023-1234 of 2024-01-02")); len(got) != 3 {
		t.Errorf("the built-in ontology gives %q", got)
	}
}

func TestARulesUndeclaredTypeIsPrunedUnlessExtended(t *testing.T) {
	p := newPattern(t, PatternConfig{Builtin: []string{}, Rules: []PatternRule{{Name: "part", Pattern: `part (\d+)`, Group: 1, Flags: "i", Type: "Part", Neighbours: "NEAR"}}})
	e := extractText(t, p, &graph.Ontology{}, "Part 17, PART 18")
	if len(e.Mentions) != 0 || e.Pruned.EntityTypes["Part"] != 2 || e.Pruned.RelationTypes["NEAR"] != 1 {
		t.Errorf("mentions %v, pruned %+v", e.Mentions, e.Pruned)
	}
	extended := p.Extend(&graph.Ontology{})
	e = extractText(t, p, extended, "Part 17, PART 18")
	if got := typed(e); !slices.Equal(got, []string{"17/Part", "18/Part"}) || strings.Join(related(e), ";") != "17 NEAR 18" {
		t.Errorf("got %q and %q", got, related(e))
	}
	if part, _ := extended.Entity("Part"); part.Prompt != graph.NoPrompt {
		t.Error("a model is asked for a type that has a form")
	}
}

func TestCapsCountNamesAndKeepTheirMentions(t *testing.T) {
	p := newPattern(t, PatternConfig{Builtin: []string{}, Rules: []PatternRule{{Name: "w", Pattern: `[A-Z]\w+`, Type: "T", Distinct: "lower", MaxDistinct: 2, StopWords: []string{"The"}}}})
	e := extractText(t, p, p.Extend(&graph.Ontology{}), "The Ant Bee ANT Cat Bee Dog")
	if got := typed(e); !slices.Equal(got, []string{"Ant/T", "Bee/T", "ANT/T", "Bee/T"}) || e.Pruned.Capped != 2 {
		t.Errorf("got %q, capped %d", got, e.Pruned.Capped)
	}
}

func TestPatternFaultsNameTheirField(t *testing.T) {
	good := PatternRule{Name: "x", Pattern: "a+", Type: "T"}
	for want, change := range map[string]func(*PatternRule){
		`pattern "x", field pattern: error parsing`:         func(r *PatternRule) { r.Pattern = "(" },
		`pattern "x", field pattern: is empty`:              func(r *PatternRule) { r.Pattern = "" },
		`field pattern: matches the empty text`:             func(r *PatternRule) { r.Pattern = "a*" },
		`field type: is missing`:                            func(r *PatternRule) { r.Type = "" },
		`field group: 1; the pattern has the groups 0 to 0`: func(r *PatternRule) { r.Group = 1 },
		`field flags: "x"`:                                  func(r *PatternRule) { r.Flags = "x" },
		`field distinct: "fold"; allowed are exact`:         func(r *PatternRule) { r.Distinct = "fold" },
		`field max_bytes: 2 with min_bytes 3`:               func(r *PatternRule) { r.MinBytes, r.MaxBytes = 3, 2 },
		`field max_distinct: -1`:                            func(r *PatternRule) { r.MaxDistinct = -1 },
		`field exclude: error parsing`:                      func(r *PatternRule) { r.Exclude = "[" },
		`field stop_words_file: open /nowhere`:              func(r *PatternRule) { r.StopWordsFile = "/nowhere" },
		`field types[0]: no condition`:                      func(r *PatternRule) { r.Types = []TypeRule{{Type: "U"}} },
		`field types[0]: type is missing`:                   func(r *PatternRule) { r.Types = []TypeRule{{Digit: true}} },
		`rules[0]: field name is missing`:                   func(r *PatternRule) { r.Name = "" },
	} {
		rule := good
		change(&rule)
		if _, err := NewPattern(PatternConfig{Rules: []PatternRule{rule}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if _, err := NewPattern(PatternConfig{Builtin: []string{"cvss"}}); err == nil || !strings.Contains(err.Error(), "choose from cve") {
		t.Errorf("error %v", err)
	}
	if _, err := ParsePatternConfig([]byte("rules: [{name: x, regex: a}]")); err == nil || !strings.Contains(err.Error(), "regex") || !strings.Contains(err.Error(), "stop_words_file") {
		t.Errorf("error %v", err)
	}
	var tags []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[PatternRule]()) {
		tags = append(tags, f.Tag.Get("mapstructure"))
	}
	slices.Sort(tags)
	if keys := slices.Sorted(slices.Values(ruleKeys)); !slices.Equal(tags, keys) {
		t.Errorf("keys %q, tags %q", keys, tags)
	}
}

func TestStopWordsFileCountsInTheFingerprint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stop.txt")
	rule := PatternRule{Name: "x", Pattern: `\w+`, Type: "T", StopWordsFile: path}
	write := func(text string) *Pattern {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return newPattern(t, PatternConfig{Builtin: []string{}, Rules: []PatternRule{rule}})
	}
	a, b := write("Ant # no insects\n"), write("bee\n")
	if a.Fingerprint() == b.Fingerprint() {
		t.Error("another file, the same fingerprint")
	}
	if got := typed(extractText(t, a, a.Extend(&graph.Ontology{}), "ant bee")); !slices.Equal(got, []string{"bee/T"}) {
		t.Errorf("got %q", got)
	}
}

func benchRule(t testing.TB) *Pattern {
	t.Helper()
	text, err := os.ReadFile("testdata/bench-rule.yaml")
	if err != nil {
		t.Fatal(err)
	}
	config, err := ParsePatternConfig(text)
	if err != nil {
		t.Fatal(err)
	}
	return newPattern(t, config)
}

// ruleByHand is the rule of testdata/bench-rule.yaml written out, to hold the
// configuration to it.
func ruleByHand(text string) (names [][2]string) {
	stop := wordSet(strings.Fields(englishStopWords))
	organization := regexp.MustCompile(`(?:^|[ -])(?:Inc|Corp|Corporation|Foundation|University|Institute|Ltd|LLC|GmbH|Project|Team|Consortium|Company|Association|Society|Committee|Group)$`)
	person := regexp.MustCompile(`^[A-Z][a-z]+[ -][A-Z][a-z]+$`)
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`[A-Z][A-Za-z0-9]*(?:[ -][A-Z][A-Za-z0-9]*){0,3}`).FindAllString(text, -1) {
		lower := strings.ToLower(m)
		if len(m) < 3 || len(m) > 80 || !strings.ContainsAny(m, " -") && stop[lower] || seen[lower] {
			continue
		}
		if seen[lower] = true; len(names) == 30 {
			break
		}
		kind := "Concept"
		switch {
		case organization.MatchString(m):
			kind = "Organization"
		case strings.ContainsAny(m, "0123456789") || strings.ToUpper(m) == m:
			kind = "Technology"
		case person.MatchString(m):
			kind = "Person"
		}
		names = append(names, [2]string{m, kind})
	}
	return names
}

func TestTheBenchRuleIsExpressedExactly(t *testing.T) {
	p := benchRule(t)
	o := p.Extend(&graph.Ontology{})
	random := rand.New(rand.NewPCG(3, 4))
	pieces := []string{"The", "Acme", "ACME", "acme", "Jane", "Roe", "Corp", "Group", "HTTP", "Http2", "X", "Ab", "and", "Über", "Free", "Software", "Foundation", "A1", "-", ",", ".", "\n", "Team"}
	for range 300 {
		var text strings.Builder
		for range random.IntN(200) {
			text.WriteString(pieces[random.IntN(len(pieces))])
			text.WriteString([]string{" ", " ", "-", "", "  "}[random.IntN(5)])
		}
		want := ruleByHand(text.String())
		e := extractText(t, p, o, text.String())
		var got [][2]string
		seen := map[string]bool{}
		for _, m := range e.Mentions {
			if lower := strings.ToLower(m.Text); !seen[lower] {
				seen[lower] = true
				got = append(got, [2]string{m.Text, m.Type})
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q\n got %q\nwant %q", text.String(), got, want)
		}
		if len(want) > 1 && len(e.Relations) != len(want)-1 {
			t.Fatalf("%d relations of %d names", len(e.Relations), len(want))
		}
		for i, r := range e.Relations {
			if e.Mentions[r.Source].Text != want[i][0] || e.Mentions[r.Target].Text != want[i+1][0] || r.Type != "CO_OCCURS" {
				t.Fatalf("relation %d is %s to %s", i, e.Mentions[r.Source].Text, e.Mentions[r.Target].Text)
			}
		}
	}
}

func BenchmarkPattern(b *testing.B) {
	p := benchRule(b)
	o := p.Extend(&graph.Ontology{})
	text := strings.Repeat("The Free Software Foundation of Jane Roe released Http2 for the world in Boston. ", 20)
	chunk := []chunkers.Chunk{{Text: text, Range: graph.Range{End: len(text)}}}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := p.Extract(context.Background(), chunk, o); err != nil {
			b.Fatal(err)
		}
	}
}
