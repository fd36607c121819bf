package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/klippa-app/go-pdfium"
	pdfiumerrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"

	"graphmill/pipeline/corpus"
)

// Options for [New]. The zero value works.
type Options struct {
	// CacheDir keeps the compiled engine between runs: compiling takes about
	// three seconds of a core, loading it a few hundredths. "" compiles anew
	// each time. The directory is made when it is missing; anything in it may be
	// deleted at any time, what does not load is made again, and where nothing can
	// be kept the first document has a note that says so.
	CacheDir string
	// Compile, when not nil, is called before the engine is compiled into an empty
	// CacheDir, to do that in another process with [Compile]: it takes 400 MB for
	// some seconds. Without it, or when it fails, this process compiles; after a
	// failure for itself alone.
	Compile func(ctx context.Context, cacheDir string) error
	// Instances is how many files are read at once; 0 is 2.
	Instances int
	// MemoryBytes bounds the memory of one file's instance; 0 is 512 MiB, ten
	// times the largest file that is read by default.
	MemoryBytes int64
	// Timeout bounds one file beside the caller's context; 0 is five minutes,
	// enough for the longest manuals several times over.
	Timeout time.Duration
}

func (o Options) withDefaults() Options {
	if o.Instances <= 0 {
		o.Instances = 2
	}
	if o.MemoryBytes <= 0 {
		o.MemoryBytes = 512 << 20
	}
	o.MemoryBytes = min(o.MemoryBytes, 4<<30-wasmPage)
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Minute
	}
	return o
}

// Parser reads PDF files. It is safe for concurrent use. The engine starts with
// the first file; Close stops it.
type Parser struct {
	options Options
	engine  *engine
}

var (
	_ corpus.Parser        = (*Parser)(nil)
	_ corpus.PreviewParser = (*Parser)(nil)
)

// New returns a parser that has not started anything yet.
func New(options Options) *Parser {
	options = options.withDefaults()
	return &Parser{options: options, engine: newEngine(options)}
}

// Close stops the engine. Files that are being read fail.
func (p *Parser) Close() error { return p.engine.close() }

// Parse reads a whole file. Errors are [*corpus.FileError]: encrypted,
// image_only, damaged, too_large; or ctx's own. A file of no bytes is a document
// without text, as in every format.
func (p *Parser) Parse(ctx context.Context, file corpus.File, data []byte, limits corpus.Limits) (*corpus.Document, error) {
	limits = limits.WithDefaults()
	if len(data) == 0 {
		return &corpus.Document{File: file, Format: corpus.PDF}, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.options.Timeout, errTimeout)
	defer cancel()
	if err := checkEnds(file, data, data); err != nil {
		return nil, err
	}
	inspected := make(chan inspection, 1)
	go func() { inspected <- inspect(ctx, data, p.options.MemoryBytes) }()
	reading, err := p.read(ctx, file, &requests.OpenDocument{File: &data}, limits, wholeFile)
	if err != nil {
		return nil, err
	}
	outline := <-inspected
	if err := context.Cause(ctx); err != nil {
		return nil, timeoutError(file, err)
	}
	if err := reading.check(file); err != nil {
		return nil, err
	}
	document := reading.document(file, outline.bookmarks)
	if outline.err != nil {
		document.Notes = append(document.Notes, "outline not read: "+cleanLine(outline.err.Error()))
	}
	if note := p.engine.takeNote(); note != "" {
		document.Notes = append(document.Notes, note)
	}
	return document, nil
}

