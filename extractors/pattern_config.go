package extractors

import (
	"bufio"
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// PatternConfig says what the pattern extractor looks for.
type PatternConfig struct {
	// Builtin names ready-made patterns, see [BuiltinPatterns]. Not set takes
	// the default ones, each where the ontology declares its type; an empty
	// list takes none.
	Builtin []string `yaml:"builtin,omitempty" mapstructure:"builtin" json:"builtin,omitempty"`
	// Rules are applied in order; of overlapping matches the longer wins, then
	// the earlier, then the earlier rule.
	Rules []PatternRule `yaml:"rules,omitempty" mapstructure:"rules" json:"rules,omitempty"`
}

// PatternRule is one named regular expression and what its matches mean.
type PatternRule struct {
	Name    string `yaml:"name" mapstructure:"name" json:"name"`
	Pattern string `yaml:"pattern" mapstructure:"pattern" json:"pattern"` // RE2
	// Group is the capture group that is the mention; 0 is the whole match.
	Group int `yaml:"group,omitempty" mapstructure:"group" json:"group,omitempty"`
	// Flags are RE2's: i (any case), m (^ and $ at lines), s (. matches line
	// ends), U (shortest first).
	Flags string `yaml:"flags,omitempty" mapstructure:"flags" json:"flags,omitempty"`
	// Type is the entity type of a match that none of Types claims.
	Type  string     `yaml:"type" mapstructure:"type" json:"type"`
	Types []TypeRule `yaml:"types,omitempty" mapstructure:"types" json:"types,omitempty"`
	// StopWords, and the lines of StopWordsFile, drop matches of one word.
	// The entry "@english" stands for a list of common English words.
	StopWords     []string `yaml:"stop_words,omitempty" mapstructure:"stop_words" json:"stop_words,omitempty"`
	StopWordsFile string   `yaml:"stop_words_file,omitempty" mapstructure:"stop_words_file" json:"stop_words_file,omitempty"`
	// Exclude is a regular expression; matches that it finds something in are
	// dropped.
	Exclude string `yaml:"exclude,omitempty" mapstructure:"exclude" json:"exclude,omitempty"`
	// MinBytes and MaxBytes bound a match; 0 is no bound.
	MinBytes int `yaml:"min_bytes,omitempty" mapstructure:"min_bytes" json:"min_bytes,omitempty"`
	MaxBytes int `yaml:"max_bytes,omitempty" mapstructure:"max_bytes" json:"max_bytes,omitempty"`
	// Distinct says which matches in a chunk are one name: "exact" (as
	// written, the default) or "lower" (case does not count). The first
	// spelling decides the type for all.
	Distinct string `yaml:"distinct,omitempty" mapstructure:"distinct" json:"distinct,omitempty"`
	// MaxDistinct caps the names kept in a chunk; 0 is no cap. Every mention of
	// a kept name is kept.
	MaxDistinct int `yaml:"max_distinct,omitempty" mapstructure:"max_distinct" json:"max_distinct,omitempty"`
	// Neighbours is a relation type that joins each name of a chunk to the
	// next, in order of first occurrence; "" makes none.
	Neighbours string `yaml:"neighbours,omitempty" mapstructure:"neighbours" json:"neighbours,omitempty"`
}

// TypeRule gives a type to the matches that meet all of its conditions.
type TypeRule struct {
	Type     string   `yaml:"type" mapstructure:"type" json:"type"`
	LastWord []string `yaml:"last_word,omitempty" mapstructure:"last_word" json:"last_word,omitempty"`
	Matches  string   `yaml:"matches,omitempty" mapstructure:"matches" json:"matches,omitempty"` // RE2, anywhere in the match
	Digit    bool     `yaml:"digit,omitempty" mapstructure:"digit" json:"digit,omitempty"`
	AllUpper bool     `yaml:"all_upper,omitempty" mapstructure:"all_upper" json:"all_upper,omitempty"`
}

// maxPatternBytes bounds a regular expression; RE2 compiles to memory in
// proportion.
const maxPatternBytes = 4096

// ParsePatternConfig reads a configuration from YAML; nothing at all is the
// default one. Every key must be known.
func ParsePatternConfig(text []byte) (PatternConfig, error) {
	var config PatternConfig
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&config); err != nil && !errors.Is(err, io.EOF) {
		message := strings.TrimPrefix(err.Error(), "yaml: ")
		if strings.Contains(message, "not found in type") {
			message += "; allowed are builtin and rules, and in a rule " + strings.Join(ruleKeys, ", ")
		}
		return PatternConfig{}, fmt.Errorf("parse pattern configuration: %s", message)
	}
	return config, nil
}

// ruleKeys are PatternRule's keys; a test holds them to its tags.
var ruleKeys = []string{
	"name", "pattern", "group", "flags", "type", "types", "stop_words", "stop_words_file", "exclude",
	"min_bytes", "max_bytes", "distinct", "max_distinct", "neighbours",
}

// compiledRule is a PatternRule ready to run.
type compiledRule struct {
	PatternRule
	// optional rules were chosen by nobody: they look for nothing where the
	// ontology does not declare their type.
	optional   bool
	expression *regexp.Regexp
	exclude    *regexp.Regexp
	stop       map[string]bool
	types      []compiledType
}

type compiledType struct {
	kind            string
	lastWord        map[string]bool
	matches         *regexp.Regexp
	digit, allUpper bool
}

// compile checks a rule; errors name the rule and the field.
func (r PatternRule) compile() (compiledRule, error) {
	c := compiledRule{PatternRule: r}
	fault := func(field, format string, args ...any) (compiledRule, error) {
		return compiledRule{}, fmt.Errorf("pattern %q, field %s: %s", r.Name, field, fmt.Sprintf(format, args...))
	}
	if strings.Trim(r.Flags, "imsU") != "" {
		return fault("flags", "%q; allowed are the letters i, m, s and U", r.Flags)
	}
	var err error
	expression := r.Pattern
	if r.Flags != "" {
		expression = "(?" + r.Flags + ")" + expression
	}
	if c.expression, err = compileExpression(expression); err != nil {
		return fault("pattern", "%v", err)
	}
	if c.expression.MatchString("") {
		return fault("pattern", "matches the empty text; it would find nothing everywhere")
	}
	if r.Group < 0 || r.Group > c.expression.NumSubexp() {
		return fault("group", "%d; the pattern has the groups 0 to %d", r.Group, c.expression.NumSubexp())
	}
	if r.Type == "" {
		return fault("type", "is missing; it is the entity type of the matches")
	}
	if r.MinBytes < 0 || r.MaxBytes < 0 || r.MaxBytes > 0 && r.MaxBytes < r.MinBytes {
		return fault("max_bytes", "%d with min_bytes %d; neither may be negative, nor the first smaller", r.MaxBytes, r.MinBytes)
	}
	if r.MaxDistinct < 0 {
		return fault("max_distinct", "%d; use 0 for no cap", r.MaxDistinct)
	}
	if r.Distinct != "" && r.Distinct != "exact" && r.Distinct != "lower" {
		return fault("distinct", "%q; allowed are exact and lower", r.Distinct)
	}
	if r.Exclude != "" {
		if c.exclude, err = compileExpression(r.Exclude); err != nil {
			return fault("exclude", "%v", err)
		}
	}
	if c.stop, err = r.stopWords(); err != nil {
		return fault("stop_words_file", "%v", err)
	}
	for i, t := range r.Types {
		compiled, err := t.compile()
		if err != nil {
			return fault(fmt.Sprintf("types[%d]", i), "%v", err)
		}
		c.types = append(c.types, compiled)
	}
	return c, nil
}

func (t TypeRule) compile() (compiledType, error) {
	c := compiledType{kind: t.Type, digit: t.Digit, allUpper: t.AllUpper}
	if t.Type == "" {
		return c, errors.New("type is missing")
	}
	if len(t.LastWord) == 0 && t.Matches == "" && !t.Digit && !t.AllUpper {
		return c, errors.New("no condition; give last_word, matches, digit or all_upper, or make it the rule's own type")
	}
	if len(t.LastWord) > 0 {
		c.lastWord = wordSet(t.LastWord)
	}
	if t.Matches != "" {
		expression, err := compileExpression(t.Matches)
		if err != nil {
			return c, fmt.Errorf("matches: %w", err)
		}
		c.matches = expression
	}
	return c, nil
}

func compileExpression(expression string) (*regexp.Regexp, error) {
	switch {
	case expression == "":
		return nil, errors.New("is empty")
	case len(expression) > maxPatternBytes:
		return nil, fmt.Errorf("is %d bytes long; at most %d are allowed", len(expression), maxPatternBytes)
	}
	return regexp.Compile(expression)
}

//go:embed stopwords.txt
var englishStopWords string

