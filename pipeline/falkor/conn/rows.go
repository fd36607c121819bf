package conn

import (
	"slices"
	"strconv"
	"strings"
)

// Rows is a statement's result: named columns of nil, string, int64, float64,
// bool, []any and map[string]any. The typed accessors read null as the zero
// value; a value of another type, or a column that is not there, gives the zero
// value too and is kept for Err, so that a loop checks once, at its end.
type Rows struct {
	Columns []string
	values  [][]any
	stats   []string
	err     error
}

// Len is the number of rows.
func (r *Rows) Len() int { return len(r.values) }

// Err is the first mismatch that an accessor met.
func (r *Rows) Err() error { return r.err }

// Row is row i, in the order of Columns.
func (r *Rows) Row(i int) []any { return r.values[i] }

// Value is one value as it was decoded.
func (r *Rows) Value(i int, column string) any {
	j := slices.Index(r.Columns, column)
	if j < 0 {
		r.fail("read column %s: the result has %s", column, strings.Join(r.Columns, ", "))
		return nil
	}
	return r.values[i][j]
}

// String reads a string.
func (r *Rows) String(i int, column string) string { return scalar[string](r, i, column) }

// Int reads an integer.
func (r *Rows) Int(i int, column string) int { return int(scalar[int64](r, i, column)) }

// Bool reads a boolean.
func (r *Rows) Bool(i int, column string) bool { return scalar[bool](r, i, column) }

// Float reads a float; an integer is taken for one.
func (r *Rows) Float(i int, column string) float64 {
	if n, ok := r.Value(i, column).(int64); ok {
		return float64(n)
	}
	return scalar[float64](r, i, column)
}

// Strings reads a list of strings.
func (r *Rows) Strings(i int, column string) []string {
	list := scalar[[]any](r, i, column)
	if len(list) == 0 {
		return nil
	}
	out := make([]string, len(list))
	for k, item := range list {
		s, ok := item.(string)
		if !ok {
			r.fail("read column %s: item %d of the list in row %d is %T, not a string", column, k, i, item)
			return nil
		}
		out[k] = s
	}
	return out
}

// Floats reads a list of numbers.
func (r *Rows) Floats(i int, column string) []float64 {
	list := scalar[[]any](r, i, column)
	if len(list) == 0 {
		return nil
	}
	out := make([]float64, len(list))
	for k, item := range list {
		switch v := item.(type) {
		case float64:
			out[k] = v
		case int64:
			out[k] = float64(v)
		default:
			r.fail("read column %s: item %d of the list in row %d is %T, not a number", column, k, i, item)
			return nil
		}
	}
	return out
}

func scalar[T any](r *Rows, i int, column string) T {
	var zero T
	value := r.Value(i, column)
	if value == nil {
		return zero
	}
	v, ok := value.(T)
	if !ok {
		r.fail("read column %s: row %d holds %T, not %T", column, i, value, zero)
		return zero
	}
	return v
}

func (r *Rows) fail(format string, args ...any) {
	if r.err == nil {
		r.err = badReply(format, args...)
	}
}

// Stat is one of the engine's counters for a writing statement, such as "Nodes
// created"; 0 when it was not reported.
func (r *Rows) Stat(name string) int {
	for _, s := range r.stats {
		if rest, ok := strings.CutPrefix(s, name+": "); ok {
			n, err := strconv.Atoi(rest)
			if err == nil {
				return n
			}
		}
	}
	return 0
}
