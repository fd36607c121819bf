package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klippa-app/go-pdfium"
	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"

	"graphmill/pipeline/corpus"
)

var shared *Parser

// The engine takes seconds to compile, so one serves all tests.
func TestMain(m *testing.M) {
	api.DisableConfigDir() // pdfcpu writes the files of some tests
	dir, err := os.MkdirTemp("", "pdf-engine-")
	if err != nil {
		panic(err)
	}
	shared = New(Options{CacheDir: dir})
	code := m.Run()
	if err := shared.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

func parse(t *testing.T, data []byte) *corpus.Document {
	t.Helper()
	document, err := shared.Parse(context.Background(), corpus.File{Path: "a.pdf", Format: corpus.PDF}, data, corpus.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := document.Check(); err != nil {
		t.Fatal(err)
	}
	return document
}

func texts(d *corpus.Document, kind corpus.BlockKind) []string {
	var out []string
	for _, b := range d.Blocks {
		if b.Kind == kind {
			out = append(out, d.Text[b.Range.Start:b.Range.End])
		}
	}
	return out
}

func TestWordsMatchPdftotext(t *testing.T) {
	files, err := filepath.Glob("testdata/*.pdf")
	if err != nil || len(files) == 0 {
		t.Fatal("no PDFs to compare", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			expected, err := os.ReadFile(strings.TrimSuffix(file, ".pdf") + ".pdftotext.txt")
			if err != nil {
				t.Fatal(err)
			}
			document := parse(t, data)
			theirs, ours := wordsIn(string(expected)), wordsIn(document.Text)
			words, order := agreement(theirs, ours), agreement(pairs(theirs), pairs(ours))
			t.Logf("words %.4f, neighbouring pairs %.4f", words, order)
			// Dropped headers and footers count as missing here.
			if words < 0.97 {
				t.Errorf("words agree to %.4f with pdftotext, want 0.97", words)
			}
			if order < 0.95 {
				t.Errorf("neighbouring words agree to %.4f with pdftotext, want 0.95", order)
			}
		})
	}
}

func TestRealDocumentHasItsStructure(t *testing.T) {
	data, err := os.ReadFile("testdata/project-history.en.pdf")
	if err != nil {
		t.Fatal(err)
	}
	d := parse(t, data)
	if d.Title != "A Brief History of Debian" || d.Date != "2023-02-15" || len(d.Pages) != 27 {
		t.Errorf("title %q, date %q, %d pages", d.Title, d.Date, len(d.Pages))
	}
	if d.Pages[1].Label != "ii" || d.Pages[26].Number != 27 {
		t.Errorf("page labels: second %q, last number %d", d.Pages[1].Label, d.Pages[26].Number)
	}
	headings := texts(d, corpus.Heading)
	for _, want := range []string{"Leadership", "1.2 Pronouncing Debian", "4.13.1 July 2000: Joel Klecker died"} {
		if !contains(headings, want) {
			t.Errorf("no heading %q in %q", want, headings)
		}
	}
	for _, want := range []string{
		// across a line's end, and with a hyphen that belongs to the word
		"Ian Murdock founded Debian in August 1993 and led it until March 1996.",
		"It started as a small, tightly-knit group of Free Software hackers",
	} {
		if !strings.Contains(d.Text, want) {
			t.Errorf("text lacks %q", want)
		}
	}
	if n := strings.Count(d.Text, "A Brief History of Debian"); n > 3 {
		t.Errorf("the running header is still there: %d times", n)
	}
}

func contains(list []string, want string) bool {
	for _, s := range list {
		if s == want {
			return true
		}
	}
	return false
}

func TestColumnsAreReadOneAfterTheOther(t *testing.T) {
	left := column(72, 680, "The first column begins here and its", "lines are about as long as those of a", "paper set in two columns usually are,", "so that nobody takes it for a table of", "any kind, and it goes on for six lines", "until it ends here.")
	right := column(320, 680, "The second column stands beside the", "first one at the very same height, and", "a reader who went from line to line by", "height alone would mix up the words of", "both, which nobody wants at all in any", "document that is cited.")
	page := []set{{x: 72, y: 740, size: 10, text: "A line above that runs across both of the columns of the page without any gap in it."}}
	for i := range left { // painted row by row, as some programs do
		page = append(page, left[i], right[i])
	}
	text := parse(t, buildPDF(page)).Text
	end, begin := strings.Index(text, "until it ends here."), strings.Index(text, "The second column")
	if end < 0 || begin < 0 || end > begin || !strings.HasPrefix(text, "A line above") {
		t.Errorf("order is wrong:\n%s", text)
	}
	if !strings.Contains(text, "first one at the very same height, and a reader who went") {
		t.Errorf("lines of the second column are not joined:\n%s", text)
	}
}

func TestCellsOfATableStayInTheirRows(t *testing.T) {
	var page []set
	for i := range 8 {
		y := 700 - 14*float64(i)
		page = append(page, set{x: 72, y: y, size: 10, text: fmt.Sprintf("row%d", i)}, set{x: 200, y: y, size: 10, text: fmt.Sprintf("cell%d", i)}, set{x: 330, y: y, size: 10, text: "x"})
	}
	if text := parse(t, buildPDF(page)).Text; !strings.Contains(text, "row3 | cell3 | x") {
		t.Errorf("rows are torn apart:\n%s", text)
	}
}

func TestTurnedPagesAreReadAsTheyAreHeld(t *testing.T) {
	upright := column(60, 500, "The first line of a page that lies on its side goes", "on in a second one, and then it ends.", "", "Another paragraph follows after a gap.")
	want := parse(t, buildPDF(upright)).Text
	for turn := 1; turn < 4; turn++ {
		if got := parse(t, buildPDF(turned(turn, upright))).Text; got != want {
			t.Errorf("%d quarter turns: got\n%s\nwant\n%s", turn, got, want)
		}
	}
}

func TestHeadersOfThreePagesAreDropped(t *testing.T) {
	pages := [][]set{column(72, 600, "A title page without a header.")}
	for i := range 2 {
		pages = append(pages, append(column(72, 740, "The running title"), column(72, 700, fmt.Sprintf("Text of page %d is here.", i+2))...))
	}
	if text := parse(t, buildPDF(pages...)).Text; strings.Contains(text, "running") {
		t.Errorf("got\n%s", text)
	}
	// Two pages that begin alike are no running header.
	if text := parse(t, buildPDF(pages[1:]...)).Text; !strings.Contains(text, "running") {
		t.Errorf("got\n%s", text)
	}
}

func TestItemsOfAListGoOnUnderTheirText(t *testing.T) {
	page := append(column(72, 700, "A list:"), set{x: 72, y: 680, size: 10, text: "\x95"}, set{x: 90, y: 680, size: 10, text: "one item that needs more than a line to"},
		set{x: 90, y: 668, size: 10, text: "be said in full,"}, set{x: 72, y: 650, size: 10, text: "\x95"}, set{x: 90, y: 650, size: 10, text: "another."})
	document := parse(t, buildPDF(page))
	if want := "A list:\n\n• one item that needs more than a line to be said in full,\n• another."; document.Text != want {
		t.Errorf("got %q", document.Text)
	}
}

func TestRunningHeadersAndPageNumbersAreDropped(t *testing.T) {
	var pages [][]set
	for i := range 5 {
		page := []set{{x: 72, y: 760, size: 9, text: "Annual Report 1998"}, {x: 300, y: 30, size: 9, text: fmt.Sprintf("%d", i+11)}}
		page = append(page, column(72, 700, fmt.Sprintf("Body of part %c begins here.", 'A'+i), "It has a second line and it ends.")...)
		pages = append(pages, page)
	}
	d := parse(t, buildPDF(pages...))
	if strings.Contains(d.Text, "Annual Report") || strings.Contains(d.Text, "13") {
		t.Errorf("furniture is left:\n%s", d.Text)
	}
	for i := range 5 {
		r := d.Pages[i].Range
		if want := fmt.Sprintf("Body of part %c", 'A'+i); !strings.HasPrefix(d.Text[r.Start:r.End], want) {
			t.Errorf("page %d is %q, want it to begin with %q", i+1, d.Text[r.Start:r.End], want)
		}
	}
}

func TestCopiesOfOnePageAreNotAllFurniture(t *testing.T) {
	page := column(72, 700, "Receipt", "Paid with thanks")
	if d := parse(t, buildPDF(page, page, page, page)); strings.Count(d.Text, "Paid with thanks") != 4 {
		t.Errorf("got %q", d.Text)
	}
}

// A file of a megabyte may ask for half a gigabyte; growing to it must not take
// several times as much.
func TestInstanceGivesItsMemoryBack(t *testing.T) {
	var m memories
	for range 2000 { // more addresses than there are, if they were kept
		linear := m.Allocate(0, 64<<30)
		first := linear.Reallocate(wasmPage)
		first[0] = 1
		grown := linear.Reallocate(64 * wasmPage)
		if &grown[0] != &first[0] || grown[0] != 1 || grown[len(grown)-1] != 0 {
			t.Fatal("growing moves or loses what is there")
		}
		grown[len(grown)-1] = 1
		if linear.Reallocate(65<<30) != nil {
			t.Fatal("it grows beyond its limit")
		}
		linear.Free()
		grown[0]++ // a call that is being stopped may still write
		release(m.claim())
	}
	if len(m.claim()) != 0 {
		t.Error("claimed twice")
	}
}

func TestTextThatRepeatsInTheMiddleStays(t *testing.T) {
	var pages [][]set
	for range 4 {
		pages = append(pages, column(72, 700, "One line of the body.", "Another of its lines.", "Third line.", "Warning: hot surface.", "Fifth line.", "Sixth line.", "Seventh line."))
	}
	if n := strings.Count(parse(t, buildPDF(pages...)).Text, "Warning: hot surface."); n != 4 {
		t.Errorf("%d of 4 are left", n)
	}
}

func TestHyphensAtLineEnds(t *testing.T) {
	tests := []struct{ name, first, second, want string }{
		{"broken word", "They met in the labora-", "tory on Monday.", "They met in the laboratory on Monday."},
		{"compound known from elsewhere", "A well-known case; it is well-", "known by all.", "it is well-known by all."},
		{"name", "She worked with Jean-", "Paul for years.", "with Jean-Paul for years."},
		{"range of years", "They were married 1990-", "1995 in Rome.", "married 1990-1995 in Rome."},
		{"dash", "He left -", "nobody knew why.", "He left - nobody knew why."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text := parse(t, buildPDF(column(72, 700, test.first, test.second))).Text
			if !strings.Contains(text, test.want) {
				t.Errorf("got %q, want %q in it", text, test.want)
			}
		})
	}
}

