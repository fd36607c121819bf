package configs

import (
	"fmt"
	"io"
)

// masked is what is printed for a secret.
const masked = "********"

// Secret is text that never prints: every verb of fmt, JSON and YAML give
// asterisks. Reveal is the only way to its text.
type Secret string

// Reveal returns the text, to hand to the server it is meant for.
func (s Secret) Reveal() string { return string(s) }

// String returns asterisks, or "" for no secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return masked
}

// GoString masks %#v.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// Format masks every verb.
func (s Secret) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, s.String()) }

// MarshalText masks JSON, XML and whatever else asks for text.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalYAML masks YAML.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }
