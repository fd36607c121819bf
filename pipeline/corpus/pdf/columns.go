package pdf

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// line is one line of a region.
type line struct {
	box
	text     string
	baseline float64
	size     float64
	bold     bool
	mono     bool
	hyphen   bool
	cells    []cell // its parts, when wide gaps stand between them
	// heading is the depth of the heading that the line belongs to, 0 for none;
	// headingID tells neighbouring headings apart.
	heading, headingID int
}

// cell is a part of a line that a wide gap sets apart.
type cell struct {
	left, right float64
	text        string
}

// region is a part of a page that is read from top to bottom.
type region struct{ lines []line }

// regionsOf puts a page's fragments into reading order: the page is cut where
// text stands in columns, each column is a region of its own.
func regionsOf(fragments []fragment) []region {
	var straight, turned []fragment
	for _, f := range fragments {
		if f.turned {
			turned = append(turned, f)
		} else {
			straight = append(straight, f)
		}
	}
	var regions []region
	cutColumns(straight, 0, &regions)
	for _, f := range turned {
		regions = append(regions, region{lines: []line{lineOf([]fragment{f})}})
	}
	return regions
}

// maxColumnDepth bounds the cuts within cuts; pages have few columns.
const maxColumnDepth = 6

func cutColumns(fragments []fragment, depth int, regions *[]region) {
	if len(fragments) == 0 {
		return
	}
	band, gutter, ok := columnBand(fragments)
	if !ok || depth == maxColumnDepth {
		*regions = append(*regions, region{lines: linesOf(fragments)})
		return
	}
	var above, left, right, below []fragment
	for _, f := range fragments {
		switch {
		case f.baseline > band.top:
			above = append(above, f)
		case f.baseline < band.bottom:
			below = append(below, f)
		case f.left < gutter:
			left = append(left, f)
		default:
			right = append(right, f)
		}
	}
	cutColumns(above, depth+1, regions)
	cutColumns(left, depth+1, regions)
	cutColumns(right, depth+1, regions)
	cutColumns(below, depth+1, regions)
}

// The least that makes two columns of text and not the cells of a table.
const (
	minColumnLines = 5
	minColumnChars = 14
)

// columnBand finds the tallest band of the page that a vertical gutter divides
// into two columns of running text. band.bottom and band.top bound its
// baselines.
func columnBand(fragments []fragment) (band box, gutter float64, ok bool) {
	if len(fragments) < 2*minColumnLines {
		return band, 0, false
	}
	ordered := slices.Clone(fragments)
	slices.SortStableFunc(ordered, func(a, b fragment) int { return cmp.Compare(b.baseline, a.baseline) })
	best := 0
	for _, x := range gutterCandidates(ordered) {
		for start := 0; start < len(ordered); {
			end := start
			for end < len(ordered) && !crosses(ordered[end], x) {
				end++
			}
			if score := columnScore(ordered[start:end], x); score > best {
				best, gutter, ok = score, x, true
				band.top, band.bottom = ordered[start].baseline, ordered[end-1].baseline
			}
			start = end + 1
		}
	}
	return band, gutter, ok
}

func crosses(f fragment, x float64) bool { return f.left < x-0.5 && f.right > x+0.5 }

// gutterCandidates are the places just left of where several fragments begin.
func gutterCandidates(fragments []fragment) []float64 {
	starts := map[int]int{}
	leftmost := math.Inf(1)
	for _, f := range fragments {
		starts[int(math.Floor(f.left/2))]++
		leftmost = min(leftmost, f.left)
	}
	var xs []float64
	for bin, n := range starts {
		if x := float64(bin)*2 - 1; n+starts[bin+1] >= minColumnLines && x > leftmost+20 {
			xs = append(xs, x)
		}
	}
	slices.Sort(xs)
	return xs
}

// columnScore is the number of lines in the smaller of two columns of running
// text; 0 when they are none.
func columnScore(band []fragment, x float64) int {
	var left, right side
	for _, f := range band {
		if f.left < x {
			left.add(f)
		} else {
			right.add(f)
		}
	}
	least := min(left.count, right.count)
	if least < minColumnLines || left.chars/left.count < minColumnChars || right.chars/right.count < minColumnChars {
		return 0
	}
	if right.left-left.right < 0.6*left.size/float64(left.count) {
		return 0
	}
	shared := min(left.top, right.top) - max(left.bottom, right.bottom)
	if shared < 0.5*min(left.top-left.bottom, right.top-right.bottom) {
		return 0
	}
	return least
}

type side struct {
	box
	count, chars int
	size         float64
}

func (s *side) add(f fragment) {
	if s.count == 0 {
		s.box = f.box
	} else {
		s.box = s.box.union(f.box)
	}
	s.count++
	s.size += f.size
	s.chars += utf8.RuneCountInString(f.text)
}

// linesOf groups fragments by their baseline, top first, left to right.
func linesOf(fragments []fragment) []line {
	ordered := slices.Clone(fragments)
	slices.SortStableFunc(ordered, func(a, b fragment) int { return cmp.Compare(b.baseline, a.baseline) })
	var lines []line
	for start := 0; start < len(ordered); {
		end := start + 1
		for end < len(ordered) && sameLine(ordered[start], ordered[end]) {
			end++
		}
		group := ordered[start:end]
		slices.SortStableFunc(group, func(a, b fragment) int { return cmp.Compare(a.left, b.left) })
		lines = append(lines, lineOf(group))
		start = end
	}
	return lines
}

// sameLine tolerates superscripts: less than half an em off the baseline.
func sameLine(a, b fragment) bool {
	return a.baseline-b.baseline < 0.45*max(a.size, b.size)*shrink(a, b)
}

// shrink keeps two lines of one size that are set tight apart: only a smaller
// neighbour may stand far off the baseline.
func shrink(a, b fragment) float64 {
	if math.Abs(a.size-b.size) < 0.15*max(a.size, b.size) {
		return 0.6
	}
	return 1
}

func lineOf(group []fragment) line {
	l := line{box: group[0].box, hyphen: group[len(group)-1].hyphen, bold: true, mono: true}
	var text strings.Builder
	longest := -1
	for i, f := range group {
		if i > 0 && f.left-group[i-1].right > 0.12*f.size {
			text.WriteByte(' ')
		}
		text.WriteString(f.text)
		l.cells = append(l.cells, cell{f.left, f.right, f.text})
		l.box = l.box.union(f.box)
		l.bold = l.bold && f.bold
		l.mono = l.mono && f.mono
		if len(f.text) > longest {
			longest, l.size, l.baseline = len(f.text), f.size, f.baseline
		}
	}
	l.text = text.String()
	return l
}
