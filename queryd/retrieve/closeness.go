package retrieve

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// How the closeness of a passage is made up; chosen on the odd ones of the forty
// questions in examples/questions.md, see docs/quality.md.
const (
	// wordWeight is what holding all of the question's words adds to a cosine.
	wordWeight = 0.2
	// A passage is as near as a fact that it states, or an entity that it tells of,
	// less this much: sentences are nearer to questions than passages that hold
	// more besides, whether they answer them or not.
	factDiscount   = 0.1
	entityDiscount = 0.15
)

// passages are the chunks that a search points to, best first: those it found, or
// in which what it found is stated.
func (t *task) passages() []string {
	ids := slices.Clone(t.chunks)
	if t.path == Facts {
		for _, r := range t.relations {
			for _, q := range r.evidence {
				ids = append(ids, q.chunk)
			}
		}
	}
	for _, e := range t.entities {
		if e.told != "" {
			ids = append(ids, e.told)
		}
	}
	return ids
}

// fusePassages fuses what the searches found by the ranks it has there, and puts
// it in the order of its closeness to the question where that is known.
func (s *search) fusePassages() []fused[string] {
	if !s.uses(Passages) {
		return nil
	}
	ranked := fuse(s.tasks, (*task).passages, func(id string) string { return id }, unknown)
	if near := s.closeness(); len(near) > 0 {
		// What has no vector yet is taken for as far away as the farthest.
		far := slices.Min(slices.Collect(maps.Values(near)))
		for i, f := range ranked {
			closeness, ok := near[f.key]
			if !ok {
				closeness = far
			}
			ranked[i].score = math.Round((closeness+s.share(f.key)*wordWeight)*1e6) / 1e6
		}
		slices.SortStableFunc(ranked, func(a, b fused[string]) int { return cmp.Compare(b.score, a.score) })
	}
	return ranked[:min(len(ranked), s.TopK)]
}

// share is how much of the question's words a passage holds.
func (s *search) share(id string) float64 {
	for _, t := range s.tasks {
		if share, ok := t.words[id]; ok {
			return share
		}
	}
	return 0
}

// closeness says how close the passages' meaning is to the question, or that of
// what they state. It is empty where vectors cannot be compared.
func (s *search) closeness() map[string]float64 {
	near := map[string]float64{}
	for _, t := range s.tasks {
		for _, id := range t.passages() {
			if d, ok := s.distance("chunk", id); ok {
				near[id] = 1 - d
			}
		}
	}
	raise := func(id string, d float64, known bool, discount float64) {
		if have, ok := near[id]; ok && known {
			near[id] = max(have, 1-d-discount)
		}
	}
	for _, t := range s.tasks {
		for _, r := range t.relations {
			d, known := t.near["fact "+r.key()]
			for _, q := range r.evidence {
				raise(q.chunk, d, known, factDiscount)
			}
		}
		for _, e := range t.entities {
			d, known := t.near["entity "+e.ID]
			raise(e.told, d, known, entityDiscount)
		}
	}
	return near
}
