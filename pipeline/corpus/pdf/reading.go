package pdf

import (
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"

	"graphmill/pipeline/corpus"
)

// check refuses what has nothing to read in it though it is not empty.
func (r *reading) check(file corpus.File) error {
	if r.total == 0 || len(r.bad) > 0 && len(r.bad) == len(r.pages) {
		return &corpus.FileError{
			Kind: corpus.KindDamaged, Verb: "parse", Path: file.Path, Reason: "no page of the PDF can be read",
			Hint: "open the file in another program and save it anew, or get it again",
		}
	}
	images := 0
	for _, page := range r.pages {
		if len(page.fragments) > 0 {
			return nil
		}
		if page.images {
			images++
		}
	}
	if images == 0 {
		return nil
	}
	return &corpus.FileError{
		Kind: corpus.KindImageOnly, Verb: "parse", Path: file.Path,
		Reason: fmt.Sprintf("the PDF holds only pictures, no text (%d of %d pages)", images, len(r.pages)),
		Hint:   "run it through a program for text recognition (OCR) first",
	}
}

func (r *reading) chars() int {
	n := 0
	for _, page := range r.pages {
		for _, f := range page.fragments {
			n += utf8.RuneCountInString(f.text) + 1
		}
	}
	return n
}

// document turns the pages into text with structure. It changes r's pages.
func (r *reading) document(file corpus.File, outline []bookmark) *corpus.Document {
	notes := r.notes()
	dropFurniture(r.pages)
	regions := make([][]region, len(r.pages))
	numbers := make([]int, len(r.pages))
	for i, page := range r.pages {
		regions[i] = regionsOf(page.fragments)
		numbers[i] = page.number
	}
	title := titleOf(r.metadata, regions)
	markHeadings(regions, numbers, outline)
	document := assemble(joinParagraphs(regions), r.pages)
	document.File = file
	document.Format = corpus.PDF
	document.Title = firstRunes(title, maxMetadataRunes)
	document.Date = r.metadata["created"]
	document.Metadata = maps.Clone(r.metadata)
	document.Notes = notes
	document.Sections = corpus.SectionsOf(document.Text, document.Blocks)
	return document
}

func (r *reading) notes() []string {
	var notes []string
	var without []int
	for _, page := range r.pages {
		if len(page.fragments) == 0 && page.images {
			without = append(without, page.number)
		}
	}
	if len(without) > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d pages hold only pictures: %s", len(without), len(r.pages), listed(without)))
	}
	if len(r.bad) > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d pages could not be read: %s", len(r.bad), len(r.pages), listed(r.bad)))
	}
	if r.secured {
		notes = append(notes, "encrypted with an empty password")
	}
	return notes
}

// listed shows the first few of many numbers.
func listed(numbers []int) string {
	const most = 8
	parts := make([]string, 0, most+1)
	for i, n := range numbers {
		if i == most {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, fmt.Sprint(n))
	}
	return strings.Join(parts, ", ")
}

// joinParagraphs cuts all regions into paragraphs and joins those that go on in
// the next column or on the next page.
func joinParagraphs(pages [][]region) []paragraph {
	var all []paragraph
	for page, regions := range pages {
		for _, r := range regions {
			for i, p := range paragraphsOf(r, page) {
				if i == 0 && len(all) > 0 && continues(&all[len(all)-1], &p) {
					all[len(all)-1].lines = append(all[len(all)-1].lines, p.lines...)
					continue
				}
				all = append(all, p)
			}
		}
	}
	return all
}

// truncate keeps the blocks that hold the first maxChars characters.
func truncate(document *corpus.Document, maxChars int) {
	chars := 0
	for i, block := range document.Blocks {
		chars += utf8.RuneCountInString(document.Text[block.Range.Start:block.Range.End])
		if chars < maxChars || i+1 == len(document.Blocks) {
			continue
		}
		end := block.Range.End
		document.Text = document.Text[:end]
		document.Blocks = document.Blocks[:i+1]
		for j := range document.Pages {
			r := &document.Pages[j].Range
			r.Start, r.End = min(r.Start, end), min(r.End, end)
		}
		document.Sections = corpus.SectionsOf(document.Text, document.Blocks)
		return
	}
}
