package cypher

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Params are a statement's parameters by name. Values may be nil, booleans,
// integers, floats, strings, slices and string-keyed maps of such values,
// [Record], and named types of these. NaN, infinities and integers beyond int64
// are errors: the engine would store something else.
type Params map[string]any

// Record is a map value with its keys in the order given. It renders faster than
// a Go map, which must be sorted first.
type Record []Field

// Field is one entry of a Record.
type Field struct {
	Name  string
	Value any
}

// maxDepth bounds how deep values nest.
const maxDepth = 32

const smallestNormal = 0x1p-1022

// Append renders "CYPHER name=value … " behind b, names sorted; nothing when
// there are no parameters.
func (p Params) Append(b []byte) ([]byte, error) {
	if len(p) == 0 {
		return b, nil
	}
	b = append(b, "CYPHER "...)
	for _, name := range sortedKeys(p) {
		if !isIdentifier(name) {
			return b, fmt.Errorf("render parameter %q: a parameter's name is letters, digits and _", name)
		}
		b = append(b, name...)
		b = append(b, '=')
		var err error
		if b, err = appendValue(b, p[name], 0); err != nil {
			return b, fmt.Errorf("render parameter %s: %w", name, err)
		}
		b = append(b, ' ')
	}
	return b, nil
}

func appendValue(b []byte, value any, depth int) ([]byte, error) {
	if depth > maxDepth {
		return b, fmt.Errorf("value nests deeper than %d", maxDepth)
	}
	switch v := value.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case float64:
		return appendFloat(b, v, 64)
	case float32:
		return appendFloat(b, float64(v), 32)
	case string:
		return appendString(b, v), nil
	case []string:
		return appendStrings(b, v), nil
	case []float32:
		return appendVector(b, v)
	case []Record:
		return appendList(b, len(v), func(b []byte, i int) ([]byte, error) { return appendRecord(b, v[i], depth+1) })
	case Record:
		return appendRecord(b, v, depth)
	case []any:
		return appendList(b, len(v), func(b []byte, i int) ([]byte, error) { return appendValue(b, v[i], depth+1) })
	case map[string]any:
		return appendMap(b, v, depth)
	}
	return appendReflected(b, reflect.ValueOf(value), depth)
}

// appendReflected renders the kinds that are seldom sent in bulk, and named
// types.
func appendReflected(b []byte, v reflect.Value, depth int) ([]byte, error) {
	switch v.Kind() {
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool()), nil
	case reflect.String:
		return appendString(b, v.String()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.AppendInt(b, v.Int(), 10), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if v.Uint() > math.MaxInt64 {
			return b, fmt.Errorf("integer %d is beyond 64 bits with sign", v.Uint())
		}
		return strconv.AppendUint(b, v.Uint(), 10), nil
	case reflect.Float32:
		return appendFloat(b, v.Float(), 32)
	case reflect.Float64:
		return appendFloat(b, v.Float(), 64)
	case reflect.Slice, reflect.Array:
		return appendList(b, v.Len(), func(b []byte, i int) ([]byte, error) { return appendValue(b, v.Index(i).Interface(), depth+1) })
	case reflect.Map:
		if v.Type().Key().Kind() != reflect.String {
			break
		}
		m := make(map[string]any, v.Len())
		for _, key := range v.MapKeys() {
			m[key.String()] = v.MapIndex(key).Interface()
		}
		return appendMap(b, m, depth)
	}
	return b, fmt.Errorf("a value of type %s has no form in Cypher", v.Type())
}

func appendList(b []byte, n int, item func([]byte, int) ([]byte, error)) ([]byte, error) {
	b = append(b, '[')
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = item(b, i); err != nil {
			return b, fmt.Errorf("item %d: %w", i, err)
		}
	}
	return append(b, ']'), nil
}

func appendStrings(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, s)
	}
	return append(b, ']')
}

func appendVector(b []byte, list []float32) ([]byte, error) {
	b = slices.Grow(b, 14*len(list)+2)
	b = append(b, '[')
	for i, f := range list {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendFloat(b, float64(f), 32); err != nil {
			return b, fmt.Errorf("item %d: %w", i, err)
		}
	}
	return append(b, ']'), nil
}

func appendRecord(b []byte, record Record, depth int) ([]byte, error) {
	b = append(b, '{')
	for i, field := range record {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendEntry(b, field.Name, field.Value, depth); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}

func appendMap(b []byte, m map[string]any, depth int) ([]byte, error) {
	b = append(b, '{')
	for i, key := range sortedKeys(m) {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendEntry(b, key, m[key], depth); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}

// appendEntry renders one key and value. Keys are always quoted: an unquoted one
// could be a reserved word.
func appendEntry(b []byte, key string, value any, depth int) ([]byte, error) {
	if !isIdentifier(key) {
		if err := checkName(key); err != nil {
			return b, err
		}
	}
	b = append(b, '`')
	b = append(b, key...)
	b = append(b, '`', ':')
	b, err := appendValue(b, value, depth+1)
	if err != nil {
		return b, fmt.Errorf("%s: %w", key, err)
	}
	return b, nil
}

// appendFloat keeps a float a float: 1 is written 1.0. The engine overflows on a
// subnormal number, which becomes zero.
func appendFloat(b []byte, f float64, bits int) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return b, fmt.Errorf("%v cannot be stored", f)
	}
	if math.Abs(f) < smallestNormal {
		return append(b, "0.0"...), nil
	}
	start := len(b)
	b = strconv.AppendFloat(b, f, 'g', -1, bits)
	for _, c := range b[start:] {
		if c == '.' || c == 'e' {
			return b, nil
		}
	}
	return append(b, ".0"...), nil
}

// appendString writes a string literal. The engine's own escapes are the only
// ones used; every other character goes raw. It cannot hold NUL, which is left
// out, and rejects what is not UTF-8, which becomes U+FFFD.
func appendString(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	b = append(b, '"')
	clean := 0
	for i := 0; i < len(s); i++ {
		escape := escapes[s[i]]
		if escape == "" {
			continue
		}
		b = append(b, s[clean:i]...)
		if s[i] != 0 {
			b = append(b, escape...)
		}
		clean = i + 1
	}
	b = append(b, s[clean:]...)
	return append(b, '"')
}

var escapes = [256]string{0: "-", '"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`}

// Clean returns s as it comes back from the graph: NUL left out, what is not
// UTF-8 replaced.
func Clean(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.ReplaceAll(s, "\x00", "")
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
