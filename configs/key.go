package configs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Kind is how a setting is written.
type Kind string

// The kinds of setting, with the Go type of their values.
const (
	KindText     Kind = "text"     // string
	KindPath     Kind = "path"     // string; relative to the file it is written in, else to the working directory
	KindInt      Kind = "integer"  // int
	KindNumber   Kind = "number"   // float64
	KindBool     Kind = "boolean"  // bool
	KindDuration Kind = "duration" // time.Duration
	KindSize     Kind = "size"     // int64, bytes
	KindList     Kind = "list"     // []string
	KindSecret   Kind = "secret"   // Secret
	KindRules    Kind = "rules"    // []Rule
	KindYAML     Kind = "yaml"     // []byte, decoded elsewhere
)

// Key is one setting: the table of them is the one place that knows names,
// defaults and bounds.
type Key struct {
	Name        string // dotted, as nested in the file: "falkor.port"
	Kind        Kind
	Default     any    // of the kind's type
	DefaultNote string // what an empty default stands for; "" when it is what it says
	Description string
	Min, Max    float64  // inclusive, for integers, numbers, durations (nanoseconds) and sizes (bytes)
	Allowed     []string // of a text, or of each element of a list; none = any
	Aliases     []string // further environment variables, of less weight than EnvName
	Flag        string   // command line flag without dashes; "" for none
	// check refuses values that bounds cannot describe; rule says what it allows.
	check func(value string) error
	rule  string
	URL   bool // of a path: an s3:// or file:// address may stand for it
	// mayHoldSecret keeps the text out of errors.
	mayHoldSecret bool
}

// EnvName is the setting's own environment variable: GRAPHMILL_FALKOR_PORT.
func (k *Key) EnvName() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_"))
}

// EnvNames are all its environment variables, the weightiest first.
func (k *Key) EnvNames() []string {
	return append([]string{k.EnvName()}, k.Aliases...)
}

// AllowedText says what may be written, for errors and tables.
func (k *Key) AllowedText() string {
	switch k.Kind {
	case KindInt:
		if k.Min == k.Max {
			return fmt.Sprintf("%d only", int64(k.Min))
		}
		return fmt.Sprintf("an integer from %d to %d", int64(k.Min), int64(k.Max))
	case KindNumber:
		return fmt.Sprintf("a number from %s to %s", formatFloat(k.Min), formatFloat(k.Max))
	case KindBool:
		return "true or false"
	case KindDuration:
		return fmt.Sprintf("a duration such as 30s, 5m or 1h30m, from %s to %s",
			formatDuration(time.Duration(k.Min)), formatDuration(time.Duration(k.Max)))
	case KindSize:
		return fmt.Sprintf("a size such as 800KiB, 50MiB or 2GiB, from %s to %s", formatSize(int64(k.Min)), formatSize(int64(k.Max)))
	case KindList:
		if len(k.Allowed) > 0 {
			return "a list of one or more of " + strings.Join(k.Allowed, ", ")
		}
		return "a list of " + k.rule
	case KindRules:
		return "a list of rules {match, chunker, extractor, resolver, max_chunks, " + strings.Join(RuleParameters(), ", ") + "}"
	case KindYAML:
		return "a mapping"
	case KindPath:
		if k.URL {
			return "a path, file:///PATH or s3://BUCKET/PREFIX?region=…&endpoint=…"
		}
		return "a path"
	case KindSecret:
		return "a text"
	}
	if len(k.Allowed) > 0 {
		return "one of " + strings.Join(k.Allowed, ", ")
	}
	return k.rule
}

// validate checks a value of the kind's type; the error says what is wrong,
// not what is allowed.
func (k *Key) validate(value any) error {
	switch v := value.(type) {
	case int:
		return k.inBounds(float64(v))
	case int64:
		return k.inBounds(float64(v))
	case float64:
		return k.inBounds(v)
	case time.Duration:
		return k.inBounds(float64(v))
	case string:
		return k.validText(v)
	case Secret:
		return noControl(string(v))
	case []string:
		return k.validList(v)
	}
	return nil
}

func (k *Key) inBounds(v float64) error {
	if v >= k.Min && v <= k.Max { // false for NaN
		return nil
	}
	return errOutOfRange
}

func (k *Key) validText(v string) error {
	if err := noControl(v); err != nil {
		return err
	}
	if len(k.Allowed) > 0 && !slices.Contains(k.Allowed, v) {
		return errNotAllowed
	}
	if k.check != nil && v != "" {
		return k.check(v)
	}
	if v == "" && k.Kind == KindText && k.Default != "" {
		return fmt.Errorf("is empty")
	}
	return nil
}

func (k *Key) validList(v []string) error {
	if len(v) == 0 && len(k.Allowed) > 0 {
		return fmt.Errorf("is empty")
	}
	for _, item := range v {
		if item == "" {
			return fmt.Errorf("has an empty element")
		}
		if err := noControl(item); err != nil {
			return err
		}
		if len(k.Allowed) > 0 && !slices.Contains(k.Allowed, item) {
			return fmt.Errorf("has %q, which is not known", item)
		}
		if k.check != nil {
			if err := k.check(item); err != nil {
				return fmt.Errorf("has %q, which %w", item, err)
			}
		}
	}
	return nil
}

func noControl(v string) error {
	if !utf8.ValidString(v) {
		return fmt.Errorf("is no valid UTF-8")
	}
	if i := strings.IndexFunc(v, func(r rune) bool { return r < 0x20 || r == 0x7f }); i >= 0 {
		return fmt.Errorf("has a control character (%s)", strconv.QuoteRune(rune(v[i])))
	}
	return nil
}

// format writes a value as it would stand in the environment; secrets masked.
func (k *Key) format(value any) string {
	switch v := value.(type) {
	case time.Duration:
		return formatDuration(v)
	case int64:
		return formatSize(v)
	case float64:
		return formatFloat(v)
	case []string:
		return strings.Join(v, ",")
	case []Rule:
		return formatRules(v)
	case []byte:
		if len(v) == 0 {
			return ""
		}
		return fmt.Sprintf("(%d bytes of YAML)", len(v))
	}
	return fmt.Sprint(value)
}

func formatRules(rules []Rule) string {
	matches := make([]string, len(rules))
	for i, rule := range rules {
		matches[i] = rule.Match
	}
	return strings.Join(matches, ",")
}

func formatFloat(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// formatDuration is time.Duration.String without zero parts: "2m", not "2m0s".
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
