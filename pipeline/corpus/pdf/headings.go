package pdf

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxHeadingRunes = 160
	maxHeadingLines = 4
	maxFontDepth    = 6
)

// markHeadings sets the heading depth of lines: by the document's outline where
// its titles stand on the pages they name, else by size and weight.
func markHeadings(pages [][]region, numbers []int, outline []bookmark) {
	next := 0 // so that two headings under one another stay two
	if markOutline(pages, numbers, outline, &next) < max(1, len(outline)/3) {
		markFonts(pages, &next)
	}
}

// markOutline finds each bookmark's title on its page and returns how many it
// found.
func markOutline(pages [][]region, numbers []int, outline []bookmark, next *int) int {
	byPage := map[int][]bookmark{}
	for _, mark := range outline {
		byPage[mark.page] = append(byPage[mark.page], mark)
	}
	found := 0
	for i, regions := range pages {
		for _, mark := range byPage[numbers[i]] {
			if markTitle(regions, mark, next) {
				found++
			}
		}
	}
	return found
}

// markTitle marks the lines of one page that show a bookmark's title. Of
// several, those in the largest type win: a page may also name the title in a
// sentence or in a table of contents.
func markTitle(regions []region, mark bookmark, next *int) bool {
	want := titleKey(mark.title)
	if want == "" {
		return false
	}
	var best []line
	for _, r := range regions {
		for start := range r.lines {
			if run := titleRun(r.lines[start:], want); run > 0 {
				if candidate := r.lines[start : start+run]; best == nil || candidate[0].size > best[0].size*1.02 {
					best = candidate
				}
			}
		}
	}
	if best == nil {
		return false
	}
	*next++
	for i := range best {
		best[i].heading, best[i].headingID = mark.depth, *next
	}
	return true
}

// titleRun is the number of lines at the start of lines that together are the
// wanted title, with or without a number in front; 0 if they are not.
func titleRun(lines []line, want string) int {
	if lines[0].heading != 0 {
		return 0
	}
	text := ""
	for i := range min(maxHeadingLines, len(lines)) {
		if i > 0 {
			text += " "
		}
		text += strings.TrimRight(lines[i].text, "-\u00ad")
		full := titleKey(text)
		if full == want || full != "" && (titleKey(stripNumber(text)) == want || full == titleKey(stripNumber(want))) {
			return i + 1
		}
		if len(full) > len(want)+20 {
			return 0
		}
	}
	return 0
}

// titleKey is a title's letters and digits, lower case, words kept apart.
func titleKey(s string) string {
	var key strings.Builder
	for _, r := range s {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			key.WriteRune(unicode.ToLower(r))
		case unicode.IsSpace(r) && key.Len() > 0 && !strings.HasSuffix(key.String(), " "):
			key.WriteByte(' ')
		}
	}
	return strings.TrimSpace(key.String())
}

// stripNumber takes "3.1", "Chapter 4:", "Appendix B" off a title's front.
func stripNumber(s string) string {
	fields := strings.Fields(s)
	if len(fields) > 1 && slices.Contains([]string{"chapter", "appendix", "part", "section"}, strings.ToLower(fields[0])) {
		fields = fields[1:]
	}
	if len(fields) > 1 && isNumber(fields[0]) {
		return strings.Join(fields[1:], " ")
	}
	return strings.Join(fields, " ")
}

func isNumber(field string) bool {
	digits := 0
	for i, r := range strings.TrimRight(field, ".:)") {
		switch {
		case unicode.IsDigit(r):
			digits++
		case r == '.':
		case i == 0 && unicode.IsUpper(r):
			digits++
		default:
			return roman(strings.TrimRight(field, ".:)")) > 0
		}
	}
	return digits > 0
}

// markFonts takes short runs of lines in larger type than the body's for
// headings, the largest size for the highest.
func markFonts(pages [][]region, next *int) {
	body := bodySize(pages)
	if body == 0 {
		return
	}
	depths := sizeDepths(pages, body)
	for _, regions := range pages {
		for _, r := range regions {
			for start := 0; start < len(r.lines); {
				end := sizeRun(r.lines, start)
				run := r.lines[start:end]
				if depth := depths[halfPoints(run[0].size)]; depth > 0 && looksLikeHeading(run) {
					*next++
					for i := range run {
						run[i].heading, run[i].headingID = depth, *next
					}
				}
				start = end
			}
		}
	}
}

func halfPoints(size float64) int { return int(math.Round(size * 2)) }

// bodySize is the size, in half points, in which most characters are set.
func bodySize(pages [][]region) int {
	counts := map[int]int{}
	for _, regions := range pages {
		for _, r := range regions {
			for _, l := range r.lines {
				if !l.mono {
					counts[halfPoints(l.size)] += utf8.RuneCountInString(l.text)
				}
			}
		}
	}
	best := 0
	for size, n := range counts {
		if n > counts[best] || n == counts[best] && size > best {
			best = size
		}
	}
	return best
}

// sizeDepths gives a depth to each size well above the body's, largest first.
func sizeDepths(pages [][]region, body int) map[int]int {
	sizes := map[int]bool{}
	for _, regions := range pages {
		for _, r := range regions {
			for start := 0; start < len(r.lines); {
				end := sizeRun(r.lines, start)
				if size := halfPoints(r.lines[start].size); float64(size) >= 1.12*float64(body) && looksLikeHeading(r.lines[start:end]) {
					sizes[size] = true
				}
				start = end
			}
		}
	}
	ordered := make([]int, 0, len(sizes))
	for size := range sizes {
		ordered = append(ordered, size)
	}
	slices.SortFunc(ordered, func(a, b int) int { return cmp.Compare(b, a) })
	depths := map[int]int{}
	for i, size := range ordered {
		depths[size] = min(i+1, maxFontDepth)
	}
	return depths
}

// sizeRun is the end of the run of lines from start that have one size and
// follow each other closely.
func sizeRun(lines []line, start int) int {
	end := start + 1
	for end < len(lines) && halfPoints(lines[end].size) == halfPoints(lines[start].size) &&
		lines[end].bold == lines[start].bold &&
		lines[end-1].baseline-lines[end].baseline < 1.7*lines[start].size {
		end++
	}
	return end
}

func looksLikeHeading(run []line) bool {
	if len(run) >= maxHeadingLines {
		return false
	}
	runes, letters := 0, 0
	for _, l := range run {
		for _, r := range l.text {
			runes++
			if unicode.IsLetter(r) {
				letters++
			}
		}
	}
	return runes <= maxHeadingRunes && letters >= 2 && 2*letters >= runes
}
