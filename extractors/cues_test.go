package extractors

import (
	"slices"
	"strings"
	"testing"

	"graphmill/chunkers"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/ontology"
)

var markedTypes = map[string]string{
	"P": "Person", "O": "Organization", "L": "Location", "D": "Date", "E": "Event", "T": "Technology",
	"W": "Work", "R": "Role", "G": "Product", "U": graph.UnknownType,
}

// marked reads a text in which mentions stand as "[Jane Roe]P".
func marked(t testing.TB, text string) (chunkers.Chunk, graph.Extraction) {
	t.Helper()
	var plain strings.Builder
	var e graph.Extraction
	for {
		open := strings.IndexByte(text, '[')
		if open < 0 {
			break
		}
		end := strings.IndexByte(text, ']')
		plain.WriteString(text[:open])
		start := plain.Len()
		plain.WriteString(text[open+1 : end])
		kind := markedTypes[text[end+1:end+2]]
		if kind == "" {
			t.Fatalf("no type %q", text[end+1:end+2])
		}
		e.Mentions = append(e.Mentions, graph.Mention{
			Range: graph.Range{Start: start, End: plain.Len()}, Text: text[open+1 : end], Type: kind, Score: 1, Method: "test",
		})
		text = text[end+2:]
	}
	plain.WriteString(text)
	return chunkers.Chunk{Text: plain.String(), Range: graph.Range{End: plain.Len()}}, e
}

