package plaintext

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// headingAt returns the number of lines of the heading that g starts with, and
// its depth; 0 if it starts with none. whole says that a blank line stands
// before g.
func headingAt(text string, g, next group, whole bool) (lines, depth int) {
	first := g[0].in(text)
	if len(first) > 4*maxHeading || utf8.RuneCountInString(first) > maxHeading {
		return 0, 0
	}
	if mark := rule(first); mark != 0 && len(g) >= 3 && rule(g[2].in(text)) == mark && titleLike(g[1].in(text)) {
		return 3, ruleDepth(mark)
	}
	if len(g) >= 2 && titleLike(first) {
		under := g[1].in(text)
		if mark := rule(under); mark != 0 && utf8.RuneCountInString(under) >= utf8.RuneCountInString(first)-2 {
			return 2, ruleDepth(mark)
		}
	}
	if !whole {
		return 0, 0
	}
	// A long line above it alone, as between the lessons of a course.
	if mark := rule(first); mark != 0 && len(first) >= longRule && len(g) == 2 && len(next) > 0 && titleLike(g[1].in(text)) &&
		!bullet(g[1].in(text)) && !strings.ContainsAny(g[1].in(text)[g[1].Len()-1:], ".,;!?") {
		return 2, ruleDepth(mark)
	}
	alone := len(g) == 1
	if allCaps(first) && g[0].indent == 0 && (alone || g[1].indent > 0) {
		return 1, 1
	}
	if !alone {
		return 0, 0
	}
	if chapter.MatchString(first) {
		return 1, 1
	}
	if depth := numberedDepth(text, g, next); depth > 0 {
		return 1, depth
	}
	return 0, 0
}

// longRule is how long a line drawn across the page is at least.
const longRule = 40

// hangingShare is how many of the groups at the left edge of a text must be
// headings for those to be, and fewestHanging how many there must be.
const (
	hangingShare  = 0.8
	fewestHanging = 2
)

// hangingHeadings reports whether a text keeps its headings at the left edge
// and all else indented.
func hangingHeadings(text string, groups []group) bool {
	edge, headings := 0, 0
	for i, g := range groups {
		var next group
		if i+1 < len(groups) {
			next = groups[i+1]
		}
		switch {
		case g[0].indent > 0:
		case len(next) > 0 && next[0].indent > 0 && hangs(text, g):
			headings++
			edge++
		default:
			// Headings by their number or a line under them count for neither.
			if n, _ := headingAt(text, g, next, true); n < len(g) {
				edge++
			}
		}
	}
	return headings >= fewestHanging && float64(headings) >= hangingShare*float64(edge)
}

// hangs reports whether a group may be a heading at the left edge.
func hangs(text string, g group) bool {
	if len(g) != 1 || g[0].indent > 0 || g[0].Len() > maxHeading {
		return false
	}
	line := g[0].in(text)
	return titleLike(line) && !bullet(line) && !strings.ContainsAny(line[len(line)-1:], ".,;:!?") && !strings.ContainsAny(line, "=|{}<>")
}

var (
	chapter  = regexp.MustCompile(`^(?:CHAPTER|Chapter|PART|Part|BOOK|Book|SECTION|Section|APPENDIX|Appendix) (?:[IVXLC]{1,7}|\d{1,3}|[A-Z])(?:[.:]|[.:]? [\p{Lu}\d—–-].{0,70})?$`)
	numbered = regexp.MustCompile(`^(\d{1,2}(?:\.\d{1,3}){0,4})\.?\)? +\p{Lu}[^.;!?]{1,70}$`)
)

// numberedDepth is the depth of a heading such as "2.1 Scope", 0 for anything
// else. Two numbers of a kind right after each other are a list.
func numberedDepth(text string, g, next group) int {
	m := numbered.FindStringSubmatch(g[0].in(text))
	if m == nil || strings.HasSuffix(g[0].in(text), ",") || strings.HasSuffix(g[0].in(text), ":") {
		return 0
	}
	if len(next) == 0 {
		return 0
	}
	depth := strings.Count(m[1], ".") + 1
	if follow := numbered.FindStringSubmatch(short(next[0].in(text))); follow != nil && strings.Count(follow[1], ".")+1 == depth {
		return 0
	}
	return depth
}

func short(s string) string { return s[:min(len(s), 4*maxHeading)] }

// rule returns the character that a drawn line of three or more consists of, 0
// if it is no such line.
func rule(s string) byte {
	if len(s) < 3 || !strings.ContainsRune("=-~*^#_+\"'`", rune(s[0])) || strings.Trim(s, s[:1]) != "" {
		return 0
	}
	return s[0]
}

func ruleDepth(mark byte) int {
	switch mark {
	case '=', '#', '*':
		return 1
	case '-':
		return 2
	}
	return 3
}

func titleLike(s string) bool {
	return hasLetter(s) && utf8.RuneCountInString(s) <= maxHeading && !strings.Contains(s, "  ") &&
		(!bullet(s) || headingNumber.MatchString(s))
}

var headingNumber = regexp.MustCompile(`^\d{1,3}(?:\.\d{1,3})*[.)]? `)

func hasLetter(s string) bool { return strings.IndexFunc(s, unicode.IsLetter) >= 0 }

// maxCapsWords keeps shouted sentences from being headings.
const maxCapsWords = 8

// allCaps reports whether a line is a heading by its capitals alone, as in
// manual pages and old books.
func allCaps(s string) bool {
	letters := 0
	for _, r := range s {
		switch {
		case unicode.IsLower(r):
			return false
		case unicode.IsUpper(r):
			letters++
		}
	}
	first, _ := utf8.DecodeRuneInString(s)
	return letters >= 4 && unicode.IsLetter(first) && len(strings.Fields(s)) <= maxCapsWords &&
		!strings.ContainsAny(s[len(s)-1:], ".,;:!?") && !strings.ContainsAny(s, "=|{}<>_")
}

var headerField = regexp.MustCompile(`^(Title|Author|Authors|Date|Release Date|Subject|Language|Version): +(\S.{0,300})$`)

// headerFields reads "Title: …", "Author: …", "Date: …" and the like, one a
// line, from the beginning of the text.
func headerFields(text string) map[string]string {
	fields := make(map[string]string)
	for number := 0; number < 30 && text != ""; number++ {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		if m := headerField.FindStringSubmatch(strings.TrimSpace(short(line))); m != nil {
			key := strings.ToLower(m[1])
			if _, seen := fields[key]; !seen {
				fields[key] = strings.ToValidUTF8(strings.TrimSpace(m[2]), "")
			}
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return fields
}
