package graph

import (
	"sort"
	"unicode/utf8"
)

// Range is a half-open interval of bytes in a document's decoded text, always
// on code point boundaries: text[r.Start:r.End].
type Range struct{ Start, End int }

// Len is the number of bytes in r.
func (r Range) Len() int { return r.End - r.Start }

// Contains reports whether s lies wholly inside r.
func (r Range) Contains(s Range) bool { return s.Start >= r.Start && s.End <= r.End }

// Overlaps reports whether r and s share at least one byte.
func (r Range) Overlaps(s Range) bool { return r.Start < s.End && s.Start < r.End }

// Moved is r so many bytes further on.
func (r Range) Moved(by int) Range { return Range{Start: r.Start + by, End: r.End + by} }

// Span is a half-open interval of Unicode code points in a document's decoded
// text. It is the only kind of offset that leaves the program.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// stride is how many bytes lie between two entries of an Offsets table: 16 bits
// of table per 64 bytes of text, and a conversion reads at most 64 bytes.
const stride = 64

// Offsets converts between bytes and code points of one text. A zero table
// means the text is ASCII and the two are the same. It is safe for concurrent
// use.
type Offsets struct {
	text  string
	table []int // code points before byte i*stride; nil for ASCII
}

// NewOffsets indexes text in one pass. ASCII text costs no memory.
func NewOffsets(text string) *Offsets {
	o := &Offsets{text: text}
	if isASCII(text) {
		return o
	}
	o.table = make([]int, 0, len(text)/stride+1)
	count := 0
	for i := 0; i < len(text); i++ {
		if i%stride == 0 {
			o.table = append(o.table, count)
		}
		if utf8.RuneStart(text[i]) {
			count++
		}
	}
	return o
}

// CodePoint returns the number of code points before the given byte, which must
// start a code point or be the end of the text.
func (o *Offsets) CodePoint(byteOffset int) int {
	if o.table == nil {
		return byteOffset
	}
	slot := byteOffset / stride
	if slot >= len(o.table) {
		slot = len(o.table) - 1
	}
	count := o.table[slot]
	for i := slot * stride; i < byteOffset; i++ {
		if utf8.RuneStart(o.text[i]) {
			count++
		}
	}
	return count
}

// Byte returns the byte at which the given code point starts; the number of
// code points in the text gives its length in bytes.
func (o *Offsets) Byte(codePoint int) int {
	if o.table == nil {
		return codePoint
	}
	slot := sort.SearchInts(o.table, codePoint+1) - 1
	count := o.table[slot]
	for i := slot * stride; i < len(o.text); i++ {
		if utf8.RuneStart(o.text[i]) {
			if count == codePoint {
				return i
			}
			count++
		}
	}
	return len(o.text)
}

// Span converts a byte range to code points.
func (o *Offsets) Span(r Range) Span {
	return Span{Start: o.CodePoint(r.Start), End: o.CodePoint(r.End)}
}

// Range converts a code point span to bytes.
func (o *Offsets) Range(s Span) Range {
	return Range{Start: o.Byte(s.Start), End: o.Byte(s.End)}
}

func isASCII(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