func TestParagraphGoesOnAcrossPages(t *testing.T) {
	d := parse(t, buildPDF(
		column(72, 700, "The expedition left the harbour and", "sailed along the coast until it"),
		column(72, 700, "reached the island in May.", "There it stayed."),
	))
	if want := "until it reached the island in May."; !strings.Contains(d.Text, want) || len(d.Blocks) != 1 {
		t.Errorf("%d blocks: %q", len(d.Blocks), d.Text)
	}
	if second := d.Text[d.Pages[1].Range.Start:]; !strings.HasPrefix(second, "reached the island") {
		t.Errorf("the second page begins with %q", second)
	}
}

func TestHeadings(t *testing.T) {
	page := append([]set{{x: 72, y: 720, size: 18, text: "Early Life"}}, column(72, 690, "She was born in a small town.", "Her father taught there.")...)
	page = append(page, set{x: 72, y: 640, size: 14, text: "School"})
	page = append(page, column(72, 620, "At school she liked numbers.")...)
	plain := buildPDF(page)
	t.Run("from type size", func(t *testing.T) {
		sections := parse(t, plain).Sections
		if len(sections) != 2 || sections[0].Title != "Early Life" || sections[1].Title != "School" || sections[1].Parent != 0 {
			t.Errorf("sections %+v", sections)
		}
	})
	t.Run("from bookmarks", func(t *testing.T) {
		marked := withBookmarks(t, plain, pdfcpu.Bookmark{Title: "School", PageFrom: 1})
		if got := texts(parse(t, marked), corpus.Heading); !reflect.DeepEqual(got, []string{"School"}) {
			t.Errorf("headings %q, notes %q", got, parse(t, marked).Notes)
		}
	})
}

