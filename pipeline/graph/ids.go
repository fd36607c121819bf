package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"
)

// DocumentID names a document: "file:" and its path under the files root.
type DocumentID string

// ChunkID names a chunk: a hash of its document, span and text.
type ChunkID string

// EntityID names an entity: its normalised name and its type.
type EntityID string

// SectionID names a section: a hash of its document, place and title.
type SectionID string

// maxIDBytes bounds every id: FalkorDB's MERGE misbehaves on long keys, and an
// index over them grows with their length.
const maxIDBytes = 200

// FileDocumentID returns the id of the file at path, slash-separated and
// relative to the files root. Paths too long for an id are hashed whole.
func FileDocumentID(path string) DocumentID {
	return DocumentID(bounded("file:", path))
}

// NewChunkID derives a chunk's id. The same text at the same place of the same
// document has the same id in every run.
func NewChunkID(document DocumentID, span Span, text string) ChunkID {
	return ChunkID("c" + Hash(string(document), strconv.Itoa(span.Start), strconv.Itoa(span.End), text)[:31])
}

// NewSectionID derives a section's id from its document, order and title.
func NewSectionID(document DocumentID, order int, title string) SectionID {
	return SectionID("s" + Hash(string(document), strconv.Itoa(order), title)[:31])
}

// NewEntityID is graphrag-sdk's rule, name_with_underscores__type, over the
// normalised name, with two differences that keep ids unique and bounded: a
// name that itself holds an underscore gets a hash appended, because
// "new_york" and "new york" would collide; an id beyond 200 bytes is hashed
// whole. A name without a usable key has no id: the result is "".
func NewEntityID(name, entityType string) EntityID {
	key := NameKey(name)
	if key == "" {
		return ""
	}
	kind := strings.ToLower(entityType)
	id := strings.ReplaceAll(key, " ", "_")
	if strings.Contains(key, "_") {
		id += "__" + Hash(key)[:16]
	}
	id += "__" + kind
	if len(id) > maxIDBytes {
		return EntityID("sha256:" + Hash(id))
	}
	return EntityID(id)
}

func bounded(prefix, rest string) string {
	if len(prefix)+len(rest) <= maxIDBytes && strings.TrimSpace(rest) == rest && !strings.ContainsFunc(rest, unicode.IsControl) {
		return prefix + rest
	}
	return prefix + "sha256:" + Hash(rest)
}

// Hash is the lower-case hexadecimal SHA-256 of parts, each preceded by its
// length, so that no two lists of parts share a hash by concatenation.
func Hash(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		sum.Write([]byte(strconv.Itoa(len(part))))
		sum.Write([]byte{':'})
		sum.Write([]byte(part))
	}
	return hex.EncodeToString(sum.Sum(nil))
}
