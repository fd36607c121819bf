package pipeline

import (
	"bytes"
	"cmp"
	"compress/flate"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"graphmill/chunkers"
	"graphmill/pipeline/assemble"
	"graphmill/pipeline/graph"
)

// extractionsFormat is part of every entry's name: raise it when what is written
// changes its meaning.
const extractionsFormat = "1"

// Extractions keeps on disk what was extracted from each version of a file, so
// that after an edit only the chunks that changed are extracted again, and of a
// file that was moved or copied none. An entry's name is the file's fingerprints
// and a chunk's its content key, so an entry can be out of date in no way: it is
// what extraction would give, or it is not found.
//
// It may be lost: what is not found is extracted. So nothing waits for the disk;
// a sum tells an entry that a power cut left half written. Safe for concurrent
// use, also by several processes.
type Extractions struct {
	dir string
	max int64
}

// OpenExtractions keeps a graph's extractions in a folder of their own, which
// need not exist, in at most so many bytes: beyond that the entries that were
// not used for longest go.
func OpenExtractions(dir string, maxBytes int64) *Extractions {
	return &Extractions{dir: dir, max: maxBytes}
}

// extracted is what an entry holds: by content key, with places counted from the
// chunk's beginning.
type extracted map[string]graph.Extraction

// chunkKeys are the content keys of a document's chunks.
func chunkKeys(f graph.Fingerprints, chunks []chunkers.Chunk) []string {
	seed := contentKeySeed(f)
	keys := make([]string, len(chunks))
	for i, c := range chunks {
		keys[i] = assemble.ContentKey(seed, c.Lead(), c.Text)
	}
	return keys
}

// contentKeySeed names all but the chunk that extraction and embedding read.
func contentKeySeed(f graph.Fingerprints) string {
	return graph.Hash(f.Plan, f.Ontology, f.Model, f.Format)
}

func entryName(f graph.Fingerprints) string {
	return graph.Hash(extractionsFormat, f.Content, contentKeySeed(f))
}

func (e *Extractions) path(name string) string { return filepath.Join(e.dir, name[:2], name) }

// load is the entry of a version of a file; nil when there is none that can be
// used.
func (e *Extractions) load(f graph.Fingerprints) extracted {
	name := e.path(entryName(f))
	data, err := os.ReadFile(name)
	if err != nil || len(data) < sha256.Size {
		return nil
	}
	if sum := sha256.Sum256(data[sha256.Size:]); !bytes.Equal(sum[:], data[:sha256.Size]) {
		return nil
	}
	var found extracted
	if gob.NewDecoder(flate.NewReader(bytes.NewReader(data[sha256.Size:]))).Decode(&found) != nil {
		return nil
	}
	return found
}

// save keeps the extractions of a version of a file.
func (e *Extractions) save(f graph.Fingerprints, keys []string, chunks []chunkers.Chunk, extractions []graph.Extraction) error {
	entry := make(extracted, len(keys))
	for i, key := range keys {
		if extractions[i].Failed == "" {
			entry[key] = extractions[i].Moved(-chunks[i].Range.Start)
		}
	}
	data := bytes.NewBuffer(make([]byte, sha256.Size))
	packed, err := flate.NewWriter(data, flate.BestSpeed)
	if err != nil {
		return err
	}
	if err := errors.Join(gob.NewEncoder(packed).Encode(entry), packed.Close()); err != nil {
		return err
	}
	sum := sha256.Sum256(data.Bytes()[sha256.Size:])
	copy(data.Bytes(), sum[:])
	return e.replace(e.path(entryName(f)), data.Bytes())
}

// replace writes a file that readers see whole or not at all.
func (e *Extractions) replace(name string, data []byte) error {
	folder := filepath.Dir(name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(folder, ".new-*")
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// Prune removes the entries of versions that the graph does not hold, what a
// process left half written, and then the oldest beyond the limit.
func (e *Extractions) Prune(live []graph.Fingerprints) error {
	keep := make(map[string]bool, len(live))
	for _, f := range live {
		keep[entryName(f)] = true
	}
	var kept []fs.FileInfo
	var errs []error
	total := int64(0)
	err := filepath.WalkDir(e.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return ignoreMissing(err)
		}
		info, err := d.Info()
		if err != nil {
			return ignoreMissing(err)
		}
		if !keep[d.Name()] {
			errs = append(errs, ignoreMissing(os.Remove(path)))
			return nil
		}
		kept = append(kept, info)
		total += info.Size()
		return nil
	})
	if total > e.max {
		slices.SortFunc(kept, func(a, b fs.FileInfo) int {
			return cmp.Or(a.ModTime().Compare(b.ModTime()), strings.Compare(a.Name(), b.Name()))
		})
		for _, info := range kept {
			if total <= e.max {
				break
			}
			errs = append(errs, ignoreMissing(os.Remove(e.path(info.Name()))))
			total -= info.Size()
		}
	}
	return errors.Join(append(errs, err)...)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// kept finds what an earlier version of the file, or another file of the same
// content, left of these chunks: by place, nil where there is nothing. A run that
// is to extract again takes nothing over.
func (r *run) kept(w *work, keys []string, chunks []chunkers.Chunk) []*graph.Extraction {
	out := make([]*graph.Extraction, len(chunks))
	if r.Extractions == nil || r.Force {
		return out
	}
	versions := []graph.Fingerprints{w.current}
	if before := r.stored[w.path].Fingerprints; before.Content != w.current.Content && contentKeySeed(before) == contentKeySeed(w.current) {
		versions = append(versions, before)
	}
	left := len(chunks)
	for _, version := range versions {
		if left == 0 {
			break
		}
		entry := r.Extractions.load(version)
		for i, key := range keys {
			if found, ok := entry[key]; ok && out[i] == nil {
				found = found.Moved(chunks[i].Range.Start)
				out[i], left = &found, left-1
			}
		}
	}
	w.reused = len(chunks) - left
	return out
}

// keep saves a document's extractions for its next version. A disk that is full
// costs time later and no document now.
func (r *run) keep(w *work, keys []string, chunks []chunkers.Chunk, extractions []graph.Extraction) {
	if r.Extractions == nil || len(chunks) == 0 {
		return
	}
	if err := r.Extractions.save(w.current, keys, chunks, extractions); err != nil {
		r.warnOnce(fmt.Sprintf("what was extracted could not be kept for the next run, which will extract it again: %v", err))
	}
}

// pruneExtractions forgets the versions that the graph does not hold any more.
func (r *run) pruneExtractions() {
	if r.Extractions == nil || !r.report.Wrote() {
		return
	}
	live := slices.Grow(slices.Clone(r.beside), len(r.stored)+len(r.written))
	for path, d := range r.stored {
		if _, replaced := r.written[path]; !replaced && !r.removed[path] && !r.movedAway[path] {
			live = append(live, d.Fingerprints)
		}
	}
	live = slices.AppendSeq(live, maps.Values(r.written))
	if err := r.Extractions.Prune(live); err != nil {
		r.warnOnce(fmt.Sprintf("kept extractions that nothing needs any more could not be removed: %v", err))
	}
}
