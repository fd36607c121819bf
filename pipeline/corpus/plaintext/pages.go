package plaintext

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/graph"
)

// maxPageLines is the average above which form feeds separate something else
// than printed pages.
const maxPageLines = 100

// pagesOf takes form feeds for page breaks when what they separate is as long
// as pages are.
func pagesOf(text string) []corpus.Page {
	body := strings.TrimRight(text, "\f\n\t ")
	breaks := strings.Count(body, "\f")
	if breaks == 0 || strings.Count(body, "\n") > maxPageLines*(breaks+1) {
		return nil
	}
	pages := make([]corpus.Page, 0, breaks+1)
	for at := 0; at <= len(body); {
		end := strings.IndexByte(body[at:], '\f')
		if end < 0 {
			end = len(text) - at
		}
		pages = append(pages, corpus.Page{Number: len(pages) + 1, Range: graph.Range{Start: at, End: at + end}})
		at += end + 1
	}
	return pages
}

// furnitureShare is the part of the pages that must begin or end with the same
// line for it to be a running header or footer.
const furnitureShare = 0.8

// unpaginate takes the running headers and footers from text that is laid out
// in pages, as RFCs are, so that what goes on from page to page is read in one
// piece. It returns the text without them and where its pages are; removed is
// the number of lines that were left out, 0 when text is returned as it was.
func unpaginate(text string) (plain string, pages []corpus.Page, removed int) {
	marked := pagesOf(text)
	if len(marked) < 2 {
		return text, marked, 0
	}
	sheets := make([]sheet, len(marked))
	for i, page := range marked {
		sheets[i] = sheetOf(text[page.Range.Start:page.Range.End])
	}
	headers := repeated(sheets[1:], func(s sheet) string { return s.first })
	footers := repeated(sheets[:max(2, len(sheets)-1)], func(s sheet) string { return s.last }) // the last page may have none
	if headers == "" && footers == "" {
		return text, marked, 0
	}
	var b strings.Builder
	pages = make([]corpus.Page, len(sheets))
	for i, s := range sheets {
		body := s.lines
		if i > 0 && headers != "" && numberless(s.first) == headers {
			body = body[1:]
			removed++
		}
		if footers != "" && len(body) > 0 && numberless(s.last) == footers {
			body = body[:len(body)-1]
			removed++
		}
		body = trimBlank(body, i > 0)
		if i > 0 && b.Len() > 0 && len(body) > 0 {
			separator := "\n\n"
			if goesOn(lastLine(b.String()), body[0]) {
				separator = "\n"
			}
			b.WriteString(separator)
		}
		start := b.Len()
		b.WriteString(strings.Join(body, "\n"))
		pages[i] = corpus.Page{Number: i + 1, Range: graph.Range{Start: start, End: b.Len()}}
	}
	return b.String(), pages, removed
}

// sheet is one page's lines from the first to the last that is not blank; of
// the first page, the blank ones before it too.
type sheet struct {
	lines       []string
	first, last string
}

func sheetOf(text string) sheet {
	lines := trimBlank(strings.Split(text, "\n"), true)
	if len(lines) < 3 {
		return sheet{lines: lines}
	}
	return sheet{lines: lines, first: lines[0], last: lines[len(lines)-1]}
}

// trimBlank takes the blank lines from the end and, if asked, the beginning.
func trimBlank(lines []string, front bool) []string {
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	for front && len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	return lines
}

// repeated is the line, without its numbers, that most pages have in a place;
// "" when too few have the same.
func repeated(sheets []sheet, line func(sheet) string) string {
	counts := make(map[string]int)
	for _, s := range sheets {
		if key := numberless(line(s)); key != "" {
			if counts[key]++; float64(counts[key]) >= furnitureShare*float64(len(sheets)) && counts[key] > 1 {
				return key
			}
		}
	}
	return ""
}

var numbers = regexp.MustCompile(`[0-9]+|\b[ivxlc]+\b`)

// numberless is a line with white space collapsed and numbers taken out; "" for
// one without letters, which may be anything.
func numberless(line string) string {
	if len(line) > 4*maxHeading || !hasLetter(line) {
		return ""
	}
	return numbers.ReplaceAllString(strings.Join(strings.Fields(line), " "), "0")
}

// goesOnFrom is how long, in characters, a line is at least that the next page
// goes on from.
const goesOnFrom = 40

// goesOn reports whether a paragraph goes on from the last line of a page to
// the first of the next.
func goesOn(last, first string) bool {
	if indentation(last) != indentation(first) || utf8.RuneCountInString(last) < goesOnFrom || bullet(strings.TrimSpace(first)) {
		return false
	}
	end, _ := utf8.DecodeLastRuneInString(strings.TrimRight(last, " \t\"')]”’»"))
	return !strings.ContainsRune(".:;!?。！？", end) && (unicode.IsLetter(end) || unicode.IsDigit(end) || strings.ContainsRune(",-(", end))
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }
