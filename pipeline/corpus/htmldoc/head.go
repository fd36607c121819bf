package htmldoc

import (
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"graphmill/pipeline/corpus"
)

// head is what a page says about itself.
type head struct {
	titleElement string
	language     string
	meta         map[string]string // by lower-case name or property, the first of each
	linkedData   string            // the publication date in JSON-LD
}

var linkedDate = regexp.MustCompile(`"datePublished"\s*:\s*"([^"]{4,40})"`)

// maxMeta bounds a value that is kept of a page's head.
const maxMeta = 2000

func readHead(page *html.Node) head {
	h := head{meta: make(map[string]string)}
	elements(page, func(e *html.Node) bool {
		switch e.DataAtom {
		case atom.Html:
			h.language = attr(e, "lang")
		case atom.Title:
			if h.titleElement == "" && !inside(e, atom.Svg) {
				h.titleElement = oneLine(rawText(e))
			}
		case atom.Meta:
			h.addMeta(e)
		case atom.Script:
			if h.linkedData == "" && attr(e, "type") == "application/ld+json" && e.FirstChild != nil {
				if m := linkedDate.FindStringSubmatch(e.FirstChild.Data); m != nil {
					h.linkedData = m[1]
				}
			}
		}
		return true
	})
	return h
}

func (h head) addMeta(e *html.Node) {
	for _, key := range []string{"name", "property", "itemprop"} {
		name, value := strings.ToLower(attr(e, key)), oneLine(attr(e, "content"))
		if name == "" || value == "" || len(value) > maxMeta {
			continue
		}
		if _, seen := h.meta[name]; !seen {
			h.meta[name] = value
		}
	}
}

func (h head) first(names ...string) string {
	for _, name := range names {
		if h.meta[name] != "" {
			return h.meta[name]
		}
	}
	return ""
}

// title prefers the only top heading, since the title element often holds the
// site's name too.
func (h head) title(document *corpus.Document) string {
	title, n := "", 0
	for _, section := range document.Sections {
		if section.Depth == 1 {
			title = section.Title
			n++
		}
	}
	if n == 1 {
		return title
	}
	if sections := document.Sections; len(sections) > 0 && sections[0].Title != "" && strings.HasPrefix(h.titleElement, sections[0].Title) {
		return sections[0].Title
	}
	for _, candidate := range []string{h.first("og:title", "twitter:title", "dc.title", "dcterms.title", "citation_title"), h.titleElement} {
		if candidate != "" {
			return candidate
		}
	}
	if len(document.Sections) > 0 {
		return document.Sections[0].Title
	}
	return ""
}

// date is when the page says it was published, else when it was changed.
func (h head) date(content *html.Node) string {
	stated := []string{
		h.first("article:published_time"), h.first("og:published_time"), h.first("datepublished"), h.linkedData, h.first("citation_publication_date"),
		h.first("dc.date.issued"), h.first("dcterms.issued"), h.first("dc.date"), h.first("dcterms.date"), h.first("dcterms.created"),
		h.first("date"), h.first("pubdate"), h.first("publish-date"),
	}
	elements(content, func(e *html.Node) bool {
		if e.DataAtom != atom.Time {
			return true
		}
		value := attr(e, "datetime")
		if value == "" {
			value = oneLine(rawText(e))
		}
		stated = append(stated, value)
		return false
	})
	stated = append(stated, h.first("article:modified_time"), h.first("dcterms.modified"), h.first("last-modified"))
	for _, value := range stated {
		if date := corpus.NormalDate(value); date != "" {
			return date
		}
	}
	return ""
}

func (h head) metadata() map[string]string {
	metadata := make(map[string]string)
	put := func(key, value string) {
		if value != "" {
			metadata[key] = value
		}
	}
	put("language", h.language)
	put("author", h.first("author", "article:author", "dc.creator", "dcterms.creator", "citation_author"))
	put("description", h.first("description", "og:description", "dc.description"))
	put("keywords", h.first("keywords"))
	put("site", h.first("og:site_name"))
	if len(metadata) == 0 {
		return nil
	}
	return metadata
}

func oneLine(s string) string { return strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ") }