func TestCharactersAreCleaned(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"ligatures", "e\ufb03cient \ufb02ow", "efficient flow"},
		{"spaces of all kinds", "a\u00a0b\u2003c\td ", "a b c d"},
		{"controls and noncharacters", "a\x00b\x01c\ufffed\ufeff", "abcd"},
		{"symbol bullet", "\uf0b7 item", "• item"},
		{"surrogate halves never stay", "x" + string([]rune{0xd83d}), "x"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := cleanLine(test.in); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestDates(t *testing.T) {
	tests := []struct{ in, want string }{
		{"D:20230115093000+01'00'", "2023-01-15"}, {"D:2023", "2023"}, {"D:202313", "2023"},
		{"20240230", "2024-02"}, {"D:0000", ""}, {"yesterday", ""}, {"", ""},
	}
	for _, test := range tests {
		if got := isoDate(test.in); got != test.want {
			t.Errorf("isoDate(%q) = %q, want %q", test.in, got, test.want)
		}
	}
}

func TestFilesThatCannotBeReadSayWhy(t *testing.T) {
	words := column(72, 700, "Some words on a page.")
	whole := buildPDF(words, words, words)
	tests := []struct {
		name   string
		data   []byte
		limits corpus.Limits
		want   error
	}{
		{"encrypted", encrypt(t, whole, "secret"), corpus.Limits{}, corpus.ErrEncrypted},
		{"pictures only", buildPDF(nil, nil), corpus.Limits{}, corpus.ErrImageOnly},
		{"cut in half", whole[:len(whole)/2], corpus.Limits{}, corpus.ErrDamaged},
		{"no PDF", []byte("<html>not found</html>"), corpus.Limits{}, corpus.ErrDamaged},
		{"garbage after the header", append([]byte("%PDF-1.7\n"), bytes.Repeat([]byte{0xfe, 0x01}, 4000)...), corpus.Limits{}, corpus.ErrDamaged},
		{"too many pages", whole, corpus.Limits{MaxPages: 2}, corpus.ErrTooLarge},
		{"too much text", whole, corpus.Limits{MaxTextBytes: 30}, corpus.ErrTooLarge},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := shared.Parse(context.Background(), corpus.File{Path: "a.pdf"}, test.data, test.limits)
			if !errors.Is(err, test.want) {
				t.Fatalf("got %v, want %v", err, test.want)
			}
			var file *corpus.FileError
			if errors.As(err, &file); file.Path != "a.pdf" || file.Reason == "" || file.Hint == "" {
				t.Errorf("error lacks path, reason or hint: %+v", file)
			}
		})
	}
}

