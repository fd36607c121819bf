package planner

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"graphmill/planner/catalogue"
)

func (p *Planner) check() error {
	var errs []error
	for kind, limit := range map[catalogue.Kind][]string{
		catalogue.Chunker: p.limits.Chunkers, catalogue.Extractor: p.limits.Extractors, catalogue.Resolver: p.limits.Resolvers,
	} {
		errs = append(errs, p.checkLimit(kind, limit)...)
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	if p.limits.MaxChunks < 0 {
		errs = append(errs, fmt.Errorf("plan limits: max_chunks is %d; allowed is 1 or more", p.limits.MaxChunks))
	}
	if p.limits.MaxLLMPairs < 0 {
		errs = append(errs, fmt.Errorf("plan limits: max_llm_pairs is %d; allowed is 0 or more", p.limits.MaxLLMPairs))
	}
	for i, rule := range p.rules {
		errs = append(errs, p.checkRule(ruleName(i, rule, ""), rule)...)
	}
	return errors.Join(errs...)
}

func (p *Planner) checkLimit(kind catalogue.Kind, limit []string) []error {
	setting := fmt.Sprintf("plan limits: %ss", kind)
	if limit != nil && len(limit) == 0 || limit == nil && len(p.allowed(kind, nil)) == 0 {
		return []error{fmt.Errorf("%s: none is allowed; name at least one of %s", setting, strings.Join(p.names(kind), ", "))}
	}
	var errs []error
	for _, name := range limit {
		errs = append(errs, p.checkName(setting, kind, name)...)
	}
	return errs
}

func (p *Planner) names(kind catalogue.Kind) []string {
	var names []string
	for _, strategy := range p.strategies[kind] {
		names = append(names, strategy.Name)
	}
	return names
}

func (p *Planner) checkName(where string, kind catalogue.Kind, name string) []error {
	if _, ok := p.find(kind, name); ok {
		return nil
	}
	return []error{unknown(where, string(kind), name, p.names(kind))}
}

func unknown(where, what, name string, allowed []string) error {
	hint := ""
	if near := nearest(name, allowed); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return fmt.Errorf("%s: unknown %s %q%s (allowed: %s)", where, what, name, hint, strings.Join(allowed, ", "))
}

func (p *Planner) checkRule(where string, rule Rule) []error {
	errs := checkMatch(where, rule.Match)
	if rule.Chunker != "" {
		errs = append(errs, p.checkName(where, catalogue.Chunker, rule.Chunker)...)
	}
	for i, name := range rule.Extractors {
		errs = append(errs, p.checkName(where, catalogue.Extractor, name)...)
		if slices.Contains(rule.Extractors[:i], name) {
			errs = append(errs, fmt.Errorf("%s: extractor %q is named twice", where, name))
		}
	}
	if rule.Resolver != "" {
		errs = append(errs, p.checkName(where, catalogue.Resolver, rule.Resolver)...)
	}
	if rule.MaxChunks < 0 {
		errs = append(errs, fmt.Errorf("%s: max_chunks is %d; allowed is 1 or more", where, rule.MaxChunks))
	}
	return append(errs, p.checkParameters(where, rule)...)
}

func checkMatch(where, match string) []error {
	switch {
	case match == "":
		return []error{fmt.Errorf(`%s: match is empty; "*" matches every file`, where)}
	case strings.HasPrefix(match, "/") || slices.Contains(strings.Split(match, "/"), ".."):
		return []error{fmt.Errorf("%s: match must be a glob on the path under the files root, without a leading / and without ..", where)}
	case !doublestar.ValidatePattern(match):
		return []error{fmt.Errorf(`%s: match is no glob; close every [ and {, or put \ before one that is meant literally`, where)}
	}
	return nil
}

// checkParameters holds a rule's numbers to the bounds of its chunker, or, when
// the rule names none, of every chunker that has the parameter.
func (p *Planner) checkParameters(where string, rule Rule) []error {
	var errs []error
	for _, name := range sortedNames(rule.Parameters) {
		known := []string{}
		found := false
		for _, strategy := range p.strategies[catalogue.Chunker] {
			if rule.Chunker != "" && strategy.Name != rule.Chunker {
				continue
			}
			for _, each := range strategy.Parameters {
				if !slices.Contains(known, each.Name) {
					known = append(known, each.Name)
				}
			}
			bounds, ok := parameter(strategy, name)
			if !ok || found {
				continue
			}
			found = true
			if value := rule.Parameters[name]; value < bounds.Min || value > bounds.Max {
				errs = append(errs, fmt.Errorf("%s: %s is %d; allowed are %d to %d %s", where, name, value, bounds.Min, bounds.Max, bounds.Unit))
			}
		}
		if len(known) > 0 && !found {
			errs = append(errs, unknown(where, strings.TrimSuffix("parameter of chunker "+rule.Chunker, " of chunker "), name, known))
		}
	}
	return append(errs, p.checkOverlaps(where, rule)...)
}

// checkOverlaps refuses an overlap of over half of its chunk, with which most of
// the work would be done twice or more.
func (p *Planner) checkOverlaps(where string, rule Rule) []error {
	var errs []error
	for _, unit := range []string{"tokens", "chars"} {
		whole, set := rule.Parameters["chunk_"+unit]
		for _, strategy := range p.strategies[catalogue.Chunker] {
			if !set && strategy.Name == firstOf(rule.Chunker, "fixed") {
				standard, _ := parameter(strategy, "chunk_"+unit)
				whole = standard.Default
			}
		}
		if _, chars := rule.Parameters["chunk_chars"]; unit == "tokens" && chars && !set {
			whole = 0 // a cap in characters alone goes with overlap_chars
		}
		if overlap := rule.Parameters["overlap_"+unit]; overlap > whole/2 {
			errs = append(errs, fmt.Errorf("%s: overlap_%s is %d; allowed is up to half of chunk_%s, %d", where, unit, overlap, unit, whole/2))
		}
	}
	return errs
}

func parameter(strategy catalogue.Strategy, name string) (catalogue.Parameter, bool) {
	for _, each := range strategy.Parameters {
		if each.Name == name {
			return each, true
		}
	}
	return catalogue.Parameter{}, false
}

// nearest returns the allowed name that is fewest edits from name, or "" when
// more than half of it would change.
func nearest(name string, allowed []string) string {
	best, fewest := "", math.MaxInt
	for _, candidate := range allowed {
		if n := edits(strings.ToLower(name), candidate); n < fewest && 2*n <= max(len(name), len(candidate)) {
			best, fewest = candidate, n
		}
	}
	return best
}

// edits is the Levenshtein distance in bytes.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
