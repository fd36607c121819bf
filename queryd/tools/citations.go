package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"graphmill/queryd/evidence"
	"graphmill/toolserver"
)

const citationsName = "check_citations"

const (
	// maxDraftChars bounds a draft: some hundred pages. What a check takes grows
	// with the draft alone.
	maxDraftChars = 2_000_000
	// maxListed bounds each list of a check; the counts tell of the rest.
	maxListed = 100
	// maxSourceChars bounds the evidence that is shown again; the whole of it was
	// checked.
	maxSourceChars = 300
)

type citationsInput struct {
	Draft string `json:"draft"`
}

// Citations is the reply of check_citations. It has no evidence number, and those
// in it are named otherwise than where evidence is given: a reply that is
// shortened takes nothing away from the session.
type Citations struct {
	Grounded         bool          `json:"grounded"` // cites evidence, and nothing that is none
	Cited            []int         `json:"cited"`
	Invalid          []int         `json:"invalid"` // numbers that point at nothing
	Answer           string        `json:"answer"`  // the draft without them
	Sources          []Source      `json:"sources"`
	Uncited          []string      `json:"uncited"`
	Unsupported      []Unsupported `json:"unsupported"`
	UncitedCount     int           `json:"uncited_count"`
	UnsupportedCount int           `json:"unsupported_count"`
	toolserver.Notice
}

// Source is a piece of evidence that a draft cites.
type Source struct {
	Number  int           `json:"number"`
	Tool    string        `json:"tool"`
	Kind    evidence.Kind `json:"kind"`
	Content string        `json:"content"`
	Place   *Place        `json:"place,omitempty"` // of what comes from a document
}

// Unsupported is a cited sentence with what its evidence lacks.
type Unsupported struct {
	Sentence string   `json:"sentence"`
	Figures  []string `json:"figures,omitempty"`
	Names    []string `json:"names,omitempty"`
}

func (k *kit) citationsTool() (*toolserver.Tool, error) {
	return toolserver.NewTool(toolserver.Spec{
		Name:  citationsName,
		Title: "Check the citations of a draft",
		Description: "Checks a draft answer before it is sent: every [n] must be evidence that a tool returned in this session. Also lists the sentences that state a figure or a name " +
			"and cite nothing, and cited sentences with figures or names that their evidence does not hold. The checks are literal: two is not 2. " +
			"Returns the draft without the numbers that point at nothing.",
		Input: object([]string{"draft"}, map[string]*jsonschema.Schema{
			"draft": {
				Type: "string", Description: "The answer as it would be sent, with its [n], [1, 4] or [1-3].",
				MinLength: jsonschema.Ptr(1), MaxLength: jsonschema.Ptr(maxDraftChars),
			},
		}),
	}, k.citations)
}

// citations reads no graph: it works, too, when the store cannot be reached.
func (k *kit) citations(_ context.Context, in citationsInput) (*Citations, error) {
	return newCitations(k.Ledger.CheckCitations(in.Draft)), nil
}

func newCitations(check evidence.Check) *Citations {
	out := &Citations{
		Grounded: check.Grounded, Cited: first(check.Cited, maxListed), Invalid: first(check.Invalid, maxListed), Answer: check.Answer, Sources: []Source{},
		Uncited: first(check.Uncited, maxListed), Unsupported: []Unsupported{}, UncitedCount: len(check.Uncited), UnsupportedCount: len(check.Unsupported),
	}
	for _, item := range first(check.Sources, maxListed) {
		source := Source{Number: item.N, Tool: item.Tool, Kind: item.Kind, Content: clip(item.Content, maxSourceChars)}
		if item.Place.Document != "" {
			source.Place = &item.Place
		}
		out.Sources = append(out.Sources, source)
	}
	for _, u := range first(check.Unsupported, maxListed) {
		out.Unsupported = append(out.Unsupported, Unsupported{u.Sentence, u.Figures, u.Names})
	}
	out.Hint = advice(check)
	return out
}

// advice says what to do about what was found.
func advice(check evidence.Check) string {
	var hints []string
	switch {
	case len(check.Cited) == 0 && len(check.Invalid) == 0:
		hints = append(hints, "The draft cites nothing; give the number of its evidence in each sentence, as [3].")
	case len(check.Cited) == 0:
		hints = append(hints, "The draft cites no evidence of this session; retrieve again and cite the numbers that come back.")
	case len(check.Invalid) > 0:
		hints = append(hints, "Some numbers point at nothing in this session; `answer` is the draft without them. Cite what the tools returned, or leave the claim out.")
	}
	if len(check.Uncited) > 0 {
		hints = append(hints, "Cite the uncited sentences, or leave them out.")
	}
	if len(check.Unsupported) > 0 {
		hints = append(hints, "Correct the unsupported sentences by their evidence, or cite what holds the figures and names.")
	}
	if most := max(len(check.Cited), len(check.Invalid), len(check.Uncited), len(check.Unsupported)); most > maxListed {
		hints = append(hints, fmt.Sprintf("Each list shows its first %d.", maxListed))
	}
	return strings.Join(hints, " ")
}

func first[T any](list []T, most int) []T {
	return append([]T{}, list[:min(len(list), most)]...)
}

// Text tells the verdict, then what is to be done, then the answer.
func (c *Citations) Text(limit int) string {
	verdict := "Not grounded"
	if c.Grounded {
		verdict = "Grounded"
	}
	head := fmt.Sprintf("%s: %d cited, %d point at nothing, %d uncited, %d unsupported\n", verdict, len(c.Cited), len(c.Invalid), c.UncitedCount, c.UnsupportedCount)
	invalid := section{weight: 1}
	if len(c.Invalid) > 0 {
		invalid.items = []string{"Point at nothing: " + strings.Trim(strings.ReplaceAll(fmt.Sprint(c.Invalid), " ", ", "), "[]")}
	}
	uncited := section{title: "Uncited", weight: 1}
	for _, s := range c.Uncited {
		uncited.items = append(uncited.items, quoteBlock(s, sentenceChars))
	}
	unsupported := section{title: "Unsupported", weight: 1}
	for _, u := range c.Unsupported {
		unsupported.items = append(unsupported.items, quoteBlock(u.Sentence, sentenceChars)+"\n    lacks "+escapeLine(strings.Join(slices.Concat(u.Figures, u.Names), "; ")))
	}
	sources := section{title: "Sources", weight: 1}
	for _, s := range c.Sources {
		line := fmt.Sprintf("[%d] %s of %s", s.Number, escapeLine(string(s.Kind)), escapeLine(s.Tool))
		if s.Place != nil {
			line += ", " + label(*s.Place)
		}
		sources.items = append(sources.items, line)
	}
	sections := []section{invalid, uncited, unsupported, sources}
	if len(c.Invalid) > 0 {
		sections = append(sections, section{title: "The answer without what points at nothing", weight: 2, items: []string{quoteBlock(c.Answer, limit/2)}})
	}
	return compose(head, append(sections, hint(c.Notice)), limit)
}
