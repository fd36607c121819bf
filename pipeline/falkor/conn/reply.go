package conn

import (
	"fmt"
	"strconv"
)

// The types of values in a compact reply. Nodes, edges and paths would need the
// graph's table of names, which only a writing command reads: statements return
// explicit columns instead.
const (
	typeNull   = 1
	typeString = 2
	typeInt    = 3
	typeBool   = 4
	typeFloat  = 5
	typeList   = 6
	typeEdge   = 7
	typeNode   = 8
	typePath   = 9
	typeMap    = 10
	typePoint  = 11
	typeVector = 12
)

var typeNames = map[int64]string{
	typeEdge: "an edge", typeNode: "a node", typePath: "a path", typePoint: "a point",
	13: "a date and time", 14: "a date", 15: "a time", 16: "a duration",
}

// Vector is a vector as it is stored. Only what copies a graph whole asks for
// one: the engine prints each number as text.
type Vector []float32

type decodeError struct{ text string }

func (e *decodeError) Error() string { return e.text }

func badReply(format string, args ...any) error {
	return &decodeError{fmt.Sprintf(format, args...)}
}

// Decode reads the answer to a statement sent with --compact. The verbose form
// is of no use here: it prints a list as text, in which a comma inside an item
// cannot be told from one between items.
func Decode(reply any) (*Rows, error) {
	parts, ok := reply.([]any)
	if !ok || len(parts) == 0 {
		return nil, badReply("the answer is %T, not a result", reply)
	}
	if err, isErr := parts[len(parts)-1].(error); isErr {
		return nil, err
	}
	rows := &Rows{}
	if len(parts) < 3 {
		return rows, rows.decodeStats(parts[len(parts)-1])
	}
	if err := rows.decodeHeader(parts[0]); err != nil {
		return nil, err
	}
	body, ok := parts[1].([]any)
	if !ok {
		return nil, badReply("the rows are %T", parts[1])
	}
	rows.values = make([][]any, len(body))
	for i, raw := range body {
		cells, ok := raw.([]any)
		if !ok || len(cells) != len(rows.Columns) {
			return nil, badReply("row %d does not have %d columns", i, len(rows.Columns))
		}
		for j := range cells {
			value, err := decodeCell(cells[j])
			if err != nil {
				return nil, badReply("row %d, column %s: %v", i, rows.Columns[j], err)
			}
			cells[j] = value
		}
		rows.values[i] = cells
	}
	return rows, rows.decodeStats(parts[2])
}

func (r *Rows) decodeHeader(raw any) error {
	header, ok := raw.([]any)
	if !ok {
		return badReply("the header is %T", raw)
	}
	for _, h := range header {
		pair, ok := h.([]any)
		if !ok || len(pair) != 2 {
			return badReply("a column of the header is %T", h)
		}
		name, ok := pair[1].(string)
		if !ok {
			return badReply("a column's name is %T", pair[1])
		}
		r.Columns = append(r.Columns, name)
	}
	return nil
}

func (r *Rows) decodeStats(raw any) error {
	stats, ok := raw.([]any)
	if !ok {
		return badReply("the statistics are %T", raw)
	}
	for _, s := range stats {
		if text, ok := s.(string); ok {
			r.stats = append(r.stats, text)
		}
	}
	return nil
}

func decodeCell(raw any) (any, error) {
	pair, ok := raw.([]any)
	if !ok || len(pair) != 2 {
		return nil, badReply("a value is %T", raw)
	}
	kind, ok := pair[0].(int64)
	if !ok {
		return nil, badReply("a value's type is %T", pair[0])
	}
	switch kind {
	case typeNull:
		return nil, nil
	case typeString:
		if s, ok := pair[1].(string); ok {
			return s, nil
		}
	case typeInt:
		if n, ok := pair[1].(int64); ok {
			return n, nil
		}
	case typeBool:
		if s, ok := pair[1].(string); ok {
			return s == "true", nil
		}
	case typeFloat:
		if s, ok := pair[1].(string); ok {
			f, err := strconv.ParseFloat(s, 64)
			if err != nil && s == "-nan" {
				f, err = strconv.ParseFloat("nan", 64)
			}
			return f, err
		}
	case typeList:
		return decodeList(pair[1])
	case typeMap:
		return decodeMap(pair[1])
	case typeVector:
		return decodeVector(pair[1])
	default:
		name := typeNames[kind]
		if name == "" {
			name = "a value of unknown type " + strconv.FormatInt(kind, 10)
		}
		return nil, badReply("it is %s; return its properties as columns instead", name)
	}
	return nil, badReply("a value of type %d is %T", kind, pair[1])
}

func decodeList(raw any) (any, error) {
	items, ok := raw.([]any)
	if !ok {
		return nil, badReply("a list is %T", raw)
	}
	for i := range items {
		value, err := decodeCell(items[i])
		if err != nil {
			return nil, err
		}
		items[i] = value
	}
	return items, nil
}

func decodeVector(raw any) (any, error) {
	items, ok := raw.([]any)
	if !ok {
		return nil, badReply("a vector is %T", raw)
	}
	vector := make(Vector, len(items))
	for i, item := range items {
		text, _ := item.(string)
		f, err := strconv.ParseFloat(text, 32)
		if err != nil {
			return nil, badReply("a vector holds %v", item)
		}
		vector[i] = float32(f)
	}
	return vector, nil
}

func decodeMap(raw any) (any, error) {
	flat, ok := raw.([]any)
	if !ok || len(flat)%2 != 0 {
		return nil, badReply("a map is %T", raw)
	}
	m := make(map[string]any, len(flat)/2)
	for i := 0; i < len(flat); i += 2 {
		key, ok := flat[i].(string)
		if !ok {
			return nil, badReply("a map's key is %T", flat[i])
		}
		value, err := decodeCell(flat[i+1])
		if err != nil {
			return nil, err
		}
		m[key] = value
	}
	return m, nil
}
