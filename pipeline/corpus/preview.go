package corpus

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sample is a piece from the middle of one file, to get to know a corpus by.
type Sample struct {
	Path   string `json:"path"`
	Format Format `json:"format"`
	Title  string `json:"title,omitempty"`
	// Chars is the number of characters of the file's text. CharsEstimated says
	// that it follows from the part that was read.
	Chars          int    `json:"chars"`
	CharsEstimated bool   `json:"chars_estimated,omitempty"`
	Text           string `json:"text"`
	Error          string `json:"error,omitempty"`
}

// PreviewPage is some of the files' samples. NextOffset is the index of the
// first file that it left out, nil when there is none.
type PreviewPage struct {
	Files      []Sample `json:"files"`
	NextOffset *int     `json:"next_offset"`
}

// Bounds of previews, in characters.
const (
	// DefaultSampleChars is about a page of print.
	DefaultSampleChars = 1500
	// MaxPreviewChars is the most that one page of previews holds.
	MaxPreviewChars = 30_000
	// entryChars is what a sample costs a page beside its texts.
	entryChars = 100
)

// previewBytes is how much of a file is read per character wanted: a character
// has up to four bytes, and markup takes its part.
const previewBytes = 16

// PreviewFiles returns the samples of files from offset on, as many as fit a
// page. A file that cannot be read has an error in place of its text. The error
// is the context's, or one of arguments.
func (l *Loader) PreviewFiles(ctx context.Context, files []File, offset, sampleChars int) (PreviewPage, error) {
	if offset < 0 || offset > len(files) {
		return PreviewPage{}, fmt.Errorf("preview files: offset %d is not between 0 and %d", offset, len(files))
	}
	if sampleChars <= 0 {
		sampleChars = DefaultSampleChars
	}
	sampleChars = min(sampleChars, MaxPreviewChars-entryChars)
	page := PreviewPage{Files: []Sample{}}
	used := 0
	for i, file := range files[offset:] {
		sample, err := l.Preview(ctx, file, sampleChars)
		if err != nil {
			if ctx.Err() != nil {
				return PreviewPage{}, ctx.Err()
			}
			sample = Sample{Path: file.Path, Format: file.Format, Error: err.Error()}
		}
		for _, part := range []string{sample.Path, sample.Title, sample.Text, sample.Error} {
			used += utf8.RuneCountInString(part)
		}
		used += entryChars
		if used > MaxPreviewChars && len(page.Files) > 0 {
			next := offset + i
			page.NextOffset = &next
			break
		}
		page.Files = append(page.Files, sample)
	}
	return page, nil
}

// Preview returns at most maxChars characters from the middle of a file. Of a
// large file only a window around its middle is read, of a PDF a few pages and
// what leads to them. The title is known where the beginning was read.
func (l *Loader) Preview(ctx context.Context, file File, maxChars int) (sample Sample, err error) {
	defer recoverDamage(file, &err)
	sample = Sample{Path: file.Path, Format: file.Format}
	parser, ok := l.parsers[file.Format]
	if !ok {
		return sample, &FileError{Kind: KindFormat, Verb: "preview", Path: file.Path, Reason: fmt.Sprintf("no parser for %q files", file.Format)}
	}
	var document *Document
	window := int64(max(64<<10, maxChars*previewBytes))
	partial, paged := parser.(PreviewParser)
	switch {
	case paged && file.Size > 0:
		document, sample.Chars, err = l.previewPages(ctx, file, partial, maxChars)
		sample.CharsEstimated = true
	case file.Size <= window:
		var data []byte
		if data, _, err = l.root.Read(ctx, file); err == nil {
			document, err = parser.Parse(ctx, file, data, l.limits)
		}
	default:
		document, sample.Chars, err = l.previewMiddle(ctx, file, parser, window)
		sample.CharsEstimated = true
	}
	if err != nil {
		return sample, fileError(ctx, file, err)
	}
	if !sample.CharsEstimated {
		sample.Chars = utf8.RuneCountInString(document.Text)
	}
	sample.Title = document.Title
	sample.Text = middle(document.Text, maxChars)
	return sample, nil
}

