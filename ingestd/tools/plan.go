package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"graphmill/planner"
	"graphmill/planner/catalogue"
)

// planRule is one rule of ingest's plan. Numbers of the chunker stand beside the
// names.
type planRule struct {
	Match      string
	Chunker    string
	Extractors []string
	Resolver   string
	MaxChunks  int
	Parameters map[string]int
}

// UnmarshalJSON reads a rule: an extractor is a name or a list, and what is not a
// rule's own is a number of the chunker.
func (r *planRule) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	own := map[string]any{"match": &r.Match, "chunker": &r.Chunker, "resolver": &r.Resolver, "max_chunks": &r.MaxChunks}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		target, known := own[name]
		switch {
		case known:
		case name == "extractor":
			var one string
			if json.Unmarshal(fields[name], &one) == nil {
				r.Extractors = []string{one}
				continue
			}
			target = &r.Extractors
		default:
			var number int
			if err := json.Unmarshal(fields[name], &number); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if r.Parameters == nil {
				r.Parameters = map[string]int{}
			}
			r.Parameters[name] = number
			continue
		}
		if err := json.Unmarshal(fields[name], target); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (r planRule) rule() planner.Rule {
	return planner.Rule{
		Match: r.Match, Chunker: r.Chunker, Extractors: r.Extractors, Resolver: r.Resolver, MaxChunks: r.MaxChunks, Parameters: r.Parameters,
	}
}

// planSchema lists every strategy there is: one that the limits do not allow is
// replaced, and the reply says so.
func (k *kit) planSchema() *jsonschema.Schema {
	names := func(kind catalogue.Kind) *jsonschema.Schema {
		s := &jsonschema.Schema{Type: "string"}
		for _, strategy := range k.Strategies {
			if strategy.Kind == kind {
				s.Enum = append(s.Enum, strategy.Name)
			}
		}
		return s
	}
	properties := map[string]*jsonschema.Schema{
		"match":   {Type: "string", Description: "A glob on the path under the files root; one without / is matched against the name alone.", MinLength: jsonschema.Ptr(1), MaxLength: jsonschema.Ptr(maxPathChars)},
		"chunker": names(catalogue.Chunker), "resolver": names(catalogue.Resolver),
		"extractor":  {AnyOf: []*jsonschema.Schema{names(catalogue.Extractor), {Type: "array", Items: names(catalogue.Extractor), MinItems: jsonschema.Ptr(1)}}},
		"max_chunks": {Type: "integer", Minimum: jsonschema.Ptr(1.0)},
	}
	for _, strategy := range k.Strategies {
		for _, p := range strategy.Parameters {
			properties[p.Name] = &jsonschema.Schema{Type: "integer", Description: fmt.Sprintf("%d to %d %s", p.Min, p.Max, p.Unit)}
		}
	}
	return &jsonschema.Schema{
		Type: "array", MaxItems: jsonschema.Ptr(maxRules), Items: object([]string{"match"}, properties),
		Description: "Rules that choose how files are processed; the first whose match fits a file's path counts, and what it leaves open is chosen by the file's kind. The description of the tool says what may be chosen and what it costs.",
	}
}

// costNotes say of strategies what their figures do not.
var costNotes = map[string]string{
	"contextual":   "sending the whole document each time",
	"llm_verified": "a second ask for each confirmed match between two entity types, one check per name shared across types, and summaries of merged descriptions",
}

// ingestDescription tells what may be chosen, and what each choice costs.
func (k *kit) ingestDescription() string {
	var b strings.Builder
	if !k.Files {
		b.WriteString("Adds a text to the graph: extracts its entities, relations and facts.")
	} else {
		fmt.Fprintf(&b, "Adds files under the files root, at most %d a call, or a text to the graph: extracts their entities, relations and facts.", MaxFiles)
	}
	b.WriteString(" What has not changed is skipped (`unchanged`); what has replaces its old version (`updated`); reextract=true extracts it again in place")
	if k.Files {
		b.WriteString(", a file by the plan of its last ingest unless `plan` is given")
	}
	b.WriteString(". `pruned` tells what the ontology misses.")
	limits := k.Planner.Limits()
	if k.Files {
		b.WriteString(" Cheap strategies are the default. A plan may choose, and other choices are replaced, which `rule` then says:")
		for _, part := range []struct {
			kind  catalogue.Kind
			names []string
		}{{catalogue.Chunker, limits.Chunkers}, {catalogue.Extractor, limits.Extractors}, {catalogue.Resolver, limits.Resolvers}} {
			fmt.Fprintf(&b, "\n%ss:", part.kind)
			for _, name := range part.names {
				fmt.Fprintf(&b, "\n- %s: %s", name, k.about(part.kind, name, limits))
			}
		}
		b.WriteString("\n")
		if limits.DefaultParameters {
			b.WriteString("Rules may not set the chunkers' numbers.")
		} else {
			b.WriteString("Rules may set the chunkers' numbers (chunk_tokens, …).")
		}
	}
	fmt.Fprintf(&b, " A document of more than %d chunks is refused before anything is extracted from it.", limits.MaxChunks)
	return b.String()
}

func (k *kit) about(kind catalogue.Kind, name string, limits planner.Limits) string {
	for _, s := range k.Strategies {
		if s.Kind != kind || s.Name != name {
			continue
		}
		cost := "no call of a language model"
		switch calls := s.Cost.ModelCallsPerChunk; {
		case kind == catalogue.Resolver && calls > 0:
			cost = fmt.Sprintf("up to %d checks of pairs by the language model a document", limits.MaxLLMPairs)
		case kind == catalogue.Chunker && calls > 0:
			cost = fmt.Sprintf("%g more calls of the language model a chunk", calls)
		case calls > 0:
			cost = fmt.Sprintf("%g calls of the language model a chunk", calls)
		case s.Cost.LocalSecondsPerKToken >= 0.01:
			cost = fmt.Sprintf("no call of a language model, %.2g s of one core for 1,000 tokens", s.Cost.LocalSecondsPerKToken)
		}
		if note := costNotes[name]; note != "" {
			cost += ", " + note
		}
		return s.Description + " (" + cost + ")"
	}
	return ""
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