// ParsePreview reads pages from the middle until they hold about maxChars
// characters, and of the rest of the file what leads to them.
func (p *Parser) ParsePreview(ctx context.Context, file corpus.File, data io.ReaderAt, size int64, maxChars int, limits corpus.Limits) (*corpus.Document, int, error) {
	limits = limits.WithDefaults()
	ctx, cancel := context.WithTimeoutCause(ctx, p.options.Timeout, errTimeout)
	defer cancel()
	head, err := readEnd(data, 0, min(size, endBytes))
	if err != nil {
		return nil, 0, err
	}
	tail, err := readEnd(data, max(0, size-endBytes), min(size, endBytes))
	if err == nil {
		err = checkEnds(file, head, tail)
	}
	if err != nil {
		return nil, 0, err
	}
	section := &sections{SectionReader: io.NewSectionReader(data, 0, size)}
	reading, err := p.read(ctx, file, &requests.OpenDocument{FileReader: section, FileReaderSize: size}, limits,
		func(total int) pagePicker { return fromMiddle(total, maxChars) })
	if section.err != nil && ctx.Err() == nil {
		err = &corpus.FileError{Kind: corpus.KindDamaged, Verb: "preview", Path: file.Path, Reason: section.err.Error(), Hint: "if the file is damaged, save it anew with another program"}
	}
	if err != nil {
		return nil, 0, err
	}
	if err := reading.check(file); err != nil {
		return nil, 0, err
	}
	chars, read := reading.chars(), len(reading.pages)
	document := reading.document(file, nil)
	truncate(document, maxChars)
	return document, chars * reading.total / max(read, 1), nil
}

// endBytes is how much of a file's end, and of its beginning, a preview looks at:
// what stands after a file's last object is a list of its objects, twenty bytes
// each.
const endBytes = 64 << 10

func readEnd(data io.ReaderAt, at, length int64) ([]byte, error) {
	block := make([]byte, length)
	n, err := data.ReadAt(block, at)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return block[:n], err
}

// sections keeps the first error of reading, of which the engine says only that
// the file cannot be read.
type sections struct {
	*io.SectionReader
	err error
}

func (s *sections) Read(block []byte) (int, error) {
	n, err := s.SectionReader.Read(block)
	if err != nil && !errors.Is(err, io.EOF) && s.err == nil {
		s.err = err
	}
	return n, err
}

// checkEnds looks at what a file begins and ends with. PDFium repairs a file
// that was cut off by leaving out what is missing; a document that lacks its
// second half must not pass for whole.
func checkEnds(file corpus.File, head, tail []byte) error {
	head = head[:min(len(head), 1024)]
	if !bytes.Contains(head, []byte("%PDF-")) {
		return &corpus.FileError{
			Kind: corpus.KindDamaged, Verb: "parse", Path: file.Path,
			Reason: "it does not begin as a PDF", Hint: "check what the file really is",
		}
	}
	if bytes.LastIndex(tail, []byte("startxref")) < bytes.LastIndex(tail, []byte("endobj")) {
		return &corpus.FileError{
			Kind: corpus.KindDamaged, Verb: "parse", Path: file.Path,
			Reason: "the file is cut off: its last part, with the cross-reference table, is missing",
			Hint:   "get the file again from where it came from",
		}
	}
	return nil
}

var errTimeout = errors.New("the time limit for one PDF is over")

func timeoutError(file corpus.File, err error) error {
	if errors.Is(err, errTimeout) {
		return &corpus.FileError{
			Kind: corpus.KindTooLarge, Verb: "parse", Path: file.Path, Reason: err.Error(),
			Hint: "split the file, or look at it with another program: it may be damaged",
		}
	}
	return err
}

// read opens the file in an instance of its own and reads the pages that pick
// chooses.
func (p *Parser) read(ctx context.Context, file corpus.File, request *requests.OpenDocument, limits corpus.Limits, choose func(total int) pagePicker) (*reading, error) {
	r := &reading{}
	err := p.engine.lend(ctx, func(instance pdfium.Pdfium) error {
		opened, err := instance.OpenDocument(request)
		if err != nil {
			return p.openError(ctx, file, request.File, err)
		}
		return r.readPages(ctx, file, instance, opened.Document, limits, choose)
	})
	if cause := context.Cause(ctx); cause != nil {
		return nil, timeoutError(file, cause)
	}
	var known *corpus.FileError
	if err == nil || errors.As(err, &known) || errors.Is(err, errClosed) || errors.Is(err, errStart) {
		return r, err
	}
	return nil, &corpus.FileError{
		Kind: corpus.KindDamaged, Verb: "parse", Path: file.Path,
		Reason: "the PDF engine could not go on", Err: brief(err),
		Hint: "open the file in another program and save it anew",
	}
}

