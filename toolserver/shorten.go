package toolserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// shorten fits a JSON object into limit characters: the longest list first, at
// any depth, then long strings. The result is valid JSON, marked as truncated,
// with a hint that names the lists that were cut. What lost a part of itself also
// loses its evidence number: it would be cited for what was not sent. The
// numbers that are gone are returned. setting is what bounds the reply, for the hint.
func shorten(data []byte, limit int, setting string) ([]byte, []int, error) {
	if utf8.RuneCount(data) <= limit {
		return data, nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber() // integers beyond 2^53 stay what they are
	var root map[string]any
	if err := decoder.Decode(&root); err != nil {
		return nil, nil, fmt.Errorf("shorten reply: %w", err)
	}
	before := numbers(root)
	root["truncated"] = true
	s := &shortening{root: root, hint: text(root["hint"]), setting: setting}
	for exhausted := false; ; {
		s.note()
		out, err := marshal(root)
		if err != nil {
			return nil, nil, fmt.Errorf("shorten reply: %w", err)
		}
		over := utf8.RuneCount(out) - limit
		if over <= 0 || exhausted {
			return out, lost(before, numbers(root)), nil
		}
		// Writing the whole again after every cut would take most of a call's time.
		for over > 0 && !exhausted {
			freed := s.cut(over)
			over -= freed
			exhausted = freed == 0
		}
	}
}

// size is how many characters a value takes in JSON.
func size(value any) int {
	data, err := marshal(value)
	if err != nil {
		return 1 // shorten meets the error itself
	}
	return utf8.RuneCount(data)
}

// shortestCut keeps strings readable.
const shortestCut = 80

type shortening struct {
	root    map[string]any
	hint    string // the tool's own
	setting string // what bounds the reply; "" for nothing that could be raised
	lists   []string
	texts   bool
}

// note keeps the hint up to date: it is part of what must fit.
func (s *shortening) note() {
	var cut []string
	if len(s.lists) > 0 {
		cut = append(cut, "cut lists: "+strings.Join(s.lists, ", "))
	}
	if s.texts {
		cut = append(cut, "long texts end with …")
	}
	if len(cut) == 0 {
		return
	}
	hint := "Shortened to fit (" + strings.Join(cut, "; ") + "). Ask for less"
	if s.setting != "" {
		hint += ", or raise " + s.setting
	}
	hint += "."
	if s.hint != "" {
		hint = s.hint + " " + hint
	}
	s.root["hint"] = hint
}

// cut takes about over characters off, at most a quarter of the longest list at
// once, so that lists of like length are shortened alike. It returns how many
// went, 0 when nothing is left to take.
func (s *shortening) cut(over int) int {
	var list, longest place
	chars := 0 // of the longest
	walk(s.root, place{}, func(p place) {
		switch v := p.value.(type) {
		case []any:
			if n, m := len(v), list.length(); n > m || n == m && n > 0 && p.path < list.path {
				list = p
			}
		case string:
			// In characters: a short text of another script has more bytes than a long one.
			if p.path != "hint" && len(v) > chars && utf8.RuneCountInString(v) > chars {
				longest, chars = p, utf8.RuneCountInString(v)
			}
		}
	})
	switch {
	case list.length() > 1:
		return s.cutList(list, max(1, list.length()/4))
	case chars > shortestCut:
		return s.cutText(longest, over)
	case list.length() == 1:
		return s.cutList(list, 1)
	}
	return 0
}

func (s *shortening) cutList(p place, count int) int {
	items := p.value.([]any)
	p.set(items[:len(items)-count])
	p.uncite()
	if name := listName(p.path); !slices.Contains(s.lists, name) {
		s.lists = append(s.lists, name)
		slices.Sort(s.lists)
	}
	return size(items[len(items)-count:]) - 1 // each has a comma, as in this list, which adds brackets
}

func (s *shortening) cutText(p place, over int) int {
	runes := []rune(p.value.(string))
	keep := max(shortestCut-1, min(len(runes)-1-over, len(runes)*3/4))
	short := string(runes[:keep]) + "…"
	p.set(short)
	p.uncite()
	s.texts = true
	return max(1, size(p.value)-size(short))
}

// listName is a path without positions: passages, facts.evidence.
func listName(path string) string {
	var names []string
	for part := range strings.SplitSeq(path, ".") {
		if part != "#" {
			names = append(names, part)
		}
	}
	return strings.Join(names, ".")
}

// place is a value in the tree, with how to replace it and what it is part of.
type place struct {
	path  string
	value any
	set   func(any)
	cited map[string]any // the innermost object with an evidence number around it
}

func (p place) length() int {
	list, _ := p.value.([]any)
	return len(list)
}

func (p place) uncite() { delete(p.cited, "n") }

// walk visits every list and string, in one order.
func walk(value any, at place, visit func(place)) {
	at.value = value
	switch v := value.(type) {
	case map[string]any:
		if _, ok := v["n"]; ok {
			at.cited = v
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			walk(v[name], place{path: join(at.path, name), set: func(x any) { v[name] = x }, cited: at.cited}, visit)
		}
	case []any:
		visit(at)
		for i := range v {
			walk(v[i], place{path: join(at.path, "#"), set: func(x any) { v[i] = x }, cited: at.cited}, visit)
		}
	case string:
		visit(at)
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// numbers collects the evidence numbers in a tree.
func numbers(value any) map[int]bool {
	found := map[int]bool{}
	var visit func(any)
	visit = func(value any) {
		switch v := value.(type) {
		case map[string]any:
			if n, ok := v["n"].(json.Number); ok {
				if i, err := n.Int64(); err == nil {
					found[int(i)] = true
				}
			}
			for _, part := range v {
				visit(part)
			}
		case []any:
			for _, part := range v {
				visit(part)
			}
		}
	}
	visit(value)
	return found
}

func lost(before, after map[int]bool) []int {
	var gone []int
	for n := range before {
		if !after[n] {
			gone = append(gone, n)
		}
	}
	slices.Sort(gone)
	return gone
}

func text(value any) string {
	s, _ := value.(string)
	return s
}
