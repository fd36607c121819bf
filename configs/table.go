package configs

import (
	"fmt"
	"reflect"
	"strings"
)

// table is the keys by name.
type table struct {
	keys     []Key
	byName   map[string]*Key
	sections map[string]bool
}

func newTable() *table {
	t := &table{keys: Keys(), byName: map[string]*Key{}, sections: map[string]bool{}}
	for i := range t.keys {
		name := t.keys[i].Name
		t.byName[name] = &t.keys[i]
		for j, r := range name {
			if r == '.' {
				t.sections[name[:j]] = true
			}
		}
	}
	return t
}

func (t *table) key(name string) *Key       { return t.byName[name] }
func (t *table) isSection(name string) bool { return t.sections[name] }

// names are all keys and sections, for suggestions.
func (t *table) names() []string {
	names := make([]string, 0, len(t.keys)+len(t.sections))
	for i := range t.keys {
		names = append(names, t.keys[i].Name)
	}
	for section := range t.sections {
		names = append(names, section)
	}
	return names
}

// field is the struct field of a key, settable.
func field(cfg *Config, name string) reflect.Value {
	value := reflect.ValueOf(cfg).Elem()
	for part := range strings.SplitSeq(name, ".") {
		value = taggedField(value, part)
		if !value.IsValid() {
			return value
		}
	}
	return value
}

func taggedField(value reflect.Value, tag string) reflect.Value {
	if value.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	for i := range value.NumField() {
		if value.Type().Field(i).Tag.Get("key") == tag {
			return value.Field(i)
		}
	}
	return reflect.Value{}
}

func setField(target reflect.Value, value any) { target.Set(reflect.ValueOf(value)) }

// Problem is one thing wrong with the configuration.
type Problem struct {
	Where   string // "graphmill.yaml:12", "environment FALKOR_PORT", "flag --jobs"
	Key     string // "falkor.port"; "" when the file as a whole is meant
	Message string // `"99999" is out of range; allowed is an integer from 1 to 65535`
}

func (p Problem) String() string {
	parts := []string{}
	for _, part := range []string{p.Where, p.Key, p.Message} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ": ")
}

// Error is everything wrong with the configuration; programs exit with 2.
type Error struct {
	Problems []Problem
}

func (e *Error) Error() string {
	if len(e.Problems) == 1 {
		return "read configuration: " + e.Problems[0].String()
	}
	lines := make([]string, 0, len(e.Problems)+1)
	lines = append(lines, fmt.Sprintf("read configuration: %d problems:", len(e.Problems)))
	for _, p := range e.Problems {
		lines = append(lines, "  "+p.String())
	}
	return strings.Join(lines, "\n")
}

// problem words an invalid value: what stands there, what is wrong, what is
// allowed. A secret's text stays out of it.
func (k *Key) problem(where, text string, err error) Problem {
	const longest = 120
	message := err.Error()
	if text != "" && k.Kind != KindSecret && !k.mayHoldSecret {
		if len(text) > longest {
			text = strings.ToValidUTF8(text[:longest], "") + "…"
		}
		message = fmt.Sprintf("%q %s", text, message)
	}
	return Problem{Where: where, Key: k.Name, Message: message + "; allowed is " + k.AllowedText()}
}
