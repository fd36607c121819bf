// Package planner decides, before anything is read, which strategies a file
// gets, what that will roughly cost, and whether a file has to be processed at
// all. It is pure: it opens no file, no store and no model, and knows the
// strategies only by their catalogue.
package planner

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"graphmill/pipeline/corpus"
	"graphmill/planner/catalogue"
)

// Rule gives the files that it matches their strategies. Empty fields leave the
// choice to the defaults for the file's format.
type Rule struct {
	// Match is a doublestar glob on the slash-separated path under the root; one
	// without a slash matches the file's name alone. A path equal to Match
	// matches, whatever it holds.
	Match      string
	Chunker    string
	Extractors []string // combined in this order
	Resolver   string
	MaxChunks  int // 0 = the limits'
	// Parameters are numbers of the chunker by their catalogue names.
	Parameters map[string]int
	Origin     string // where it stands, "graphmill.yaml:14"; "" if unknown
}

// Limits are what rules may choose. The zero value is the cheap default: every
// strategy that its catalogue calls cheap, 1,000 chunks a file, no checks of
// pairs by a language model, free choice of the chunkers' numbers.
type Limits struct {
	Chunkers   []string // nil = the cheap ones
	Extractors []string
	Resolvers  []string
	// MaxChunks of one file: a file with more fails before extraction; 0 = 1000.
	MaxChunks int
	// MaxLLMPairs is how many pairs of names one document's resolver may have
	// checked by a language model; 0 = 500 where an allowed resolver asks one.
	MaxLLMPairs int
	// DefaultParameters makes every chunker use its catalogue's numbers
	// (tune_params: false).
	DefaultParameters bool
}

// defaultMaxLLMPairs bounds what one document can spend on resolution.
const defaultMaxLLMPairs = 500

// defaultMaxChunks stops a file of about a megabyte of text, which is more often
// a log or a dump than prose.
const defaultMaxChunks = 1000

// File is what a plan needs to know of a file.
type File struct {
	Path   string // slash-separated, under the root
	Format corpus.Format
	Size   int64
}

// Planner assigns strategies. It is safe for concurrent use.
type Planner struct {
	rules      []Rule
	limits     Limits
	strategies map[catalogue.Kind][]catalogue.Strategy
	rates      Rates
}

