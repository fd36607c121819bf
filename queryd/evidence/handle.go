package evidence

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"graphmill/pipeline/graph"
)

// Handle names a text of a document for good: the same in every session and from
// every copy of the graph. Written, it is a URI whose fragment has the span as
// RFC 5147 counts it, the beginning of the document's hash and that of the text's:
//
//	file:reports/q1.pdf#char=120,345;sha256=8f3a6c…;text=9c1e02…
type Handle struct {
	Document graph.DocumentID
	Span     graph.Span
	Content  string // the first digits of the document's content hash
	Text     string // the first digits of the text's hash
}

const (
	contentDigits = 16
	textDigits    = 12
	// maxHandleBytes is more than any id takes, each byte of it escaped.
	maxHandleBytes = 1000
)

// NewHandle makes the handle of a text that stands in a document whose content has
// a hash; "" when it is not known where.
func NewHandle(document graph.DocumentID, contentHash string, span graph.Span, text string) string {
	if document == "" || len(contentHash) < contentDigits || span.End <= span.Start || utf8.RuneCountInString(text) != span.End-span.Start {
		return ""
	}
	return Handle{document, span, contentHash[:contentDigits], textHash(text)}.String()
}

func textHash(text string) string { return graph.Hash(text)[:textDigits] }

func (h Handle) String() string {
	return fmt.Sprintf("%s#char=%d,%d;sha256=%s;text=%s", escapeID(string(h.Document)), h.Span.Start, h.Span.End, h.Content, h.Text)
}

// Names reports whether a text is the one that was named.
func (h Handle) Names(text string) bool { return textHash(text) == h.Text }

// FromContent reports whether a document's content is the one that was named.
func (h Handle) FromContent(hash string) bool {
	return h.Content != "" && strings.HasPrefix(hash, h.Content)
}

var handleForm = regexp.MustCompile(`^([^#\s]+)#char=(\d{1,12}),(\d{1,12});sha256=([0-9a-f]{16});text=([0-9a-f]{12})$`)

// ParseHandle reads a handle.
func ParseHandle(text string) (Handle, error) {
	if len(text) > maxHandleBytes {
		return Handle{}, errors.New("it is too long to be a handle")
	}
	parts := handleForm.FindStringSubmatch(strings.TrimSpace(text))
	if parts == nil {
		return Handle{}, errors.New("it has not the form DOCUMENT#char=START,END;sha256=16 digits;text=12 digits")
	}
	id, err := url.PathUnescape(parts[1])
	if err != nil || !utf8.ValidString(id) {
		return Handle{}, errors.New("its document is not escaped as a URI is")
	}
	start, _ := strconv.Atoi(parts[2]) // twelve digits always are a number
	end, _ := strconv.Atoi(parts[3])
	if end <= start {
		return Handle{}, errors.New("its span is empty")
	}
	return Handle{graph.DocumentID(id), graph.Span{Start: start, End: end}, parts[4], parts[5]}, nil
}

// escapeID leaves the characters of paths readable and escapes what a URI has
// other uses for.
func escapeID(id string) string {
	return strings.NewReplacer("%2F", "/", "%3A", ":").Replace(url.PathEscape(id))
}
