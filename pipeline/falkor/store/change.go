package store

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/graph"
)

// maxIDBytes bounds what MERGE looks up.
const maxIDBytes = 512

// Validate reports what would keep the document from being committed whole: ids
// that the graph cannot hold, types that cannot be labels, rows that point to
// nothing. [Store.Commit] refuses such a change before it writes anything.
func (c Change) Validate() error {
	g := c.Graph
	fail := func(format string, args ...any) error {
		return fmt.Errorf("commit %s: %s", g.Document.Path, fmt.Sprintf(format, args...))
	}
	if err := checkID(g.Document.ID); err != nil {
		return fail("document: %v", err)
	}
	chunks, sections, entities := map[graph.ChunkID]bool{}, map[graph.SectionID]bool{}, map[graph.EntityID]bool{}
	for _, chunk := range g.Chunks {
		if err := checkID(chunk.ID); err != nil || chunks[chunk.ID] {
			return fail("chunk %q: %v", chunk.ID, orTwice(err))
		}
		chunks[chunk.ID] = true
	}
	for _, section := range g.Sections {
		if err := checkID(section.ID); err != nil || sections[section.ID] {
			return fail("section %q: %v", section.ID, orTwice(err))
		}
		sections[section.ID] = true
	}
	for _, section := range g.Sections {
		if section.Parent != "" && !sections[section.Parent] {
			return fail("section %q: its parent %q is not in the document", section.ID, section.Parent)
		}
		for _, id := range section.Chunks {
			if !chunks[id] {
				return fail("section %q: chunk %q is not in the document", section.ID, id)
			}
		}
	}
	for _, entity := range g.Entities {
		if err := checkID(entity.ID); err != nil || entities[entity.ID] {
			return fail("entity %q: %v", entity.ID, orTwice(err))
		}
		if _, err := cypher.Label(entity.Type); err != nil || reserved(entity.Type) {
			return fail("entity %q: type %q cannot be a label", entity.ID, entity.Type)
		}
		entities[entity.ID] = true
	}
	return c.validateLinks(chunks, entities, fail)
}

func (c Change) validateLinks(chunks map[graph.ChunkID]bool, entities map[graph.EntityID]bool, fail func(string, ...any) error) error {
	type place struct {
		entity graph.EntityID
		chunk  graph.ChunkID
	}
	mentions, mentioned := map[place]bool{}, map[graph.EntityID]bool{}
	for _, m := range c.Graph.Mentions {
		at := place{m.Entity, m.Chunk}
		switch {
		case !entities[m.Entity] || !chunks[m.Chunk]:
			return fail("mention of %q in chunk %q: not in the document", m.Entity, m.Chunk)
		case mentions[at]:
			return fail("mention of %q in chunk %q: it stands there twice", m.Entity, m.Chunk)
		case len(m.Names) == 0 || clean(m.Names[0]) == "":
			return fail("mention of %q in chunk %q: it has no name", m.Entity, m.Chunk)
		}
		mentions[at], mentioned[m.Entity] = true, true
	}
	for id := range entities {
		if !mentioned[id] {
			return fail("entity %q: nothing mentions it", id)
		}
	}
	for _, r := range c.Graph.Relations {
		if !entities[r.Source] || !entities[r.Target] {
			return fail("relation %q -%s-> %q: an end is not in the document", r.Source, r.Type, r.Target)
		}
		if err := checkID(r.Type); err != nil {
			return fail("relation type %q: %v", r.Type, err)
		}
		if len(r.Evidence) == 0 {
			return fail("relation %q -%s-> %q: it has no evidence", r.Source, r.Type, r.Target)
		}
		for _, e := range r.Evidence {
			if !chunks[e.Chunk] {
				return fail("relation %q -%s-> %q: chunk %q is not in the document", r.Source, r.Type, r.Target, e.Chunk)
			}
		}
	}
	return nil
}

func orTwice(err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("it stands there twice")
}

// checkID refuses what MERGE would not find again.
func checkID[S ~string](id S) error {
	s := string(id)
	switch {
	case s == "":
		return fmt.Errorf("it has no id")
	case len(s) > maxIDBytes:
		return fmt.Errorf("its id is longer than %d bytes", maxIDBytes)
	case !utf8.ValidString(s):
		return fmt.Errorf("its id is not UTF-8")
	case strings.TrimSpace(s) != s || strings.ContainsRune(s, 0):
		return fmt.Errorf("its id begins or ends with white space or holds NUL")
	}
	return nil
}

// reserved reports whether a label is one of the graph's own.
func reserved(label string) bool {
	return label == "Chunk" || label == "Document" || strings.HasPrefix(label, "__") && strings.HasSuffix(label, "__")
}

// shares returns what the document says of each of its entities, those that were
// merged into others as theirs.
func (c Change) shares(merged targets) map[string]share {
	out := make(map[string]share, len(c.Graph.Entities))
	for _, m := range c.Graph.Mentions {
		stored := storedMention(m)
		id, moved := merged.of(string(m.Entity))
		if moved {
			stored.origin = string(m.Entity)
		}
		out[id] = out[id].merge(stored.share())
	}
	for _, e := range c.Graph.Entities {
		id, moved := merged.of(string(e.ID))
		s := out[id]
		s.kind, s.key = e.Type, clean(e.NameKey)
		if moved {
			s.kind, s.key = merged[string(e.ID)].kind, merged[string(e.ID)].key
		}
		out[id] = s
	}
	return out
}

func storedMention(m graph.EntityMention) mention {
	names := make([]string, 0, len(m.Names))
	for _, name := range m.Names {
		names = append(names, clean(name))
	}
	slices.Sort(names)
	return mention{
		chunk: string(m.Chunk), names: slices.Compact(names), about: clean(m.Description),
		telling: rounded(m.Telling), score: rounded(m.Score), count: len(m.Spans),
	}
}

// edges returns the document's relations with their evidence, between what their
// ends were merged into.
func (c Change) edges(merged targets) map[edgeKey][]evidence {
	out := make(map[edgeKey][]evidence, len(c.Graph.Relations))
	for _, r := range c.Graph.Relations {
		key := edgeKey{kind: r.Type}
		var sourceID, targetID string
		var moved bool
		if key.source, moved = merged.of(string(r.Source)); moved {
			sourceID = string(r.Source)
		}
		if key.target, moved = merged.of(string(r.Target)); moved {
			targetID = string(r.Target)
		}
		for _, e := range r.Evidence {
			out[key] = append(out[key], evidence{
				chunk: string(e.Chunk), quote: clean(e.Quote), method: clean(e.Method), span: e.Span, score: rounded(e.Score),
				sourceName: clean(r.SourceName), targetName: clean(r.TargetName), sourceID: sourceID, targetID: targetID,
			})
		}
	}
	return out
}