// New checks rules and limits against the strategies there are. An error names
// the rule, the setting, the value and what is allowed; all that is wrong is
// reported at once.
func New(rules []Rule, limits Limits, strategies []catalogue.Strategy) (*Planner, error) {
	p := &Planner{rules: slices.Clone(rules), limits: limits, strategies: map[catalogue.Kind][]catalogue.Strategy{}}
	for _, strategy := range strategies {
		p.strategies[strategy.Kind] = append(p.strategies[strategy.Kind], strategy)
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	p.limits.Chunkers = p.allowed(catalogue.Chunker, limits.Chunkers)
	p.limits.Extractors = p.allowed(catalogue.Extractor, limits.Extractors)
	p.limits.Resolvers = p.allowed(catalogue.Resolver, limits.Resolvers)
	if p.limits.MaxChunks == 0 {
		p.limits.MaxChunks = defaultMaxChunks
	}
	for _, name := range p.limits.Resolvers {
		if resolver, _ := p.find(catalogue.Resolver, name); resolver.Cost.ModelCallsPerChunk > 0 && p.limits.MaxLLMPairs == 0 {
			p.limits.MaxLLMPairs = defaultMaxLLMPairs
		}
	}
	return p, nil
}

// allowed returns the limit on a kind of strategy, the cheap ones by default.
func (p *Planner) allowed(kind catalogue.Kind, limit []string) []string {
	if limit != nil {
		return slices.Clone(limit)
	}
	var names []string
	for _, strategy := range p.strategies[kind] {
		if strategy.Cheap {
			names = append(names, strategy.Name)
		}
	}
	return names
}

// Limits are those in force, defaults filled in.
func (p *Planner) Limits() Limits { return p.limits }

func (p *Planner) find(kind catalogue.Kind, name string) (catalogue.Strategy, bool) {
	for _, strategy := range p.strategies[kind] {
		if strategy.Name == name {
			return strategy, true
		}
	}
	return catalogue.Strategy{}, false
}

// DefaultRule returns the rule for files of a format that no rule matches.
// Formats with reliable structure are cut along it, others at sentences.
func DefaultRule(format corpus.Format) Rule {
	rule := Rule{Chunker: "sentence", Extractors: []string{"pattern", "gliner"}, Resolver: "exact"}
	switch format {
	case corpus.Markdown, corpus.RST, corpus.HTML:
		rule.Chunker = "structural"
	}
	return rule
}

// Assign gives a file its strategies: those of the first rule that matches, the
// format's defaults where the rule leaves a choice open, and others where the
// limits do not allow it, which Reason then says.
func (p *Planner) Assign(file File) Assignment {
	rule, index := Rule{}, -1
	for i := range p.rules {
		if p.rules[i].matches(file.Path) {
			rule, index = p.rules[i], i
			break
		}
	}
	notes := notes{ruleName(index, rule, file.Format)}
	assigned := p.assign(file, rule, &notes)
	assigned.Rule = index
	assigned.Reason = strings.Join(notes, "; ")
	assigned.Fingerprint = p.fingerprint(assigned)
	return assigned
}

// assign gives a file what a rule chooses, within the limits, and notes what they
// replaced.
func (p *Planner) assign(file File, rule Rule, notes *notes) Assignment {
	assigned := Assignment{Path: file.Path, MaxLLMPairs: p.limits.MaxLLMPairs}
	defaults := DefaultRule(file.Format)
	assigned.Chunker = p.choose(catalogue.Chunker, rule.Chunker, defaults.Chunker, notes)
	assigned.Extractors = p.chooseExtractors(rule.Extractors, defaults.Extractors, notes)
	assigned.Resolver = p.choose(catalogue.Resolver, rule.Resolver, defaults.Resolver, notes)
	assigned.Params = p.parameters(assigned.Chunker, rule.Parameters, notes)
	assigned.MaxChunks = p.limits.MaxChunks
	switch {
	case rule.MaxChunks > p.limits.MaxChunks:
		notes.add("max_chunks %d is over the plan limit, %d is used", rule.MaxChunks, p.limits.MaxChunks)
	case rule.MaxChunks > 0:
		assigned.MaxChunks = rule.MaxChunks
	}
	return assigned
}

func (r *Rule) matches(name string) bool {
	if r.Match == name {
		return true
	}
	match := strings.TrimPrefix(r.Match, "./")
	if !strings.Contains(match, "/") {
		name = path.Base(name)
	}
	ok, _ := doublestar.Match(match, name) // checked by New
	return ok
}

// notes are the parts of a reason.
type notes []string

func (n *notes) add(format string, args ...any) { *n = append(*n, fmt.Sprintf(format, args...)) }

func ruleName(index int, rule Rule, format corpus.Format) string {
	switch {
	case index < 0:
		return fmt.Sprintf("default for %s", format)
	case rule.Origin != "":
		return fmt.Sprintf("rule %d %q (%s)", index+1, rule.Match, rule.Origin)
	}
	return fmt.Sprintf("rule %d %q", index+1, rule.Match)
}

// limit returns what is allowed of a kind.
func (p *Planner) limit(kind catalogue.Kind) []string {
	switch kind {
	case catalogue.Chunker:
		return p.limits.Chunkers
	case catalogue.Extractor:
		return p.limits.Extractors
	}
	return p.limits.Resolvers
}

// choose returns what the rule wants, else the default, else the first allowed.
func (p *Planner) choose(kind catalogue.Kind, wanted, standard string, notes *notes) string {
	allowed := p.limit(kind)
	choice := standard
	if !slices.Contains(allowed, choice) {
		choice = allowed[0]
	}
	if wanted == "" || slices.Contains(allowed, wanted) {
		return firstOf(wanted, choice)
	}
	notes.add("%s %s is outside the plan limits (%s), %s is used", kind, wanted, strings.Join(allowed, ", "), choice)
	return choice
}

func (p *Planner) chooseExtractors(wanted, standard []string, notes *notes) []string {
	allowed := p.limits.Extractors
	inside := func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(allowed, name) })
	}
	choice := inside(wanted)
	if len(choice) == 0 {
		choice = inside(standard)
	}
	if len(choice) == 0 {
		choice = allowed[:1:1]
	}
	for _, name := range wanted {
		if !slices.Contains(allowed, name) {
			notes.add("extractor %s is outside the plan limits (%s), %s is used", name, strings.Join(allowed, ", "), strings.Join(choice, "+"))
		}
	}
	return choice
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// parameters returns the numbers that the chunker gets: the rule's and, for the
// rest, those that the catalogue sets.
func (p *Planner) parameters(chunker string, wanted map[string]int, notes *notes) map[string]int {
	strategy, _ := p.find(catalogue.Chunker, chunker)
	params := map[string]int{}
	if p.limits.DefaultParameters && len(wanted) > 0 {
		notes.add("the plan limits do not allow setting parameters, the defaults are used")
		wanted = nil
	}
	for _, name := range sortedNames(wanted) {
		if _, ok := parameter(strategy, name); ok {
			params[name] = wanted[name]
		} else {
			notes.add("%s does not apply to chunker %s", name, chunker)
		}
	}
	fillDefaults(strategy, params)
	return params
}

// fillDefaults adds what is not set. A cap in characters replaces the default
// cap in tokens, and an overlap goes with its cap: at most half of it.
func fillDefaults(strategy catalogue.Strategy, params map[string]int) {
	_, byChars := params["chunk_chars"]
	_, byTokens := params["chunk_tokens"]
	for _, parameter := range strategy.Parameters {
		tokenSize := parameter.Name == "chunk_tokens" || parameter.Name == "overlap_tokens"
		if _, set := params[parameter.Name]; set || parameter.Default == 0 || tokenSize && byChars && !byTokens {
			continue
		}
		params[parameter.Name] = parameter.Default
	}
	if half := params["chunk_tokens"] / 2; byTokens && params["overlap_tokens"] > half {
		params["overlap_tokens"] = half // New refuses a larger one that a rule sets
	}
}
