package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/validate"
)

// bookmark is one entry of a document's outline.
type bookmark struct {
	title string
	page  int // from 1
	depth int // from 1
}

// The most of an outline that is read: hostile files have endless ones.
const (
	maxBookmarks     = 20_000
	maxBookmarkDepth = 12
)

// inspection is what pdfcpu knows of a file.
type inspection struct {
	bookmarks []bookmark
	pages     int
	err       error // why it could not be read; the engine may still read it
}

// inspect reads a file's structure by pdfcpu. Its parser watches ctx only while
// it reads objects, so it runs beside the caller, who does not wait for longer
// than ctx.
func inspect(ctx context.Context, data []byte, maxDecoded int64) inspection {
	done := make(chan inspection, 1)
	go func() { done <- inspectSafely(ctx, data, maxDecoded) }()
	select {
	case result := <-done:
		return result
	case <-ctx.Done():
		return inspection{err: ctx.Err()}
	}
}

func inspectSafely(ctx context.Context, data []byte, maxDecoded int64) (result inspection) {
	defer func() {
		if cause := recover(); cause != nil {
			result = inspection{err: fmt.Errorf("%v", cause)}
		}
	}()
	limits := model.DefaultResourceLimits()
	limits.MaxDecodeBytes = maxDecoded
	limits.MaxStreamBytes = int64(len(data))
	// Built here and not by the library's constructor, which writes a
	// configuration folder into the user's home.
	document, err := pdfcpu.ReadWithContext(ctx, bytes.NewReader(data), &model.Configuration{
		Cmd:            model.LISTBOOKMARKS,
		Reader15:       true,
		ValidationMode: model.ValidationRelaxed,
		Offline:        true,
		Limits:         limits,
	})
	if err != nil {
		return inspection{err: err}
	}
	result.pages = document.PageCount
	// Validation also loads what the outline and its named destinations stand in.
	if err := validate.XRefTable(document); err != nil {
		result.err = fmt.Errorf("read outline: %w", err)
		return result
	}
	marks, err := pdfcpu.Bookmarks(document)
	if err != nil && !errors.Is(err, pdfcpu.ErrNoBookmarks) {
		result.err = fmt.Errorf("read outline: %w", err)
		return result
	}
	result.bookmarks = flatten(nil, marks, 1)
	return result
}

func flatten(flat []bookmark, marks []pdfcpu.Bookmark, depth int) []bookmark {
	for _, mark := range marks {
		if len(flat) >= maxBookmarks || depth > maxBookmarkDepth {
			break
		}
		if title := cleanLine(mark.Title); title != "" {
			flat = append(flat, bookmark{title: title, page: mark.PageFrom, depth: depth})
		}
		flat = flatten(flat, mark.Kids, depth+1)
	}
	return flat
}