// brief is an error without the WebAssembly stack that follows it.
func brief(err error) error {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(line)
}

// openError says why a file does not open.
func (p *Parser) openError(ctx context.Context, file corpus.File, data *[]byte, err error) error {
	if errors.Is(err, pdfiumerrors.ErrPassword) || errors.Is(err, pdfiumerrors.ErrSecurity) {
		return &corpus.FileError{
			Kind: corpus.KindEncrypted, Verb: "parse", Path: file.Path,
			Reason: "the PDF is encrypted and needs a password",
			Hint:   "save a copy without password protection",
		}
	}
	damage := &corpus.FileError{
		Kind: corpus.KindDamaged, Verb: "parse", Path: file.Path,
		Reason: "the PDF is damaged", Err: err,
		Hint: "open the file in another program and save it anew, or get it again",
	}
	if data == nil {
		return damage
	}
	// pdfcpu names the object that is broken.
	if better := inspect(ctx, *data, p.options.MemoryBytes); better.err != nil {
		damage.Err = better.err
	}
	return damage
}

// reading is what the engine gave of one file.
type reading struct {
	total    int // pages in the file
	pages    []rawPage
	bad      []int // pages that could not be read
	metadata map[string]string
	secured  bool // encrypted with an empty password
}

// pagePicker says which page to read next, from 0, given the characters read so
// far; false when enough are read.
type pagePicker func(read, chars int) (index int, ok bool)

func wholeFile(total int) pagePicker {
	return func(read, _ int) (int, bool) { return read, read < total }
}

// maxPreviewPages bounds a preview of pages with little or no text on them:
// slides, scans.
const maxPreviewPages = 20

// fromMiddle reads on from a page in the middle; when the end comes before
// there is enough, what is there must do.
func fromMiddle(total, maxChars int) pagePicker {
	start := total / 2
	if total > 2 {
		start-- // the furniture of a page shows only beside others
	}
	return func(read, chars int) (int, bool) {
		index := start + read
		return index, index < total && read < maxPreviewPages && (chars < maxChars || read < minRepeats)
	}
}

func (r *reading) readPages(ctx context.Context, file corpus.File, instance pdfium.Pdfium, document references.FPDF_DOCUMENT, limits corpus.Limits, choose func(int) pagePicker) error {
	count, err := instance.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: document})
	if err != nil {
		return err
	}
	r.total = count.PageCount
	if r.total > limits.MaxPages {
		return &corpus.FileError{
			Kind: corpus.KindTooLarge, Verb: "parse", Path: file.Path,
			Reason: fmt.Sprintf("%d pages, over the limit of %d", r.total, limits.MaxPages),
			Hint:   "raise corpus.max_pages or split the file",
		}
	}
	r.metadata = metadataOf(instance, document)
	if revision, err := instance.FPDF_GetSecurityHandlerRevision(&requests.FPDF_GetSecurityHandlerRevision{Document: document}); err == nil {
		r.secured = revision.SecurityHandlerRevision >= 0
	}
	next, size, chars := choose(r.total), int64(0), 0
	for {
		index, more := next(len(r.pages), chars)
		if !more {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		page, err := readPage(instance, document, index)
		if errors.Is(err, pdfiumerrors.ErrPage) {
			r.bad = append(r.bad, index+1)
		} else if err != nil {
			return fmt.Errorf("page %d: %w", index+1, err)
		}
		r.pages = append(r.pages, page)
		chars += page.bytes
		if size += int64(page.bytes); size > limits.MaxTextBytes {
			return &corpus.FileError{
				Kind: corpus.KindTooLarge, Verb: "parse", Path: file.Path,
				Reason: fmt.Sprintf("more than %d bytes of text by page %d", limits.MaxTextBytes, index+1),
				Hint:   "raise corpus.max_text_bytes or split the file",
			}
		}
	}
}
