package store

import (
	"context"
	"fmt"
	"hash/maphash"

	"graphmill/pipeline/falkor/cypher"
)

// seen finds ids that stand twice without keeping them: a filter of a fixed size
// says which may have been there before, and the engine is asked for those.
type seen struct {
	bits     []uint64
	seed     maphash.Seed
	suspects []string
}

// The filter has 16 bits for each id that is expected, within bounds: 8 KB, and
// 64 MB, with which of 100 million ids one in five is looked up for nothing.
const (
	leastSeenBits = 1 << 16
	mostSeenBits  = 1 << 29
)

func newSeen(expected int) *seen {
	bits := leastSeenBits
	for bits < 16*expected && bits < mostSeenBits {
		bits *= 2
	}
	return &seen{bits: make([]uint64, bits/64), seed: maphash.MakeSeed()}
}

func (s *seen) note(id string) {
	h := maphash.String(s.seed, id)
	before := true
	for _, bit := range []uint64{h, h>>32 | h<<32} {
		bit %= uint64(64 * len(s.bits))
		mask := uint64(1) << (bit % 64)
		before = before && s.bits[bit/64]&mask != 0
		s.bits[bit/64] |= mask
	}
	if before {
		s.suspects = append(s.suspects, id)
	}
}

// confirmTwice asks which of the suspects stand twice. Of nodes with one id the
// oldest stays.
func (c *checker) confirmTwice(ctx context.Context, s *seen, label string) error {
	if len(s.suspects) == 0 {
		return nil
	}
	rows, err := c.read(ctx, cypher.New(`UNWIND $ids AS id WITH DISTINCT id MATCH (m:«label» {id: id}) WITH id, collect(ID(m)) AS nodes WHERE size(nodes) > 1
RETURN id, nodes`, cypher.Params{"ids": s.suspects}).WithLabel("label", label))
	s.suspects = s.suspects[:0]
	if err != nil {
		return err
	}
	for i := range rows.Len() {
		nodes := ints(rows.Value(i, "nodes"))
		keep := nodes[0]
		for _, node := range nodes {
			keep = min(keep, node)
		}
		f := Finding{Kind: DuplicateID, ID: rows.String(i, "id"), Detail: fmt.Sprintf("%d nodes with the label %s have this id", len(nodes), label)}
		f.mend.twins = nodes
		for _, node := range nodes {
			if node != keep {
				f.mend.nodes = append(f.mend.nodes, node)
			}
		}
		c.find(nowhere, f)
	}
	return rows.Err()
}
