package pdf

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
)

// words set at a place of a page: Helvetica, size in points, origin at the
// lower left.
type set struct {
	x, y, size float64
	text       string
	turn       int // quarter turns counter-clockwise about the origin of the page
}

// matrices of text that is turned, as a, b, c and d.
var matrices = [4]string{"1 0 0 1", "0 1 -1 0", "-1 0 0 -1", "0 -1 1 0"}

// turned turns words about the lower left corner and moves them back onto the
// page, which is 612 by 792 points.
func turned(turn int, page []set) []set {
	out := make([]set, len(page))
	for i, s := range page {
		s.turn = turn
		switch turn {
		case 1:
			s.x, s.y = 612-s.y, s.x
		case 2:
			s.x, s.y = 612-s.x, 792-s.y
		case 3:
			s.x, s.y = s.y, 792-s.x
		}
		out[i] = s
	}
	return out
}

// buildPDF writes a PDF of pages 612 by 792 points. A page without words holds
// a picture.
func buildPDF(pages ...[]set) []byte {
	var out bytes.Buffer
	var offsets []int
	object := func(body string) {
		offsets = append(offsets, out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", len(offsets), body)
	}
	out.WriteString("%PDF-1.4\n")
	object("<< /Type /Catalog /Pages 2 0 R >>")
	kids := make([]string, len(pages))
	for i := range pages {
		kids[i] = fmt.Sprintf("%d 0 R", 4+2*i)
	}
	object(fmt.Sprintf("<< /Type /Pages /Count %d /Kids [%s] >>", len(pages), strings.Join(kids, " ")))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
	for i, page := range pages {
		object(fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >> >>", 5+2*i))
		content := contentOf(page)
		object(fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content))
	}
	xref := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, offset := range offsets {
		fmt.Fprintf(&out, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&out, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, xref)
	return out.Bytes()
}

func contentOf(page []set) string {
	if len(page) == 0 {
		return "q 400 0 0 400 100 100 cm BI /W 2 /H 2 /CS /G /BPC 8 ID \x00\xff\xff\x00 EI Q"
	}
	var content strings.Builder
	escape := strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`)
	for _, s := range page {
		fmt.Fprintf(&content, "BT /F1 %g Tf %s %g %g Tm (%s) Tj ET\n", s.size, matrices[s.turn], s.x, s.y, escape.Replace(s.text))
	}
	return content.String()
}

// column sets lines of ten points under each other, twelve apart.
func column(x, y float64, lines ...string) []set {
	var page []set
	for i, text := range lines {
		page = append(page, set{x: x, y: y - 12*float64(i), size: 10, text: text})
	}
	return page
}

func configuration() *model.Configuration {
	conf := model.NewDefaultConfiguration()
	conf.Offline = true
	return conf
}

func encrypt(t *testing.T, data []byte, userPassword string) []byte {
	t.Helper()
	conf := configuration()
	conf.UserPW, conf.OwnerPW = userPassword, "owner"
	var out bytes.Buffer
	if err := api.Encrypt(bytes.NewReader(data), &out, conf); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func withBookmarks(t *testing.T, data []byte, marks ...pdfcpu.Bookmark) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := api.AddBookmarks(bytes.NewReader(data), &out, marks, true, configuration()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