func (r PatternRule) stopWords() (map[string]bool, error) {
	stop := map[string]bool{}
	for _, word := range r.StopWords {
		if word == "@english" {
			for _, w := range strings.Fields(englishStopWords) {
				stop[w] = true
			}
			continue
		}
		stop[strings.ToLower(word)] = true
	}
	if r.StopWordsFile == "" {
		return stop, nil
	}
	file, err := os.Open(r.StopWordsFile)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		word, _, _ := strings.Cut(lines.Text(), "#")
		if word = strings.TrimSpace(word); word != "" {
			stop[strings.ToLower(word)] = true
		}
	}
	return stop, lines.Err()
}

func wordSet(words []string) map[string]bool {
	set := make(map[string]bool, len(words))
	for _, word := range words {
		set[word] = true
	}
	return set
}

// What typesetting puts in the place of a space or a hyphen in a name of several
// parts: the end of a line, a space or a hyphen that does not break.
const (
	space  = `[\s\x{a0}\x{202f}]`
	hyphen = `[-\x{2010}\x{2011}]`
	joint  = `[\s\x{a0}\x{202f}\x{2010}\x{2011}-]`
)

// builtinPatterns are things with a form of their own. Those marked default are
// rarely anything else; the others are common noise in some texts.
var builtinPatterns = []struct {
	rule      PatternRule
	byDefault bool
}{
	{PatternRule{Name: "cve", Type: "Vulnerability", Pattern: `\bCVE` + hyphen + `\d{4}` + hyphen + `\d{4,7}\b`}, true},
	{PatternRule{Name: "rfc", Type: "Standard", Pattern: `\bRFC` + joint + `?\d{1,5}\b`}, true},
	{PatternRule{
		Name: "standard", Type: "Standard",
		Pattern: `\b(?:ISO(?:/IEC|/IEEE)?|IEC|IEEE|ANSI|ECMA|FIPS|DIN(?:` + space + `EN)?|NIST` + space + `SP)` + joint + `?\d{2,6}(?:[-\x{2010}\x{2011}.:]\d{1,4})*\b`,
	}, true},
	{PatternRule{Name: "iso_date", Type: "Date", Pattern: `\b(?:1[0-9]|20|21)\d{2}` + hyphen + `(?:0[1-9]|1[0-2])` + hyphen + `(?:0[1-9]|[12]\d|3[01])\b`}, true},
	{PatternRule{
		Name: "ticket", Type: "Ticket", Pattern: `\b[A-Z][A-Z0-9]{1,9}-\d{1,6}\b`,
		Exclude: `^(?:UTF|SHA|MD|ISO|IEC|IEEE|RFC|CVE|ECMA|FIPS|AES|RSA|X|COVID|BASE|US|UK|LATIN|CP|KOI8|EUC|MP|USB|HTTP|TLS|SSL)\d?-`,
	}, false},
	{PatternRule{Name: "email", Type: "Email address", Pattern: `\b[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}\b`}, false},
	{PatternRule{Name: "url", Type: "URL", Pattern: `\bhttps?://[^\s<>"'` + "`" + `)\]}]{1,900}[^\s<>"'` + "`" + `)\]}.,;:!?]`}, false},
	{PatternRule{Name: "version", Type: "Version", Pattern: `\bv?\d{1,4}\.\d{1,4}\.\d{1,5}(?:[-+][0-9A-Za-z.-]{1,32})?\b`}, false},
}

// BuiltinPatterns names the ready-made patterns; defaults are those that are
// used where the configuration names none.
func BuiltinPatterns() (all, defaults []string) {
	for _, b := range builtinPatterns {
		all = append(all, b.rule.Name)
		if b.byDefault {
			defaults = append(defaults, b.rule.Name)
		}
	}
	return all, defaults
}

// rules lists the chosen built-in rules and then the configured ones.
func (c PatternConfig) rules() ([]PatternRule, error) {
	all, names := BuiltinPatterns()
	if c.Builtin != nil {
		names = c.Builtin
	}
	var rules []PatternRule
	for _, name := range names {
		place := slices.Index(all, name)
		if place < 0 {
			return nil, fmt.Errorf("patterns, field builtin: there is no pattern %q; choose from %s", name, strings.Join(all, ", "))
		}
		rules = append(rules, builtinPatterns[place].rule)
	}
	seen := map[string]bool{}
	for i, rule := range c.Rules {
		if rule.Name == "" {
			return nil, fmt.Errorf("patterns, rules[%d]: field name is missing", i)
		}
		if seen[rule.Name] {
			return nil, fmt.Errorf("pattern %q, field name: two rules have it", rule.Name)
		}
		seen[rule.Name] = true
		rules = append(rules, rule)
	}
	return rules, nil
}