func TestEmptyPasswordIsNoObstacle(t *testing.T) {
	d := parse(t, encrypt(t, buildPDF(column(72, 700, "Some words on a page.")), ""))
	if d.Text != "Some words on a page." || len(d.Notes) != 1 {
		t.Errorf("text %q, notes %q", d.Text, d.Notes)
	}
}

func TestScannedPagesAmongTextAreNoted(t *testing.T) {
	d := parse(t, buildPDF(column(72, 700, "Some words on a page."), nil))
	if len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "1 of 2 pages") {
		t.Errorf("notes %q", d.Notes)
	}
}

func TestFileOfNoBytesIsAnEmptyDocument(t *testing.T) {
	if d := parse(t, nil); d.Text != "" || len(d.Blocks) != 0 || d.Format != corpus.PDF {
		t.Errorf("%+v", d)
	}
}

func TestBlankPageIsAnEmptyDocument(t *testing.T) {
	if d := parse(t, buildPDF([]set{{x: 72, y: 700, size: 10, text: " "}})); d.Text != "" || len(d.Pages) != 1 {
		t.Errorf("text %q, %d pages", d.Text, len(d.Pages))
	}
}

func TestPanicOrTrapIsThatFilesErrorOnly(t *testing.T) {
	err := shared.engine.lend(context.Background(), func(pdfium.Pdfium) error { panic("torn") })
	if err == nil || !strings.Contains(err.Error(), "torn") {
		t.Errorf("got %v", err)
	}
	if d := parse(t, buildPDF(column(72, 700, "Still alive."))); d.Text != "Still alive." {
		t.Errorf("afterwards %q", d.Text)
	}
}

