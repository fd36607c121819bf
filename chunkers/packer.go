package chunkers

import (
	"graphmill/pipeline/graph"
	"graphmill/pipeline/prose"
)

// packer joins neighbouring units (sentences, blocks, lines) into passages of
// at most limit. Units come in rising order. A unit over the limit is cut by
// cutter.
type packer struct {
	text    string
	limit   size
	overlap int // units of a passage that the next repeats, where there is room
	emit    func(graph.Range, meter)

	units    []unit // of the passage being filled
	repeated int    // how many of them the passage before holds too
	meter    meter  // has read text from the first unit's start to the last one's end
}

// unit is what a packer keeps whole where it fits.
type unit struct {
	graph.Range
	// leads says that the unit introduces the next one (a heading, "such as:")
	// and should not stand last in a passage.
	leads bool
}

func (p *packer) add(next unit) {
	if len(p.units) > 0 {
		if grown := p.meter; grown.fits(p.text[p.end():next.End], p.limit.units) {
			p.meter, p.units = grown, append(p.units, next)
			return
		}
		p.units = p.turn(next)
	}
	start := next.Start
	if len(p.units) > 0 {
		start = p.units[0].Start
	}
	p.meter = meter{}
	if p.meter.fits(p.text[start:next.End], p.limit.units) {
		p.units = append(p.units, next)
		return
	}
	p.cut(graph.Range{Start: start, End: next.End})
}

func (p *packer) end() int { return p.units[len(p.units)-1].End }

// turn emits the passage and returns the units that the passage with next
// starts with: those that lead to it, or those that it repeats.
func (p *packer) turn(next unit) []unit {
	units := p.units
	first := len(units)
	for first > 0 && units[first-1].leads {
		first--
	}
	if first < len(units) && (p.together(units[first:], next) || !p.together(nil, next)) {
		if first > p.repeated {
			p.emitUnits(units[:first])
		}
		p.repeated = 0
		return append([]unit(nil), units[first:]...)
	}
	p.emitUnits(units)
	p.repeated = 0
	for repeat := min(p.overlap, len(units)-1); repeat > 0; repeat-- {
		if repeated := units[len(units)-repeat:]; p.together(repeated, next) {
			p.repeated = repeat
			return append([]unit(nil), repeated...)
		}
	}
	return units[:0]
}

// together reports whether units and next fit into one passage.
func (p *packer) together(units []unit, next unit) bool {
	start := next.Start
	if len(units) > 0 {
		start = units[0].Start
	}
	var m meter
	return m.fits(p.text[start:next.End], p.limit.units)
}

func (p *packer) emitUnits(units []unit) {
	r := graph.Range{Start: units[0].Start, End: units[len(units)-1].End}
	m := p.meter
	if len(units) < len(p.units) {
		m = meter{}
		m.advance(p.text[r.Start:r.End])
	}
	p.emit(r, m)
}

// cut emits r, which is over the limit, in pieces; the last one is left open
// for what comes next.
func (p *packer) cut(r graph.Range) {
	cutter := cutter{text: p.text, cap: p.limit}
	for r.Len() > 0 {
		end := cutter.cut(r.Start, r.End)
		piece := prose.Trim(p.text, graph.Range{Start: r.Start, End: end})
		p.meter = meter{}
		p.meter.advance(p.text[piece.Start:piece.End])
		p.units = append(p.units[:0], unit{Range: piece})
		if end == r.End {
			return
		}
		p.emit(piece, p.meter)
		r = prose.Trim(p.text, graph.Range{Start: end, End: r.End})
	}
	p.units = p.units[:0]
}

// flush emits what is left.
func (p *packer) flush() {
	if len(p.units) > 0 {
		p.emitUnits(p.units)
	}
	p.units, p.meter = p.units[:0], meter{}
}