func defaultOntology(t testing.TB) *graph.Ontology {
	t.Helper()
	o, err := ontology.Default()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func related(e graph.Extraction) []string {
	out := []string{}
	for _, r := range e.Relations {
		out = append(out, e.Mentions[r.Source].Text+" "+r.Type+" "+e.Mentions[r.Target].Text)
	}
	slices.Sort(out)
	return out
}

func TestCuesReadWhatASentenceStates(t *testing.T) {
	cases := []struct {
		behaviour, text string
		want            string // relations joined by "; "
	}{
		{"active voice", "[Jane Roe]P founded [Acme]O.", "Jane Roe FOUNDED Acme"},
		{"passive voice", "[Acme]O was founded by [Jane Roe]P.", "Jane Roe FOUNDED Acme"},
		{"an interrupted passive", "[Acme]O was founded in [1998]D by [Jane Roe]P.", "Acme FOUNDED_ON 1998; Jane Roe FOUNDED Acme"},
		{"another tense of be", "[Beta]O has been acquired by [Acme]O.", "Acme ACQUIRED Beta"},
		{"another ending", "[Jane Roe]P worked at [Acme]O.", "Jane Roe WORKS_AT Acme"},
		{"the base form of a plural", "[Jane Roe]P and [Max Ode]P work at [Acme]O.", "Jane Roe WORKS_AT Acme; Max Ode WORKS_AT Acme"},
		{"several subjects", "[Ann]P, [Ben]P and [Cy Low]P founded [Acme]O.", "Ann FOUNDED Acme; Ben FOUNDED Acme; Cy Low FOUNDED Acme"},
		{"several objects", "[Jane Roe]P founded [Acme]O, [Beta]O and [Gamma]O.", "Jane Roe FOUNDED Acme; Jane Roe FOUNDED Beta; Jane Roe FOUNDED Gamma"},
		{"apposition", "[Jane Roe]P, CEO of [Acme]O, resigned.", "Jane Roe LEADS Acme"},
		{"apposition with an article", "[Jane Roe]P, the longtime chief executive of [Acme]O, resigned.", "Jane Roe LEADS Acme"},
		{"the copula", "[Jane Roe]P is the current CEO of [Acme]O.", "Jane Roe LEADS Acme"},
		{"one of several", "[Jane Roe]P was one of the founders of [Acme]O.", "Jane Roe FOUNDED Acme"},
		{"a possessive", "[Acme]O's CEO [Jane Roe]P resigned.", "Jane Roe LEADS Acme"},
		{"a possessive with commas", "[Acme]O’s new CEO, [Jane Roe]P, resigned.", "Jane Roe LEADS Acme"},
		{"a compound", "[Acme]O CEO [Jane Roe]P resigned.", "Jane Roe LEADS Acme"},
		{"a relative clause", "[Jane Roe]P, who founded [Acme]O, joined [Beta]O.", "Jane Roe FOUNDED Acme; Jane Roe WORKS_AT Beta"},
		{"a parenthesis", "[Jane Roe]P (born 1950) founded [Acme]O.", "Jane Roe FOUNDED Acme"},
		{"an apposition to step over", "[Jane Roe]P, a chemist from [Oslo]L, founded [Acme]O.", "Jane Roe FOUNDED Acme"},
		{"a shared subject", "[Jane Roe]P studied physics at [MIT]O and founded [Acme]O in [1990]D.", "Acme FOUNDED_ON 1990; Jane Roe FOUNDED Acme; Jane Roe STUDIED_AT MIT"},
		{"a shared subject of three", "[Jane Roe]P studied at [MIT]O, worked at [Beta]O and founded [Acme]O.", "Jane Roe FOUNDED Acme; Jane Roe STUDIED_AT MIT; Jane Roe WORKS_AT Beta"},
		{"a reduced passive", "[Acme]O, founded by [Jane Roe]P, is large.", "Jane Roe FOUNDED Acme"},
		{"a described subject", "[Acme]O is a software company based in [Oslo]L.", "Acme LOCATED_IN Oslo"},
		{"a described apposition", "[Acme]O, a company that acquired [Beta]O, grew.", "Acme ACQUIRED Beta"},
		{"a fronted participle", "Founded by [Jane Roe]P, [Acme]O grew.", "Jane Roe FOUNDED Acme"},
		{"a fronted birthplace", "Born in [Ulm]L, [Jane Roe]P moved to [Bern]L.", "Jane Roe BORN_IN Ulm; Jane Roe LIVED_IN Bern"},
		{"an inverted copula", "The CEO of [Acme]O is [Jane Roe]P.", "Jane Roe LEADS Acme"},
		{"a fronted title", "The CEO of [Acme]O, [Jane Roe]P, resigned.", "Jane Roe LEADS Acme"},
		{"a described object", "[Acme]O acquired the French startup [Beta]O last year.", "Acme ACQUIRED Beta"},
		{"an object's place before it", "[Acme]O acquired [Paris]L startup [Beta]O.", "Acme ACQUIRED Beta"},
		{"a birth with its date", "[Jane Roe]P was born on [14 March 1879]D in [Ulm]L.", "Jane Roe BORN_IN Ulm; Jane Roe BORN_ON 14 March 1879"},
		{"an event's time and place", "[WorldCon]E took place in [1998]D in [Oslo]L.", "WorldCon HAPPENED_ON 1998; WorldCon LOCATED_IN Oslo"},
		{"a subsidiary", "[Beta]O is a wholly owned subsidiary of [Acme]O.", "Acme OWNS Beta"},
		{"adverbs", "[Jane Roe]P later also joined [Acme]O.", "Jane Roe WORKS_AT Acme"},
		{"a line break inside", "[Jane Roe]P\nfounded [Acme]O.", "Jane Roe FOUNDED Acme"},
		{"markup", "**[Jane Roe]P** founded `[Acme]O`.", "Jane Roe FOUNDED Acme"},
		{"two clauses", "[Jane Roe]P founded [Acme]O, and [Max Ode]P joined [Beta]O.", "Jane Roe FOUNDED Acme; Max Ode WORKS_AT Beta"},
		{"a role", "In [1998]D [Jane Roe]P was appointed [president]R.", "Jane Roe HOLDS_ROLE president"},
		{"a title that is a role too", "[Jane Roe]P, the [founder]R of [Acme]O, resigned.", "Jane Roe FOUNDED Acme; Jane Roe HOLDS_ROLE founder"},
		{"a capitalised title", "[Acme]O [CEO]R [Jane Roe]P resigned.", "Jane Roe HOLDS_ROLE CEO; Jane Roe LEADS Acme"},
		{"an office taken", "[Jane Roe]P became CEO of [Acme]O.", "Jane Roe LEADS Acme"},
		{"an office given", "[Jane Roe]P was appointed chief executive of [Acme]O.", "Jane Roe LEADS Acme"},
		{"an office served in", "[Jane Roe]P served as president of [Acme]O.", "Jane Roe LEADS Acme"},
		{"objects with their years", "[Acme]O acquired [Beta]O in [2016]D and [Gamma]O in 2018.", "Acme ACQUIRED Beta; Acme ACQUIRED Gamma"},
		{"a birthplace with its region", "Born in [Ulm]L, [Germany]L, [Jane Roe]P resigned.", "Jane Roe BORN_IN Ulm; Ulm LOCATED_IN Germany"},
		{"a work's author", "[Middlemarch]W was written by [George Eliot]P.", "George Eliot CREATED Middlemarch"},
		{"a birth at a place, then its date", "[Jane Roe]P was born in [Ulm]L, in [Germany]L, on [14 March 1879]D.", "Jane Roe BORN_IN Germany; Jane Roe BORN_IN Ulm; Jane Roe BORN_ON 14 March 1879"},
		{"a described relative clause of an object", "The lab is run by [Jane Roe]P, a chemist who studied at [MIT]O.", "Jane Roe STUDIED_AT MIT"},
		{"a long description", "[Acme]O, a maker of heavy anvils based in [Oslo]L, grew.", "Acme LOCATED_IN Oslo"},
		{"a weekday before the verb", "[Acme]O on Monday acquired [Beta]O.", "Acme ACQUIRED Beta"},
		{"a year before the verb", "[Acme]O in [2019]D acquired [Beta]O.", "Acme ACQUIRED Beta"},
		{"a pronoun for the one person before", "[Jane Roe]P resigned. In [1998]D, she joined [Acme]O.", "Jane Roe WORKS_AT Acme"},
		{"a pronoun in its own sentence", "Although [Jane Roe]P was born in [Ulm]L, she grew up in [Bern]L.", "Jane Roe BORN_IN Ulm; Jane Roe LIVED_IN Bern"},
		{"pronouns one after another", "[Jane Roe]P sings. She is tall. She joined [Acme]O.", "Jane Roe WORKS_AT Acme"},
		{"a possessive pronoun", "[Jane Roe]P sings. Her husband, [Max Ode]P, paints.", "Max Ode FAMILY_OF Jane Roe"},
		{"a person of a place", "[Jane Roe]P of [Oslo]L founded [Acme]O.", "Jane Roe FOUNDED Acme"},
	}
	for _, c := range cases {
		t.Run(c.behaviour, func(t *testing.T) {
			chunk, e := marked(t, c.text)
			NewCues(nil).Relate(chunk, defaultOntology(t), &e)
			if got := strings.Join(related(e), "; "); got != c.want {
				t.Errorf("%s\n got %q\nwant %q", chunk.Text, got, c.want)
			}
			for _, r := range e.Relations {
				if r.Score < leastScore || r.Score > 1 || r.Method != cueMethod {
					t.Errorf("score %v, method %q", r.Score, r.Method)
				}
				if strings.TrimSpace(chunk.Text[r.Evidence.Start:r.Evidence.End]) != strings.TrimSpace(chunk.Text) {
					t.Errorf("evidence %q is not the sentence", chunk.Text[r.Evidence.Start:r.Evidence.End])
				}
			}
		})
	}
}

func TestCuesStateNothingWhere(t *testing.T) {
	for behaviour, text := range map[string]string{
		"negated":                        "[Jane Roe]P did not join [Acme]O.",
		"negated by never":               "[Jane Roe]P never worked at [Acme]O.",
		"negated by a short form":        "[Jane Roe]P hasn't joined [Acme]O.",
		"no longer so":                   "[Jane Roe]P no longer works at [Acme]O.",
		"neither of two":                 "Neither [Jane Roe]P nor [Max Ode]P founded [Acme]O.",
		"an active perfect":              "[Acme]O and [Beta]O have signed papers to hunt in [Oslo]L.",
		"an object of its own":           "[Jane Roe]P moved her business to [Oslo]L.",
		"a question":                     "[Jane Roe]P founded [Acme]O?",
		"a condition":                    "If [Jane Roe]P joined [Acme]O, it would grow.",
		"a modal":                        "[Acme]O could have acquired [Beta]O.",
		"an intention":                   "[Acme]O plans to acquire [Beta]O.",
		"an office given to another":     "[Jane Roe]P appointed CEO of [Acme]O.",
		"a denial":                       "[Ann Lee]P denied that [Jane Roe]P founded [Acme]O.",
		"a passive around an active cue": "[Acme]O was founded [Beta]O.",
		"another verb between":           "[Jane Roe]P praised the people who run the firm that acquired [Acme]O.",
		"another clause between":         "[Jane Roe]P resigned, but her rival founded [Acme]O.",
		"a possessive subject":           "[Jane Roe]P's brother founded [Acme]O.",
		"a noun after the subject":       "[Acme]O engineers founded [Beta]O.",
		"a possessive object":            "[Jane Roe]P joined [Acme]O's board.",
		"a noun after the object":        "[Acme]O acquired [Beta]O shares.",
		"an object of a preposition":     "[Jane Roe]P joined the board of [Acme]O.",
		"a subject of a preposition":     "The widow of [Max Ode]P founded [Acme]O.",
		"a pronoun for one of two":       "[Jane Roe]P met [Max Ode]P. She founded [Acme]O.",
		"a pronoun of another paragraph": "[Jane Roe]P resigned.\n\nShe founded [Acme]O.",
		"a pronoun for no person":        "[Beta]O resigned. He founded [Acme]O.",
		"a pronoun after a question":     "Did [Jane Roe]P resign? She founded [Acme]O.",
		"a denied pronoun":               "[Jane Roe]P resigned. She never founded [Acme]O.",
		"a possessive pronoun's thing":   "[Jane Roe]P resigned. Her brother founded [Acme]O.",
		"a word that only holds the cue": "[Jane Roe]P confounded [Acme]O.",
		"one name twice":                 "[Acme]O acquired [ACME]O.",
		"a met person's verb":            "After meeting [Max Ode]P, founded [Acme]O.",
		"a heading before":               "# [Jane Roe]P\n\nfounded [Acme]O",
	} {
		t.Run(behaviour, func(t *testing.T) {
			chunk, e := marked(t, text)
			NewCues(nil).Relate(chunk, defaultOntology(t), &e)
			if got := related(e); len(got) > 0 {
				t.Errorf("%s\n states %q", chunk.Text, got)
			}
		})
	}
}

func TestOnlyTheSubjectOfItsOwnVerbIsTaken(t *testing.T) {
	chunk, e := marked(t, "[Ann Lee]P met [Max Ode]P and [Jane Roe]P founded [Acme]O.")
	NewCues(nil).Relate(chunk, defaultOntology(t), &e)
	if got := strings.Join(related(e), "; "); got != "Jane Roe FOUNDED Acme" {
		t.Error(got)
	}
}

func TestAMentionOverTheEndOfASentenceIsNoPartOfIt(t *testing.T) {
	chunk, e := marked(t, "[Jane Roe]P founded [Acme]O. [Max Ode]P founded [Beta. It]O grew.")
	NewCues(nil).Relate(chunk, defaultOntology(t), &e)
	if got := strings.Join(related(e), "; "); got != "Jane Roe FOUNDED Acme" {
		t.Error(got)
	}
}

func TestCuesCountWhatTheOntologyDoesNotDeclare(t *testing.T) {
	chunk, e := marked(t, "[Oslo]L founded [Acme]O. [Jane Roe]P founded [the thing]U.")
	NewCues(nil).Relate(chunk, defaultOntology(t), &e)
	if len(e.Relations) != 0 {
		t.Errorf("relations %v", related(e))
	}
	key := "Location -FOUNDED-> Organization"
	if e.Pruned.Patterns[key] != 1 || e.Pruned.PatternExamples[key] != "(Oslo, FOUNDED, Acme)" {
		t.Errorf("patterns %v, examples %v", e.Pruned.Patterns, e.Pruned.PatternExamples)
	}
	if e.Pruned.UnknownEndpoints["FOUNDED"] != 1 {
		t.Errorf("unknown endpoints %v", e.Pruned.UnknownEndpoints)
	}
}

func TestARelationWithoutPatternsJoinsAnyDeclaredTypes(t *testing.T) {
	o := &graph.Ontology{
		Entities:  []graph.EntityType{{Label: "Person"}, {Label: "Organization"}},
		Relations: []graph.RelationType{{Label: "SUES", Cues: []string{"sued", "took … to"}}},
	}
	chunk, e := marked(t, "[Jane Roe]P sued [Acme]O. [Acme]O took [Jane Roe]P to [Court]O. [Acme]O sued [Oslo]L.")
	NewCues(nil).Relate(chunk, o, &e)
	if got := strings.Join(related(e), "; "); got != "Acme SUES Court; Jane Roe SUES Acme" {
		t.Error(got)
	}
}

func TestEvidenceOfAVeryLongSentenceIsBounded(t *testing.T) {
	filler := strings.Repeat("so they walked on and on ", 60)
	chunk, e := marked(t, filler+"; [Jane Roe]P founded [Acme]O; "+filler+".")
	NewCues(nil).Relate(chunk, defaultOntology(t), &e)
	for _, r := range e.Relations {
		if r.Evidence.Len() > maxEvidenceBytes+40 || !strings.Contains(chunk.Text[r.Evidence.Start:r.Evidence.End], "Jane Roe founded Acme") {
			t.Errorf("%d bytes of evidence: %q", r.Evidence.Len(), chunk.Text[r.Evidence.Start:r.Evidence.End])
		}
	}
}

func FuzzCues(f *testing.F) {
	f.Add("Jane Roe, who founded Acme in 1998, is the CEO of Beta's unit.", uint16(0), uint16(8), uint16(22), uint16(26))
	f.Add("Founded by A, B (C) and D — E’s CEO F", uint16(11), uint16(12), uint16(14), uint16(15))
	f.Add("Jane resigned. In 1998 she joined Acme, Oslo.", uint16(0), uint16(4), uint16(33), uint16(37))
	f.Fuzz(func(t *testing.T, text string, a, b, c, d uint16) {
		if !strings.Contains(text, " ") || strings.ToValidUTF8(text, "") != text {
			return
		}
		var e graph.Extraction
		for i, at := range []graph.Range{{Start: int(a), End: int(b)}, {Start: int(c), End: int(d)}} {
			if at.Start < at.End && at.End <= len(text) && strings.ToValidUTF8(text[at.Start:at.End], "") == text[at.Start:at.End] {
				e.Mentions = append(e.Mentions, graph.Mention{Range: graph.Range{Start: at.Start + 7, End: at.End + 7}, Text: text[at.Start:at.End], Type: []string{"Person", "Organization"}[i], Score: 0.5})
			}
		}
		chunk := chunkers.Chunk{Text: text, Range: graph.Range{Start: 7, End: 7 + len(text)}}
		NewCues(nil).Relate(chunk, &graph.Ontology{
			Entities:  []graph.EntityType{{Label: "Organization"}, {Label: "Person"}},
			Relations: []graph.RelationType{{Label: "R", Cues: []string{"is CEO of", "founded", "joined", "took … to", "_ , _", "in * ,? _ is|was of? _", "_ _"}, PassiveCues: []string{"was founded by"}}},
		}, &e)
		for _, r := range e.Relations {
			if !chunk.Range.Contains(r.Evidence) || !r.Evidence.Overlaps(e.Mentions[r.Source].Range) || !r.Evidence.Overlaps(e.Mentions[r.Target].Range) {
				t.Errorf("evidence %v of %v", r.Evidence, e.Mentions)
			}
		}
	})
}