func TestDeadlineStopsAParseInsideTheEngine(t *testing.T) {
	// One page whose content the engine works on for a minute or more.
	endless := strings.Repeat("BT /F1 10 Tf 72 700 Td (aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa) Tj ET\n", 150_000)
	data := bytes.Replace(buildPDF([]set{{x: 72, y: 700, size: 10, text: "x"}}), []byte(contentOf([]set{{x: 72, y: 700, size: 10, text: "x"}})), []byte(endless), 1)
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := shared.Parse(ctx, corpus.File{Path: "a.pdf"}, data, corpus.Limits{})
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the deadline", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the parse goes on")
	}
	if d := parse(t, buildPDF(column(72, 700, "Still alive."))); d.Text != "Still alive." {
		t.Errorf("afterwards %q", d.Text)
	}
}

func TestConcurrentParsesGiveTheSame(t *testing.T) {
	data, err := os.ReadFile("testdata/sample_docs.pdf")
	if err != nil {
		t.Fatal(err)
	}
	want := parse(t, data)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			got, err := shared.Parse(context.Background(), want.File, data, corpus.Limits{})
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("differs (error %v)", err)
			}
		})
	}
	group.Wait()
}

func TestPreviewReadsPagesFromTheMiddle(t *testing.T) {
	var pages [][]set
	for i := range 40 {
		pages = append(pages, column(72, 700, strings.Repeat(string(rune('a'+i%26)), 30)+".", fmt.Sprintf("Here stands part %d of it.", i+1)))
	}
	data := buildPDF(pages...)
	d, chars, err := shared.ParsePreview(context.Background(), corpus.File{Path: "a.pdf"}, bytes.NewReader(data), int64(len(data)), 60, corpus.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Check(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(d.Text, "part 20 of it") || len(d.Text) > 120 {
		t.Errorf("text %q", d.Text)
	}
	if chars < 2000 || chars > 2600 {
		t.Errorf("estimated %d characters, have about 2300", chars)
	}
}

func TestClosedParserRefuses(t *testing.T) {
	p := New(Options{})
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Fatal(err)
	}
	_, err := p.Parse(context.Background(), corpus.File{Path: "a.pdf"}, buildPDF(column(72, 700, "x")), corpus.Limits{})
	if !errors.Is(err, errClosed) {
		t.Errorf("got %v", err)
	}
}

func FuzzParse(f *testing.F) {
	whole := buildPDF(column(72, 700, "Some words on a", "page with lab-", "els."), nil)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add(bytes.Replace(whole, []byte("/Count 2"), []byte("/Count 9999999"), 1))
	f.Add(bytes.Replace(whole, []byte("/Parent 2 0 R"), []byte("/Parent 4 0 R"), 1))
	f.Add(bytes.Replace(whole, []byte("[4 0 R 6 0 R]"), []byte("[2 0 R 2 0 R]"), 1))
	// The engine compiles for the first file, and fuzzing takes ten seconds for a hang.
	if _, err := shared.Parse(f.Context(), corpus.File{Path: "a.pdf"}, whole, corpus.Limits{}); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		document, err := shared.Parse(ctx, corpus.File{Path: "a.pdf"}, data, corpus.Limits{MaxPages: 50})
		if err != nil {
			return
		}
		if err := document.Check(); err != nil {
			t.Error(err)
		}
	})
}
