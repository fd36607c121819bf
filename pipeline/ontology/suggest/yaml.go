package suggest

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// YAML writes the suggestion as an ontology file with what speaks for each type
// as comments. [ontology.Parse] reads it as [Suggestion.Ontology]; what is
// doubtful stands below, commented out. origin is said in the first line.
//
// Text of documents stands in comments alone, without a line break: none can
// declare anything.
func (s *Suggestion) YAML(origin string) ([]byte, error) {
	w := yamlWriter{}
	w.comment("", "An ontology suggested from %s.", origin)
	w.comment("", "Strike what is not meant, rename what has a better name, describe what is left, and declare it:")
	w.comment("", "    ingestd ontology set FILE          (or: ingestd run --ontology FILE)")
	w.types(s)
	return []byte(w.out.String()), w.err
}

type yamlWriter struct {
	out strings.Builder
	err error
}

func (w *yamlWriter) line(text string) { w.out.WriteString(text + "\n") }

// comment writes one line. Nothing in it can end it.
func (w *yamlWriter) comment(indent, format string, args ...any) {
	w.line(indent + "# " + oneLine(fmt.Sprintf(format, args...)))
}

// oneLine keeps what a YAML reader takes for a line break, or refuses, out.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r < ' ', r >= 0x7f && r < 0xa0, r == '\u2028', r == '\u2029', r == '\ufeff', r == '\ufffe', r == '\uffff':
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}

func (w *yamlWriter) types(s *Suggestion) {
	var sure, doubtful []func()
	for _, e := range s.Entities {
		if e.Doubtful {
			doubtful = append(doubtful, func() { w.entity("# ", e) })
		} else {
			sure = append(sure, func() { w.entity("", e) })
		}
	}
	w.list("entities", sure, doubtful)
	sure, doubtful = nil, nil
	var once []Relation
	for _, r := range s.Relations {
		switch {
		case !r.Doubtful:
			sure = append(sure, func() { w.relation("", r) })
		case r.Facts > 1 || r.Type.Description != "":
			doubtful = append(doubtful, func() { w.relation("# ", r) })
		default:
			once = append(once, r)
		}
	}
	w.list("relations", sure, doubtful)
	if len(once) == 0 {
		return
	}
	w.line("")
	w.comment("", "Said once, between entities of these types:")
	for _, r := range once {
		w.comment("", "  [%s, %s] %s", r.Pairs[0].Source, r.Pairs[0].Target, r.Pairs[0].Example)
	}
}

// list writes the entries of a key. Those that are doubted stand below the
// others, where they belong once their # is taken away.
func (w *yamlWriter) list(key string, sure, doubtful []func()) {
	w.line("")
	// A key without an entry is an empty list.
	w.line(key + ":")
	for _, write := range sure {
		write()
	}
	if len(doubtful) == 0 {
		return
	}
	w.line("")
	w.comment("  ", "Seen too rarely to be sure of. Take \"# \", with its space, away from each line of what is meant.")
	for _, write := range doubtful {
		write()
	}
}

func (w *yamlWriter) entity(prefix string, e Entity) {
	w.comment(prefix+"  ", "%s of %s in %s: %s", many(e.Mentions, "mention"), many(e.Names, "name"), many(e.Files, "file"), strings.Join(e.Examples, ", "))
	w.item(prefix, e.Type)
}

func many(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func (w *yamlWriter) relation(prefix string, r Relation) {
	w.comment(prefix+"  ", "%s in %s", many(r.Facts, "fact"), many(r.Files, "file"))
	for _, p := range r.Pairs {
		w.comment(prefix+"  ", "  [%s, %s] %d, for example %s", p.Source, p.Target, p.Facts, p.Example)
	}
	t := r.Type
	t.Description, t.Cues, t.PassiveCues = strings.TrimSpace(t.Description), tidied(t.Cues), tidied(t.PassiveCues)
	w.item(prefix, t)
}

// tidied has cues as they are read.
func tidied(cues []string) (out []string) {
	for _, cue := range cues {
		out = append(out, strings.Join(strings.Fields(cue), " "))
	}
	return out
}

// item writes one entry of a list, in the form of an ontology file.
func (w *yamlWriter) item(prefix string, value any) {
	var node yaml.Node
	if err := node.Encode(value); err != nil {
		w.err = err
		return
	}
	// Cues are many and short.
	for i := 0; i+1 < len(node.Content); i += 2 {
		if key := node.Content[i].Value; key == "cues" || key == "passive_cues" || key == "patterns" {
			node.Content[i+1].Style = yaml.FlowStyle
		}
	}
	quoteBreaks(&node)
	data, err := yaml.Marshal([]*yaml.Node{&node})
	if err != nil {
		w.err = err
		return
	}
	for line := range strings.Lines(string(data)) {
		w.line(prefix + "  " + strings.TrimRight(line, "\n"))
	}
}

// quoteBreaks has strings with what ends a line somewhere written with escapes:
// left as they are, they would end a comment.
func quoteBreaks(node *yaml.Node) {
	if node.Kind == yaml.ScalarNode && node.Value != oneLine(node.Value) {
		node.Style = yaml.DoubleQuotedStyle
	}
	for _, child := range node.Content {
		quoteBreaks(child)
	}
}
