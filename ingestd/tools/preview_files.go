package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"graphmill/pipeline/corpus"
	"graphmill/toolserver"
)

const previewName = "preview_files"

type previewInput struct {
	Files       []string `json:"files"`
	Offset      int      `json:"offset"`
	SampleChars int      `json:"sample_chars"`
}

// Preview is the reply of preview_files.
type Preview struct {
	corpus.PreviewPage
	toolserver.Notice
}

func (k *kit) previewTool() (*toolserver.Tool, error) {
	return toolserver.NewTool(toolserver.Spec{
		Name: previewName, Title: "Sample the files", Wide: true,
		Description: "Shows one sample from the middle of each file under the files root, to design an ontology from. Reads a window of each file (a few pages of a PDF), never the whole; " +
			"`chars` is then an estimate (`chars_estimated`). A page holds at most 30,000 characters: call again with `next_offset` as `offset` until it is null.",
		Input: object(nil, map[string]*jsonschema.Schema{
			"offset": {Type: "integer", Description: "Number of the file to begin with: `next_offset` of the page before.", Minimum: jsonschema.Ptr(0.0), Default: json.RawMessage("0")},
			"files": {
				Type: "array", Description: "Only these files: paths, folders or globs such as reports/*.pdf. All without it.", MaxItems: jsonschema.Ptr(maxPatterns),
				Items: &jsonschema.Schema{Type: "string", MinLength: jsonschema.Ptr(1), MaxLength: jsonschema.Ptr(maxPathChars)},
			},
			"sample_chars": {
				Type: "integer", Description: "Characters of each sample; fewer show more files a page.",
				Minimum: jsonschema.Ptr(50.0), Maximum: jsonschema.Ptr(20_000.0), Default: json.RawMessage(fmt.Sprint(corpus.DefaultSampleChars)),
			},
		}),
	}, k.preview)
}

func (k *kit) preview(ctx context.Context, in previewInput) (*Preview, error) {
	page, err := k.Backend.Preview(ctx, in.Files, in.Offset, in.SampleChars)
	if err != nil {
		return nil, err
	}
	out := &Preview{PreviewPage: page}
	out.fit(in.Offset, k.ReplyChars-envelopeChars)
	switch {
	case len(out.Files) == 0 && in.Offset == 0:
		out.Hint = "There is no file of a kind that is ingested (.txt .md .rst .html .pdf) under the files root."
	case out.NextOffset != nil:
		out.Hint = fmt.Sprintf("More files: call preview_files again with offset %d.", *out.NextOffset)
	}
	return out, nil
}

// envelopeChars is room for what the server adds to a reply.
const envelopeChars = 600

// fit leaves the last samples of a page to the next one until the reply can be
// sent whole: quotation marks and line breaks take more room in it than in a file.
func (p *Preview) fit(offset, limit int) {
	for len(p.Files) > 1 && p.size() > limit {
		p.Files = p.Files[:len(p.Files)-1]
		next := offset + len(p.Files)
		p.NextOffset = &next
	}
	for len(p.Files) == 1 && p.size() > limit {
		text := []rune(p.Files[0].Text)
		if len(text) < 100 {
			return
		}
		p.Files[0].Text = string(text[len(text)/8 : len(text)*7/8])
	}
}

// size is that of the larger part of the reply.
func (p *Preview) size() int {
	data, err := json.Marshal(p)
	if err != nil {
		return 0 // strings and numbers always marshal
	}
	return max(utf8.RuneCount(data), utf8.RuneCountInString(p.Text(1<<30)))
}

// Text shows the samples, each line of a file behind a mark, so that none can pass
// for a line of the server's.
func (p *Preview) Text(limit int) string {
	var b strings.Builder
	for _, s := range p.Files {
		about := ""
		if s.CharsEstimated {
			about = "about "
		}
		fmt.Fprintf(&b, "%s (%s, %s%d characters)", line(s.Path), s.Format, about, s.Chars)
		if s.Title != "" {
			b.WriteString(" " + line(s.Title))
		}
		b.WriteByte('\n')
		if s.Error != "" {
			b.WriteString("  cannot be read: " + line(s.Error) + "\n")
			continue
		}
		for _, text := range lines(s.Text) {
			b.WriteString("  | " + line(text) + "\n")
		}
	}
	if p.Hint != "" {
		b.WriteString(p.Hint + "\n")
	}
	return clip(b.String(), limit)
}