// previewMiddle parses a window around the middle of a file and estimates the
// characters of the whole.
func (l *Loader) previewMiddle(ctx context.Context, file File, parser Parser, window int64) (*Document, int, error) {
	data, err := l.readMiddle(ctx, file, window)
	if err != nil {
		return nil, 0, err
	}
	document, err := parser.Parse(ctx, file, data, l.limits)
	if err != nil {
		return nil, 0, err
	}
	document.Title = "" // a heading in the middle is not the file's title
	chars := utf8.RuneCountInString(document.Text)
	return document, int(float64(chars) * float64(file.Size) / float64(len(data))), nil
}

func (l *Loader) previewPages(ctx context.Context, file File, parser PreviewParser, maxChars int) (document *Document, chars int, err error) {
	err = l.root.ReadParts(ctx, file, func(parts io.ReaderAt, size int64) error {
		document, chars, err = parser.ParsePreview(ctx, file, &sparingly{parts, previewReads}, size, maxChars, l.limits)
		return err
	})
	return document, chars, err
}

// previewReads bounds what is read for a preview of some pages: a page with its
// fonts and pictures has rarely a tenth of it. A damaged file, which would be
// searched from end to end, meets it.
const previewReads = 16 << 20

// sparingly reads a file until so many bytes of it were read.
type sparingly struct {
	file io.ReaderAt
	left int64
}

func (s *sparingly) ReadAt(block []byte, at int64) (int, error) {
	if s.left -= int64(len(block)); s.left < 0 {
		return 0, fmt.Errorf("a preview would read more than %d bytes of it", previewReads)
	}
	return s.file.ReadAt(block, at)
}

// readMiddle reads a window around the middle that starts and ends between
// lines where it can, with the file's byte-order mark before it.
func (l *Loader) readMiddle(ctx context.Context, file File, window int64) ([]byte, error) {
	head, err := l.root.ReadWindow(ctx, file, 0, 4)
	if err != nil {
		return nil, err
	}
	_, _, mark := byteOrderMark(append(head, make([]byte, 4-len(head))...))
	offset := (file.Size - window) / 2 &^ 3
	data, err := l.root.ReadWindow(ctx, file, offset, int(window))
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, &FileError{Kind: KindChanged, Path: file.Path, Reason: "the file became shorter"}
	}
	if mark > 0 && mark != 3 || looksUTF16(data) {
		// Units of two or four bytes: the window starts on one.
		return append(head[:mark:mark], data...), nil
	}
	if at := bytes.IndexByte(data, '\n'); at >= 0 && at < len(data)/4 {
		data = data[at+1:]
	} else {
		data = bytes.TrimLeftFunc(data, func(r rune) bool { return r == utf8.RuneError })
	}
	if at := bytes.LastIndexByte(data, '\n'); at > len(data)*3/4 {
		data = data[:at+1]
	} else {
		for n := 0; n < 3 && len(data) > 0 && !utf8.FullRune(data[max(0, len(data)-utf8.UTFMax+n):]); n++ {
			data = data[:len(data)-1]
		}
	}
	return data, nil
}

func looksUTF16(data []byte) bool {
	enc, _ := utf16WithoutMark(data)
	return enc != nil
}

// middle cuts about maxChars characters from the middle of text, between words.
func middle(text string, maxChars int) string {
	text = strings.TrimSpace(text)
	chars := utf8.RuneCountInString(text)
	if chars <= maxChars {
		return text
	}
	start := runeOffset(text, (chars-maxChars)/2)
	text = text[start:]
	text = text[:runeOffset(text, maxChars)]
	if start > 0 {
		text = text[cutAt(text):]
	}
	if at := strings.LastIndexFunc(text, unicode.IsSpace); at > len(text)*9/10 {
		text = text[:at]
	}
	return strings.TrimSpace(text)
}

// cutAt is where the first paragraph, sentence or word begins, if that is soon.
func cutAt(text string) int {
	soon := text[:len(text)/4]
	for _, before := range []string{"\n\n", ". ", "\n"} {
		if at := strings.Index(soon, before); at >= 0 {
			return at + len(before)
		}
	}
	if at := strings.IndexFunc(soon, unicode.IsSpace); at >= 0 {
		return at
	}
	return 0
}

func runeOffset(text string, runes int) int {
	for i := range text {
		if runes == 0 {
			return i
		}
		runes--
	}
	return len(text)
}
