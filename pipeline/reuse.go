package pipeline

import (
	"cmp"
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
	"graphmill/pipeline/packed"
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

// load is the entry of a version of a file, as it stands; nil when there is none.
func (e *Extractions) load(f graph.Fingerprints) []byte {
	data, err := os.ReadFile(e.path(entryName(f)))
	if err != nil {
		return nil
	}
	return data
}

// save keeps the entry of a version of a file.
func (e *Extractions) save(f graph.Fingerprints, entry []byte) error {
	return e.replace(e.path(entryName(f)), entry)
}

// packExtractions makes the entry of what was extracted from chunks.
func packExtractions(keys []string, chunks []chunkers.Chunk, extractions []graph.Extraction) ([]byte, error) {
	entry := make(extracted, len(keys))
	for i, key := range keys {
		if extractions[i].Failed == "" {
			entry[key] = extractions[i].Moved(-chunks[i].Range.Start)
		}
	}
	return packed.Encode(entry)
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

// recall is what is kept of this version of the file and of the one in the graph,
// of which most chunks may be the same. A run that is to extract again takes
// nothing over.
func (r *run) recall(w *work) (entries [][]byte) {
	if r.Extractions == nil || r.Force {
		return nil
	}
	versions := []graph.Fingerprints{w.current}
	if before := r.stored[w.path].Fingerprints; before.Content != w.current.Content && contentKeySeed(before) == contentKeySeed(w.current) {
		versions = append(versions, before)
	}
	for _, version := range versions {
		if entry := r.Extractions.load(version); entry != nil {
			entries = append(entries, entry)
		}
	}
	return entries
}

// recalled finds what entries have of chunks: by place, nil where there is nothing.
// An entry that cannot be used has nothing.
func recalled(entries [][]byte, keys []string, chunks []chunkers.Chunk) (out []*graph.Extraction, reused int) {
	out = make([]*graph.Extraction, len(chunks))
	for _, data := range entries {
		if reused == len(chunks) {
			break
		}
		var entry extracted
		if packed.Decode(data, &entry) != nil {
			continue
		}
		for i, key := range keys {
			if found, ok := entry[key]; ok && out[i] == nil {
				found = found.Moved(chunks[i].Range.Start)
				out[i] = &found
				reused++
			}
		}
	}
	return out, reused
}

// keep saves what was extracted of a document for its next version. A disk that is
// full costs time later and no document now.
func (r *run) keep(w *work, entry []byte) {
	if r.Extractions == nil || len(entry) == 0 {
		return
	}
	if err := r.Extractions.save(w.current, entry); err != nil {
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
