package extractors

import (
	"strings"
	"testing"

	"graphmill/pipeline/graph"
)

func TestTemplatesReadWhatHasNoVerb(t *testing.T) {
	cases := []struct{ behaviour, text, want string }{
		{"a place in its region", "They met in [Hartford]L, [Connecticut]L.", "Hartford LOCATED_IN Connecticut"},
		{"regions one inside the other", "They met in [Hartford]L, [Connecticut]L, [USA]L.", "Connecticut LOCATED_IN USA; Hartford LOCATED_IN Connecticut"},
		{"a list of places", "They met in [Oslo]L, [Bern]L and [Rome]L.", ""},
		{"a list of places with a last comma", "They saw [Oslo]L, [Bern]L, [Paris]L, and [Rome]L.", ""},
		{"two places with their regions", "They saw [Paris]L, [France]L, and [Rome]L, [Italy]L.", "Paris LOCATED_IN France; Rome LOCATED_IN Italy"},
		{"a body and its town", "They sued [Acme]O in [Oslo]L.", "Acme LOCATED_IN Oslo"},
		{"a described body", "[Acme]O, a firm in [Oslo]L, grew.", "Acme LOCATED_IN Oslo"},
		{"years of life", "[Jane Roe]P ([26 July 1894]D – [22 November 1963]D) was a poet.", "Jane Roe BORN_ON 26 July 1894; Jane Roe DIED_ON 22 November 1963"},
		{"a year of birth", "[Jane Roe]P (born [1 April 1947]D) is a poet.", "Jane Roe BORN_ON 1 April 1947"},
		{"an office and its holder", "[President]R [Jane Roe]P spoke.", "Jane Roe HOLDS_ROLE President"},
		{"a holder and the office", "[Jane Roe]P, [finance director]R of the firm, spoke.", "Jane Roe HOLDS_ROLE finance director"},
		{"a person of a body", "[Jane Roe]P of [Acme]O spoke.", "Jane Roe WORKS_AT Acme"},
		{"an author's work", "[Jane Roe]P's [Low Water]W sold well.", "Jane Roe CREATED Low Water"},
		{"a work's year", "They read [Low Water]W ([1921]D).", "Low Water CREATED_ON 1921"},
		{"a year before the verb", "In [1956]D, [Jane Roe]P wrote [Low Water]W.", "Jane Roe CREATED Low Water; Low Water CREATED_ON 1956"},
		{"founders named apart", "[Jane Roe]P founded [Acme]O with [Max Ode]P in [1998]D.", "Acme FOUNDED_ON 1998; Jane Roe FOUNDED Acme; Max Ode FOUNDED Acme"},
		{"two partners", "[Acme]O and the [Oslo Lab]O have signed an agreement.", "Acme PARTNER_OF Oslo Lab"},
		{"a couple", "[Jane Roe]P and her husband [Max Ode]P spoke.", "Jane Roe FAMILY_OF Max Ode"},
		{"a subject behind a fronted place", "In [Ohio]L, [Lincoln]L grew.", ""},
		{"a possessive after the place", "They met in [Hartford]L, [Connecticut]L's largest town.", ""},
	}
	for _, c := range cases {
		t.Run(c.behaviour, func(t *testing.T) {
			chunk, e := marked(t, c.text)
			NewCues(nil).Relate(chunk, defaultOntology(t), &e)
			if got := strings.Join(related(e), "; "); got != c.want {
				t.Errorf("%s\n got %q\nwant %q", chunk.Text, got, c.want)
			}
		})
	}
}

func TestATemplateSaysWordForWordWhatStandsBetween(t *testing.T) {
	o := &graph.Ontology{
		Entities: []graph.EntityType{{Label: "Person"}, {Label: "Organization"}},
		Relations: []graph.RelationType{{
			Label: "R", Patterns: []graph.Pattern{{"Person", "Organization"}}, Cues: []string{"_ is at|with the? _ now"},
		}},
	}
	for text, want := range map[string]string{
		"[Jane]P is at [Acme]O now.":           "Jane R Acme",
		"[Jane]P was with the [Acme]O now.":    "Jane R Acme",
		"[Jane]P is at [Acme]O.":               "",
		"[Jane]P is never at [Acme]O now.":     "",
		"[Acme]O is at [Jane]P now.":           "",
		"[Jane]P is at Max, [Acme]O now.":      "",
		"Then [Jane]P is at [Acme]O now, yes.": "Jane R Acme",
	} {
		chunk, e := marked(t, text)
		NewCues(nil).Relate(chunk, o, &e)
		if got := strings.Join(related(e), "; "); got != want {
			t.Errorf("%s: got %q, want %q", chunk.Text, got, want)
		}
	}
}
