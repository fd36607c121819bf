package extractors

import (
	"strings"
	"testing"

	"graphmill/pipeline/graph"
)

// phrased writes phrases as "Ann <cue> Ben (Name)", the passive ones with a <-.
func phrased(e graph.Extraction, phrases []Phrase) string {
	var out []string
	for _, p := range phrases {
		arrow := " -> "
		if p.Passive {
			arrow = " <- "
		}
		out = append(out, e.Mentions[p.First].Text+arrow+e.Mentions[p.Second].Text+" by "+p.Cue+" ("+p.Name+")")
	}
	return strings.Join(out, "; ")
}

func TestPhrasesReadWhatStandsBetweenTwoNames(t *testing.T) {
	for _, c := range []struct{ behaviour, text, want string }{
		{"a verb", "[Ann]P succeeded [Ben]P.", "Ann -> Ben by succeeded (succeeded)"},
		{"a verb with a preposition", "[Ann]P studied under [Ben]P.", "Ann -> Ben by studied under (studied under)"},
		{"the present", "[Acme]O supports [Python]T.", "Acme -> Python by supports (supports)"},
		{"the passive", "[Ann]P was succeeded by [Ben]P.", "Ann <- Ben by was succeeded by (succeeded)"},
		{"a passive with another preposition", "[Ann]P was defeated at [Ulm]L.", "Ann -> Ulm by was defeated at (defeated at)"},
		{"a noun", "[Ann]P was a pupil of [Ben]P.", "Ann -> Ben by is pupil of (pupil of)"},
		{"a noun with what describes it", "[Ann]P is a British pupil of [Ben]P.", "Ann -> Ben by is pupil of (pupil of)"},
		{"a relative clause", "[Ann]P, who succeeded [Ben]P, left.", "Ann -> Ben by succeeded (succeeded)"},
		{"adverbs and auxiliaries aside", "[Ann]P had later visited [Ben]P.", "Ann -> Ben by visited (visited)"},
		{"titles and articles aside", "[Ann]P visited the [Louvre]O and met Dr. [Ben]P.", "Ann -> Louvre by visited (visited)"},
		{"names that follow each other", "[Ann]P visited [Ben]P. [Cy]P succeeded [Dee]P.", "Ann -> Ben by visited (visited); Cy -> Dee by succeeded (succeeded)"},
	} {
		chunk, e := marked(t, c.text)
		if got := phrased(e, Phrases(chunk, e.Mentions)); got != c.want {
			t.Errorf("%s: %q reads %q, want %q", c.behaviour, c.text, got, c.want)
		}
	}
}

func TestPhrasesReadNothingFrom(t *testing.T) {
	for _, c := range []struct{ behaviour, text string }{
		{"a question", "Did [Ann]P follow, or [Ben]P succeeded [Cy]P?"},
		{"a negation", "[Ann]P never visited [Ben]P."},
		{"a negation before", "Neither [Ann]P visited [Ben]P."},
		{"an intention", "[Ann]P wanted to visit [Ben]P."},
		{"a modal", "[Ann]P would visit [Ben]P."},
		{"a doubt", "[Ann]P allegedly visited [Ben]P."},
		{"another sentence", "[Ann]P left. Visited [Ben]P."},
		{"a comma between", "[Ann]P left, visited [Ben]P."},
		{"words that are no verb", "[Ann]P of [Ben]P."},
		{"the end of a prepositional phrase", "The winter in [Ulm]L killed [Ben]P."},
		{"a name cut short", "[Blue]L Licks in [Ulm]L."},
		{"what belongs to the second", "[Ann]P visited [Ben]P's house."},
		{"a reduced participle", "[Acme]O founded by [Ben]P grew."},
		{"a pronoun between", "[Ann]P he visited [Ben]P."},
		{"names far apart", "[Ann]P visited one large and rather old house near old [Ben]P."},
	} {
		chunk, e := marked(t, c.text)
		if got := phrased(e, Phrases(chunk, e.Mentions)); got != "" {
			t.Errorf("%s: %q reads %q", c.behaviour, c.text, got)
		}
	}
}

// What is proposed as a cue has to be one: a run with it finds the sentence that
// it was read from, with source and target where they belong.
func TestARunReadsAPhraseByItsCue(t *testing.T) {
	for _, text := range []string{
		"[Ann]P succeeded [Ben]P.", "[Ann]P studied under [Ben]P.", "[Ann]P was succeeded by [Ben]P.",
		"[Ann]P was defeated at [Ulm]L.", "[Ann]P was a pupil of [Ben]P.", "[Acme]O supports [Python]T.",
		"[Ann]P, who succeeded [Ben]P, left.", "[Ann]P had later visited [Ben]P.", "[Ann]P was born near [Ulm]L.",
		"[Ann]P wrote to [Ben]P.", "[Ann]P was chosen by [Ben]P.",
	} {
		chunk, e := marked(t, text)
		phrases := Phrases(chunk, e.Mentions)
		if len(phrases) != 1 {
			t.Errorf("%q reads %q", text, phrased(e, phrases))
			continue
		}
		p := phrases[0]
		first, second := e.Mentions[p.First], e.Mentions[p.Second]
		relation := graph.RelationType{Label: "R", Cues: []string{p.Cue}}
		want := first.Text + " R " + second.Text
		if p.Passive {
			relation = graph.RelationType{Label: "R", PassiveCues: []string{p.Cue}}
			want = second.Text + " R " + first.Text
		}
		o := ontologyOf(first.Type, second.Type)
		if first.Type == second.Type {
			o = ontologyOf(first.Type)
		}
		o.Relations = []graph.RelationType{relation}
		NewCues(nil).Relate(chunk, o, &e)
		if got := strings.Join(related(e), "; "); got != want {
			t.Errorf("%q by the cue %q: %q, want %q", text, p.Cue, got, want)
		}
		if back, ok := CuePhrase(p.Cue); !ok || back.Root != p.Root || back.Passive != p.Passive {
			t.Errorf("the cue %q of %q reads %+v", p.Cue, text, back)
		}
	}
}

func TestInflectionsOfAPhraseHaveOneRoot(t *testing.T) {
	roots := map[string]bool{}
	for _, text := range []string{"[Ann]P visited [Ben]P.", "[Ann]P visits [Ben]P.", "[Ann]P was visited by [Ben]P."} {
		chunk, e := marked(t, text)
		for _, p := range Phrases(chunk, e.Mentions) {
			roots[p.Root] = true
		}
	}
	if len(roots) != 1 {
		t.Errorf("the roots are %v", roots)
	}
}

func FuzzPhrases(f *testing.F) {
	f.Add("Ann visited Ben. Cy was a pupil of Dee’s friend?", 3, 7, 12, 15)
	f.Fuzz(func(t *testing.T, text string, a, b, c, d int) {
		chunk := asChunk(text, 7)
		var mentions []graph.Mention
		for _, r := range [][2]int{{a, b}, {c, d}} {
			if r[0] >= 0 && r[0] < r[1] && r[1] <= len(text) {
				mentions = append(mentions, graph.Mention{Range: graph.Range{Start: 7 + r[0], End: 7 + r[1]}, Text: text[r[0]:r[1]], Type: "Person", Score: 1})
			}
		}
		for _, p := range Phrases(chunk, mentions) {
			if p.Evidence.Start < 7 || p.Evidence.End > 7+len(text) || p.Evidence.Len() <= 0 || p.First == p.Second || p.Cue == "" || p.Root == "" {
				t.Errorf("%q: %+v", text, p)
			}
		}
	})
}
