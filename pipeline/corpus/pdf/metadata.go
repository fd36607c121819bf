package pdf

import (
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
)

// maxMetadataRunes bounds one value of a document's information dictionary.
const maxMetadataRunes = 500

// metadataTags are the information dictionary's keys and ours.
var metadataTags = []struct{ tag, key string }{
	{"Title", "title"}, {"Author", "author"}, {"Subject", "subject"}, {"Keywords", "keywords"},
	{"Creator", "creator"}, {"Producer", "producer"},
	{"CreationDate", "created"}, {"ModDate", "modified"},
}

// metadataOf reads the information dictionary; dates in ISO 8601, what is not
// there or not sensible left out.
func metadataOf(instance pdfium.Pdfium, document references.FPDF_DOCUMENT) map[string]string {
	metadata := map[string]string{}
	for _, m := range metadataTags {
		response, err := instance.FPDF_GetMetaText(&requests.FPDF_GetMetaText{Document: document, Tag: m.tag})
		if err != nil {
			continue
		}
		value := cleanLine(response.Value)
		if strings.HasSuffix(m.tag, "Date") {
			value = isoDate(value)
		}
		if value != "" {
			metadata[m.key] = firstRunes(value, maxMetadataRunes)
		}
	}
	return metadata
}

func firstRunes(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n])
}

var pdfDate = regexp.MustCompile(`^(?:D:)?(\d{4})(\d{2})?(\d{2})?`)

// isoDate turns a PDF date ("D:20230115093000Z") into a day, month or year, ""
// if it is none.
func isoDate(s string) string {
	m := pdfDate.FindStringSubmatch(s)
	if m == nil || m[1] < "1900" {
		return ""
	}
	iso := m[1]
	for i, layout := range []string{"2006-01", "2006-01-02"} {
		if m[i+2] == "" {
			break
		}
		longer := iso + "-" + m[i+2]
		if _, err := time.Parse(layout, longer); err != nil {
			break
		}
		iso = longer
	}
	return iso
}

// leftovers are titles that a program put there and nobody meant.
var leftovers = regexp.MustCompile(`(?i)^(untitled|no title|title|document\d*|microsoft word\b.*|.*\.(dvi|docx?|tex|pdf|ps|indd|qxd|odt|rtf|pptx?|mom))$`)

// titleOf is the stated title or, where there is none worth the name, what is
// set largest on the first page.
func titleOf(metadata map[string]string, pages [][]region) string {
	if title := metadata["title"]; title != "" && !leftovers.MatchString(title) {
		return title
	}
	if len(pages) == 0 {
		return ""
	}
	var best []line
	body := float64(bodySize(pages)) / 2
	for _, r := range pages[0] {
		for start := 0; start < len(r.lines); {
			end := sizeRun(r.lines, start)
			run := r.lines[start:end]
			if run[0].size >= 1.25*body && looksLikeHeading(run) && (best == nil || run[0].size > best[0].size) {
				best = run
			}
			start = end
		}
	}
	parts := make([]string, len(best))
	for i, l := range best {
		parts[i] = l.text
	}
	return strings.Join(parts, " ")
}
