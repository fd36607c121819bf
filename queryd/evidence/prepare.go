package evidence

import (
	"strings"
)

// visible is a draft with everything that is not prose blanked out: code, the
// targets of links, addresses. Every byte keeps its place.
func visible(draft string) string {
	out := []byte(draft)
	blankFences(draft, out)
	blankCodeSpans(string(out), out)
	blankLinks(string(out), out)
	return string(out)
}

func blank(out []byte, start, end int) {
	for i := start; i < end; i++ {
		if out[i] != '\n' {
			out[i] = ' '
		}
	}
}

// blankFences blanks fenced code, which goes on to the end of the draft when
// nothing closes it.
func blankFences(draft string, out []byte) {
	fence, start := "", 0
	for at := 0; at < len(draft); {
		end := len(draft)
		if i := strings.IndexByte(draft[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		line := strings.TrimRight(draft[at:end], " \t\r\n")
		switch mark := fenceOf(line); {
		case fence == "" && mark != "":
			fence, start = mark, at
		case fence != "" && strings.HasPrefix(mark, fence) && strings.TrimLeft(line, " ") == mark:
			blank(out, start, end)
			fence = ""
		}
		at = end
	}
	if fence != "" {
		blank(out, start, len(draft))
	}
}

// fenceOf is the run of ``` or ~~~ that a line begins with.
func fenceOf(line string) string {
	rest := strings.TrimLeft(line, " ")
	if len(line)-len(rest) > 3 || rest == "" || rest[0] != '`' && rest[0] != '~' {
		return ""
	}
	run := rest[:len(rest)-len(strings.TrimLeft(rest, rest[:1]))]
	if len(run) < 3 || run[0] == '`' && strings.Contains(rest[len(run):], "`") {
		return ""
	}
	return run
}

// blankCodeSpans blanks what stands between two runs of backticks of one length
// within a paragraph.
func blankCodeSpans(text string, out []byte) {
	type ticks struct{ at, length int }
	var runs []ticks
	for at := 0; at < len(text); {
		i := strings.IndexByte(text[at:], '`')
		if i < 0 {
			break
		}
		start := at + i
		at = start
		for at < len(text) && text[at] == '`' {
			at++
		}
		runs = append(runs, ticks{start, at - start})
	}
	next := make([]int, len(runs)) // the next run of the same length
	last := map[int]int{}
	for i := len(runs) - 1; i >= 0; i-- {
		next[i] = -1
		if j, ok := last[runs[i].length]; ok {
			next[i] = j
		}
		last[runs[i].length] = i
	}
	breaks := paragraphEnds(text)
	for i := 0; i < len(runs); i++ {
		j := next[i]
		if j < 0 {
			continue
		}
		for len(breaks) > 0 && breaks[0] < runs[i].at {
			breaks = breaks[1:]
		}
		if len(breaks) > 0 && breaks[0] < runs[j].at {
			continue
		}
		blank(out, runs[i].at, runs[j].at+runs[j].length)
		i = j
	}
}

func paragraphEnds(text string) []int {
	var ends []int
	for at := 0; ; {
		i := strings.Index(text[at:], "\n\n")
		if i < 0 {
			return ends
		}
		ends = append(ends, at+i)
		at += i + 2
	}
}

// maxTarget bounds the target of a link, so that unclosed ones cost little.
const maxTarget = 2000

// blankLinks blanks the targets of [text](target), addresses, and whole lines
// that define a link: "[1]: https://…".
func blankLinks(text string, out []byte) {
	for at := 0; at < len(text); {
		i := strings.IndexAny(text[at:], "]h")
		if i < 0 {
			return
		}
		at += i
		switch {
		case strings.HasPrefix(text[at:], "]("):
			at = blankTarget(text, out, at)
		case strings.HasPrefix(text[at:], "http://"), strings.HasPrefix(text[at:], "https://"):
			end := at
			for end < len(text) && text[end] > ' ' && !strings.ContainsRune("<>[]()\"`", rune(text[end])) {
				end++
			}
			blank(out, at, end)
			blankDefinition(text, out, at)
			at = end
		default:
			at++
		}
	}
}

// blankTarget leaves the opening parenthesis, by which the marker's reader knows
// a link.
func blankTarget(text string, out []byte, at int) int {
	rest := text[at+2 : min(len(text), at+2+maxTarget)]
	if end := strings.IndexAny(rest, ")[\n"); end >= 0 && rest[end] == ')' {
		blank(out, at+2, at+2+end)
		return at + 2 + end
	}
	return at + 2
}

// blankDefinition blanks "[1]: " before an address at the beginning of its line.
func blankDefinition(text string, out []byte, at int) {
	start := strings.LastIndexByte(text[max(0, at-80):at], '\n') + 1 + max(0, at-80)
	label := strings.TrimSpace(text[start:at])
	if strings.HasPrefix(label, "[") && strings.HasSuffix(strings.TrimRight(label, "< "), "]:") {
		blank(out, start, at)
	}
}
