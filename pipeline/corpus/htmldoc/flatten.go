package htmldoc

import (
	"fmt"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// maxDepth is how deep elements may nest; the HTML parser refuses 512.
	maxDepth = 200
	// maxRepeated bounds the formatting elements that a page makes the parser
	// open again: those left open are repeated in every paragraph that follows,
	// so that a small file could grow to any size.
	maxRepeated = 1_000_000
	// maxRoots bounds the html and body elements: the parser compares each one's
	// attributes with those of all before.
	maxRoots = 100
	// flatDepth is how deep what flatten keeps may nest. Each level may hold a
	// few elements that it need not count.
	flatDepth = 60
)

// tooTangled says why a page's elements cannot be handed to the parser as they
// are, or "".
func tooTangled(source string) string {
	open := openElements{counts: make(map[string]int)}
	formats, repeated, roots := 0, 0, 0
	tokens := html.NewTokenizer(strings.NewReader(source))
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken:
			name, _ := tokens.TagName()
			a := atom.Lookup(name)
			if a == atom.Html || a == atom.Body {
				roots++
			}
			if formatting(a) {
				formats++
			} else if block(a) || a == atom.Li {
				repeated += formats
			}
			if !voidOrImplied(a) {
				open.push(string(name))
			}
		case html.EndTagToken:
			name, _ := tokens.TagName()
			if formatting(atom.Lookup(name)) && formats > 0 {
				formats--
			}
			open.pop(string(name))
		}
		if len(open.names) > maxDepth {
			return fmt.Sprintf("its elements nest deeper than %d", maxDepth)
		}
		if roots > maxRoots {
			return "it begins again and again"
		}
		if repeated > maxRepeated {
			return "it leaves formatting elements open"
		}
	}
}

// openElements are the elements begun and not ended, by the source alone.
type openElements struct {
	names  []string
	counts map[string]int
}

func (o *openElements) push(name string) {
	o.names = append(o.names, name)
	o.counts[name]++
}

// pop ends the innermost element of that name and those in it, and reports
// whether there was one.
func (o *openElements) pop(name string) bool {
	if o.counts[name] == 0 {
		return false
	}
	for {
		last := o.names[len(o.names)-1]
		o.names = o.names[:len(o.names)-1]
		o.counts[last]--
		if last == name {
			return true
		}
	}
}

// flatten writes a page anew without the elements that only format text and
// without those that nest too deep. All text is kept, in order.
func flatten(source string) string {
	var b strings.Builder
	open := openElements{counts: make(map[string]int)}
	tooDeep := openElements{counts: make(map[string]int)}
	tokens := html.NewTokenizer(strings.NewReader(source))
	for {
		kind := tokens.Next()
		if kind == html.ErrorToken {
			return b.String()
		}
		raw := string(tokens.Raw())
		if kind == html.TextToken || kind == html.CommentToken || kind == html.DoctypeToken {
			b.WriteString(raw)
			continue
		}
		nameBytes, _ := tokens.TagName()
		name := string(nameBytes)
		a := atom.Lookup(nameBytes)
		switch {
		case a == atom.Html || a == atom.Body:
		case voidOrImplied(a) || rawTextElement(a):
			b.WriteString(raw)
		case !block(a) && a != atom.Ul && a != atom.Ol && a != atom.Dl:
			// An element in the line: only its text is kept.
		case kind == html.EndTagToken:
			if !tooDeep.pop(name) && open.pop(name) {
				b.WriteString(raw)
			}
		case len(open.names) >= flatDepth:
			tooDeep.push(name)
			b.WriteString(" <br> ")
		default:
			open.push(name)
			b.WriteString(raw)
		}
	}
}

// rawTextElement reports whether the tokenizer reads an element's content as
// one text, which is only right with its tags around it.
func rawTextElement(a atom.Atom) bool {
	switch a {
	case atom.Script, atom.Style, atom.Title, atom.Textarea, atom.Xmp, atom.Iframe, atom.Noembed, atom.Noframes, atom.Noscript:
		return true
	}
	return false
}

// voidOrImplied reports whether an element has no end tag or needs none.
func voidOrImplied(a atom.Atom) bool {
	switch a {
	case atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Link, atom.Meta, atom.Param,
		atom.Source, atom.Track, atom.Wbr, atom.P, atom.Li, atom.Dt, atom.Dd, atom.Tr, atom.Td, atom.Th, atom.Thead, atom.Tbody,
		atom.Tfoot, atom.Colgroup, atom.Option, atom.Optgroup, atom.Html, atom.Head, atom.Body, atom.Rt, atom.Rp:
		return true
	}
	return false
}

// formatting reports whether the parser opens an element again in the next
// block when it was left open.
func formatting(a atom.Atom) bool {
	switch a {
	case atom.A, atom.B, atom.Big, atom.Code, atom.Em, atom.Font, atom.I, atom.Nobr, atom.S, atom.Small, atom.Strike,
		atom.Strong, atom.Tt, atom.U:
		return true
	}
	return false
}
