package toolserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
)

// check returns the arguments in the form in which the handler decodes them, or
// an *Error that says what the schema does not admit.
func (t *Tool) check(arguments []byte) ([]byte, error) {
	if len(bytes.TrimSpace(arguments)) == 0 || string(bytes.TrimSpace(arguments)) == "null" {
		arguments = []byte("{}")
	}
	var value any
	if err := json.Unmarshal(arguments, &value); err != nil {
		return nil, t.refuse("are not JSON: %s", brief(err.Error()))
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, t.refuse("must be a JSON object")
	}
	names := slices.Sorted(maps.Keys(t.Input.Properties))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(names, name) {
			return nil, t.refuse("hold %.80q, which %s does not take%s", name, t.Name, didYouMean(name, names))
		}
	}
	if err := t.schema.Validate(value); err != nil {
		return nil, t.refuse("are not right: %s", plain(err))
	}
	// Decoded and written again, 2.0 is the integer it stands for and of a name
	// that stands twice one is left, the one that was checked.
	return json.Marshal(value)
}

func (t *Tool) refuse(format string, args ...any) error {
	return &Error{
		Kind:    Usage,
		Message: fmt.Sprintf("The arguments of %s ", t.Name) + fmt.Sprintf(format, args...),
		Hint:    "It takes " + t.signature(),
	}
}

// signature lists the arguments: "question (string, required), top_k (integer)".
func (t *Tool) signature() string {
	names := slices.Sorted(maps.Keys(t.Input.Properties))
	if len(names) == 0 {
		return "no arguments"
	}
	slices.SortStableFunc(names, func(a, b string) int { return t.rank(a) - t.rank(b) })
	for i, name := range names {
		p := t.Input.Properties[name]
		about := p.Type
		if p.Items != nil && len(p.Items.Enum) > 0 {
			about += fmt.Sprintf(" of %v", p.Items.Enum)
		}
		if p.Minimum != nil && p.Maximum != nil {
			about += fmt.Sprintf(" from %g to %g", *p.Minimum, *p.Maximum)
		}
		if t.rank(name) == 0 {
			about += ", required"
		}
		names[i] = fmt.Sprintf("%s (%s)", name, about)
	}
	return strings.Join(names, ", ")
}

func (t *Tool) rank(name string) int {
	if slices.Contains(t.Input.Required, name) {
		return 0
	}
	return 1
}

var (
	wherePrefix = regexp.MustCompile(`validating (root|/properties)?([^:]*): `)
	ratio       = regexp.MustCompile(`\b(-?\d+)/1\b`)
	zeros       = regexp.MustCompile(`(\d)\.0+\b`)
)

// plain words a validator's message for a caller: "top_k: minimum: 0 is less than 1".
// A message quotes the argument, which may be megabytes.
func plain(err error) string {
	text := strings.ReplaceAll(brief(err.Error()), "<invalid reflect.Value>", "it") // how the validator calls null
	place := ""
	for {
		found := wherePrefix.FindStringSubmatch(text)
		if found == nil || !strings.HasPrefix(text, found[0]) {
			break
		}
		text = text[len(found[0]):]
		if name := strings.Trim(found[2], "/"); name != "" {
			place, _, _ = strings.Cut(name, "/")
		}
	}
	text = zeros.ReplaceAllString(ratio.ReplaceAllString(text, "$1"), "$1")
	if place != "" {
		text = place + ": " + text
	}
	return text
}

// didYouMean names the nearest of names, if one is near.
func didYouMean(name string, names []string) string {
	best, distance := "", max(2, len(name)/3)+1
	for _, candidate := range names {
		if d := editDistance(strings.ToLower(name), strings.ToLower(candidate)); d < distance {
			best, distance = candidate, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

func editDistance(a, b string) int {
	const longest = 64
	if len(a) > longest || len(b) > longest {
		return math.MaxInt // none that anybody mistyped
	}
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		before := row[0]
		row[0] = i + 1
		for j := range y {
			change := before
			if x[i] != y[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(y)]
}
