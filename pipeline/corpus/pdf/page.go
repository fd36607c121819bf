package pdf

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/responses"
)

// box is a rectangle in points, y growing upwards.
type box struct{ left, bottom, right, top float64 }

func (b box) width() float64 { return b.right - b.left }

func (b box) union(c box) box {
	return box{min(b.left, c.left), min(b.bottom, c.bottom), max(b.right, c.right), max(b.top, c.top)}
}

// fragment is a run of characters on one baseline without a gap wider than a
// space: a line of a column, a cell of a table, a page number.
type fragment struct {
	box
	text     string
	baseline float64
	size     float64 // em in points
	bold     bool
	mono     bool
	hyphen   bool // ends in a hyphen that breaks a word
	turned   bool // set across the page's own direction
}

// rawPage is one page as the engine shows it.
type rawPage struct {
	number    int // from 1
	label     string
	fragments []fragment // in the order of the page's content
	images    bool       // holds pictures; asked only where there is no text
	bytes     int
}

// readPage reads the page at index, from 0.
func readPage(instance pdfium.Pdfium, document references.FPDF_DOCUMENT, index int) (rawPage, error) {
	page := rawPage{number: index + 1}
	loaded, err := instance.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: document, Index: index})
	if err != nil {
		return page, err
	}
	ref := requests.Page{ByReference: &loaded.Page}
	defer instance.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: loaded.Page})
	if label, err := instance.FPDF_GetPageLabel(&requests.FPDF_GetPageLabel{Document: document, Page: index}); err == nil {
		page.label = cleanLine(label.Label)
	}
	chars, err := instance.GetPageTextStructured(&requests.GetPageTextStructured{
		Page: ref, Mode: requests.GetPageTextStructuredModeChars,
	})
	if err != nil {
		return page, err
	}
	glyphs := respace(glyphsOf(chars.Chars))
	spans := splitGlyphs(glyphs)
	if len(spans) == 0 {
		page.images = hasImages(instance, ref)
		return page, nil
	}
	text, err := instance.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: ref})
	if err != nil {
		return page, err
	}
	defer instance.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: text.TextPage})
	fonts := fontReader{instance: instance, page: text.TextPage}
	for _, span := range spans {
		fragment, ok := fragmentOf(glyphs[span[0]:span[1]], &fonts)
		if ok {
			page.fragments = append(page.fragments, fragment)
			page.bytes += len(fragment.text)
		}
	}
	return page, nil
}

// glyph is one character, turned so that the page's main direction of writing
// runs to the right.
type glyph struct {
	box
	text   string
	index  int // in the engine's text page
	turned bool
	brk    bool // the engine's line break
	hyphen bool // the engine's mark for a hyphen that breaks a word
	space  bool
}

// quarter is the number of quarter turns of an angle in radians, clockwise as the
// engine counts, -1 when it is between them.
func quarter(angle float64) int {
	turns := angle / (math.Pi / 2)
	nearest := math.Round(turns)
	if math.Abs(turns-nearest) > 0.05 {
		return -1
	}
	return int(nearest) & 3
}

func glyphsOf(chars []*responses.GetPageTextStructuredChar) []glyph {
	var votes [4]int
	for _, c := range chars {
		if q := quarter(c.Angle); q >= 0 && strings.TrimSpace(c.Text) != "" {
			votes[q]++
		}
	}
	main := 0
	for q, n := range votes {
		if n > votes[main] {
			main = q
		}
	}
	glyphs := make([]glyph, 0, len(chars))
	for i, c := range chars {
		p := c.PointPosition
		g := glyph{text: c.Text, index: i, box: turn(box{
			left: min(p.Left, p.Right), right: max(p.Left, p.Right),
			bottom: min(p.Bottom, p.Top), top: max(p.Bottom, p.Top),
		}, main)}
		switch c.Text {
		case "":
			continue
		case "\r", "\n":
			g.brk = true
		case "\u0002", "\ufffe":
			g.hyphen, g.text = true, "-"
		case " ", "\u00a0", "\t":
			g.space, g.text = true, " "
		default:
			g.turned = quarter(c.Angle) != main
		}
		glyphs = append(glyphs, g)
	}
	return glyphs
}

// turn rotates b back by q quarter turns, which were clockwise, about the origin.
func turn(b box, q int) box {
	switch q {
	case 1:
		return box{left: -b.top, right: -b.bottom, bottom: b.left, top: b.right}
	case 2:
		return box{left: -b.right, right: -b.left, bottom: -b.top, top: -b.bottom}
	case 3:
		return box{left: b.bottom, right: b.top, bottom: -b.right, top: -b.left}
	}
	return b
}

