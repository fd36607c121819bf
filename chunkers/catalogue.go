package chunkers

import (
	"fmt"
	"sort"
	"strings"

	"graphmill/planner/catalogue"
)

// Params are a chunker's parameters by the names of the catalogue. One that is
// not there has the catalogue's default.
type Params map[string]int

// The names of parameters.
const (
	ChunkTokens      = "chunk_tokens"
	ChunkChars       = "chunk_chars"
	OverlapTokens    = "overlap_tokens"
	OverlapChars     = "overlap_chars"
	OverlapSentences = "overlap_sentences"
	ContextTokens    = "context_tokens"
)

// Catalogue lists the chunkers.
func Catalogue() []catalogue.Strategy {
	// 256, because the default embedder reads 256 word pieces and the default
	// extractor windows of under 512: one passage, one call of each.
	tokens := catalogue.Parameter{Name: ChunkTokens, Default: 256, Min: 16, Max: 8192, Unit: "tokens"}
	measured := "Go benchmark, 10 MB of English on one core"
	// Version 2: later parts of a table name its columns. 3 of fixed: cut at line
	// breaks where there are some.
	return []catalogue.Strategy{
		{
			Kind: catalogue.Chunker, Name: "fixed", Cheap: true, Version: 3,
			Description: "pieces of about equal size, cut at line breaks or between words, each repeating the end of the one before",
			Parameters: []catalogue.Parameter{
				tokens,
				{Name: ChunkChars, Default: 0, Min: 64, Max: 100_000, Unit: "characters"},
				// An eighth of a chunk: a sentence cut in two stands whole in one of them.
				{Name: OverlapTokens, Default: 32, Min: 0, Max: 4096, Unit: "tokens"},
				{Name: OverlapChars, Default: 0, Min: 0, Max: 50_000, Unit: "characters"},
			},
			Cost: catalogue.Cost{LocalSecondsPerKToken: 0.0001, Source: measured},
		},
		{
			Kind: catalogue.Chunker, Name: "sentence", Cheap: true, Version: 2,
			Description: "whole sentences up to a size",
			Parameters: []catalogue.Parameter{
				tokens,
				// 0, because no sentence is cut and each repeated one is extracted twice.
				{Name: OverlapSentences, Default: 0, Min: 0, Max: 10, Unit: "sentences"},
			},
			Cost: catalogue.Cost{LocalSecondsPerKToken: 0.0001, Source: measured},
		},
		{
			Kind: catalogue.Chunker, Name: "structural", Cheap: true, Version: 2,
			Description: "sections, lists, tables and code blocks whole where they fit, with their heading trail",
			Parameters:  []catalogue.Parameter{tokens},
			Cost:        catalogue.Cost{LocalSecondsPerKToken: 0.0001, Source: measured},
		},
		{
			Kind: catalogue.Chunker, Name: "contextual", Version: 2 + contextVersion,
			Description: "as structural, or sentence where there are no sections; a language model, one call a chunk with the document " +
				"(of one over context_tokens its beginning and what is around the chunk), writes a line that is embedded and extracted with the chunk, and never cited",
			Parameters: []catalogue.Parameter{
				tokens,
				// 16,000: 98 of 100 text files are smaller, and every model of today reads it.
				{Name: ContextTokens, Default: 16_000, Min: 500, Max: 500_000, Unit: "tokens"},
			},
			Cost: catalogue.Cost{
				ModelCallsPerChunk: 1, TokensPerCall: 330, OutputTokensPerCall: 45, DocumentPerCall: true, LocalSecondsPerKToken: 0.0001,
				Source: "counted: the prompt without document and chunk; forty words of answer",
			},
		},
	}
}

// New returns the chunker of that name. A parameter that it does not have, one
// out of bounds, or an overlap of over half a chunk is an error naming what is
// allowed. The chunker contextual cuts only; [NewContextual] gives it its model.
// With chunk_chars given, chunk_tokens limits only if given too.
func New(name string, params Params) (Chunker, error) {
	values, err := settle(name, params)
	if err != nil {
		return nil, err
	}
	limit := size{units: values[ChunkTokens] * token, chars: values[ChunkChars]}
	switch name {
	case "fixed":
		return &Fixed{cap: limit, overlap: size{units: values[OverlapTokens] * token, chars: values[OverlapChars]}}, nil
	case "sentence":
		return &Sentence{cap: limit, overlap: values[OverlapSentences]}, nil
	case "contextual":
		return newContextual(values), nil
	default:
		return &Structural{cap: limit}, nil
	}
}

// settle checks params against the catalogue and fills in its defaults.
func settle(name string, params Params) (Params, error) {
	strategy, err := find(name)
	if err != nil {
		return nil, err
	}
	values, known := Params{}, []string{}
	for _, parameter := range strategy.Parameters {
		known = append(known, parameter.Name)
		value, given := params[parameter.Name]
		if !given {
			value = parameter.Default
		} else if value < parameter.Min || value > parameter.Max {
			return nil, fmt.Errorf("chunker %s: %s is %d; allowed are %d to %d %s", name, parameter.Name, value, parameter.Min, parameter.Max, parameter.Unit)
		}
		values[parameter.Name] = value
	}
	for _, key := range sortedKeys(params) {
		if _, ok := values[key]; !ok {
			return nil, fmt.Errorf("chunker %s: unknown parameter %q; it takes %s", name, key, strings.Join(known, ", "))
		}
	}
	return values, settleSizes(name, params, values)
}

// settleSizes decides between tokens and characters, and keeps overlaps to half
// of a chunk so that every chunk brings something new.
func settleSizes(name string, given, values Params) error {
	if _, tokens := given[ChunkTokens]; values[ChunkChars] > 0 && !tokens {
		delete(values, ChunkTokens)
		if _, overlap := given[OverlapTokens]; !overlap {
			delete(values, OverlapTokens)
		}
	}
	for _, pair := range [][2]string{{OverlapTokens, ChunkTokens}, {OverlapChars, ChunkChars}} {
		overlap, whole := values[pair[0]], values[pair[1]]
		if overlap <= whole/2 {
			continue
		}
		if _, ok := given[pair[0]]; ok {
			return fmt.Errorf("chunker %s: %s is %d; allowed is up to half of %s, %d", name, pair[0], overlap, pair[1], whole/2)
		}
		values[pair[0]] = whole / 2
	}
	return nil
}

func find(name string) (catalogue.Strategy, error) {
	var names []string
	for _, strategy := range Catalogue() {
		if strategy.Name == name {
			return strategy, nil
		}
		names = append(names, strategy.Name)
	}
	return catalogue.Strategy{}, fmt.Errorf("unknown chunker %q; allowed are %s", name, strings.Join(names, ", "))
}

func sortedKeys(params Params) []string {
	keys := make([]string, 0, len(params))
	for key := range params {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