// splitGlyphs cuts the glyphs into runs [start, end) that become fragments.
func splitGlyphs(glyphs []glyph) [][2]int {
	em := emOf(glyphs)
	var spans [][2]int
	start := -1
	last := -1 // last glyph that shows something
	flush := func() {
		if start >= 0 {
			spans = append(spans, [2]int{start, last + 1})
		}
		start, last = -1, -1
	}
	for i, g := range glyphs {
		if g.brk {
			flush()
			continue
		}
		if g.space {
			continue
		}
		if start >= 0 && apart(glyphs[last], g, em) {
			flush()
		}
		if start < 0 {
			start = i
		}
		last = i
		if g.hyphen {
			flush()
		}
	}
	flush()
	return spans
}

// emOf estimates the em of a page's text from the heights of its letters, whose
// median lies near half an em.
func emOf(glyphs []glyph) float64 {
	heights := make([]float64, 0, len(glyphs))
	for _, g := range glyphs {
		r, _ := utf8.DecodeRuneInString(g.text)
		if h := g.top - g.bottom; h > 0.5 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			heights = append(heights, h)
		}
	}
	if len(heights) == 0 {
		return 10
	}
	slices.Sort(heights)
	return 1.9 * heights[len(heights)/2]
}

// apart reports whether b does not continue the run that ends in a.
func apart(a, b glyph, em float64) bool {
	if a.turned != b.turned {
		return true
	}
	if a.turned {
		return false // the engine's own breaks serve
	}
	gap := b.left - a.right
	if gap > 1.1*em || gap < -2*em {
		return true
	}
	height := max(a.top-a.bottom, b.top-b.bottom)
	return b.bottom > a.top+0.3*height || b.top < a.bottom-0.3*height && b.right < a.left
}

func fragmentOf(glyphs []glyph, fonts *fontReader) (fragment, bool) {
	f := fragment{box: glyphs[0].box, turned: glyphs[0].turned}
	var text strings.Builder
	var bottoms []float64
	for _, g := range glyphs {
		text.WriteString(g.text)
		if g.space {
			continue
		}
		f.box = f.box.union(g.box)
		bottoms = append(bottoms, g.bottom)
	}
	f.hyphen = glyphs[len(glyphs)-1].hyphen
	f.text = cleanLine(text.String())
	if f.text == "" {
		return f, false
	}
	// Most letters stand on the baseline.
	slices.Sort(bottoms)
	f.baseline = bottoms[len(bottoms)*3/4]
	// A drop cap or a bullet must not speak for its line, nor one word in bold.
	font := fonts.at(glyphs[len(glyphs)*2/3].index)
	if (font.bold || font.mono) && len(glyphs) > 4 {
		first := fonts.at(glyphs[0].index)
		font.bold, font.mono = font.bold && first.bold, font.mono && first.mono
	}
	f.size, f.bold, f.mono = font.size, font.bold, font.mono
	if f.size <= 0 {
		f.size = max(f.top-f.bottom, 1)
	}
	return f, true
}

type font struct {
	size       float64
	bold, mono bool
}

// fontReader asks for fonts; it costs about ten calls into the engine, so only
// one character a fragment is asked for.
type fontReader struct {
	instance pdfium.Pdfium
	page     references.FPDF_TEXTPAGE
}

// fixedPitch is bit 1 of a font descriptor's flags (ISO 32000-1, table 123).
const fixedPitch = 1

func (r *fontReader) at(index int) font {
	var f font
	if size, err := r.instance.FPDFText_GetFontSize(&requests.FPDFText_GetFontSize{TextPage: r.page, Index: index}); err == nil {
		f.size = size.FontSize
	}
	matrix, err := r.instance.FPDFText_GetMatrix(&requests.FPDFText_GetMatrix{TextPage: r.page, Index: index})
	if err == nil {
		f.size *= math.Hypot(float64(matrix.Matrix.C), float64(matrix.Matrix.D))
	}
	info, err := r.instance.FPDFText_GetFontInfo(&requests.FPDFText_GetFontInfo{TextPage: r.page, Index: index})
	if err != nil {
		return f
	}
	name := strings.ToLower(info.FontName)
	f.bold = containsAny(name, "bold", "black", "heavy", "cmbx", "-bd", "semib", "demi")
	f.mono = info.Flags&fixedPitch != 0 || containsAny(name, "mono", "courier", "cmtt", "consol", "typewriter", "sltt")
	return f
}

func containsAny(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s, part) })
}

func hasImages(instance pdfium.Pdfium, page requests.Page) bool {
	count, err := instance.FPDFPage_CountObjects(&requests.FPDFPage_CountObjects{Page: page})
	if err != nil {
		return false
	}
	for i := range min(count.Count, 200) {
		object, err := instance.FPDFPage_GetObject(&requests.FPDFPage_GetObject{Page: page, Index: i})
		if err != nil {
			return false
		}
		kind, err := instance.FPDFPageObj_GetType(&requests.FPDFPageObj_GetType{PageObject: object.PageObject})
		if err == nil && (kind.Type == enums.FPDF_PAGEOBJ_IMAGE || kind.Type == enums.FPDF_PAGEOBJ_FORM) {
			return true
		}
	}
	return false
}
