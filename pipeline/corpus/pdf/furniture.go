package pdf

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// edgeRows is how many rows at the top and at the bottom of a page may be a
// running header or footer.
const edgeRows = 3

// minRepeats is how many pages must show a row before it counts as repeated.
const minRepeats = 3

// row is everything on one baseline across the whole page.
type row struct {
	page      int // index into the pages
	members   []int
	words     string // as shown
	baseline  float64
	fromEdge  int
	top       bool
	separated bool // stands off the rest of the page
}

// dropFurniture removes running headers, footers and page numbers: rows at a
// page's edge that come back on other pages at the same height, with the same
// words or with a number that follows the page's. It returns how many rows it
// removed. Where nothing else would be left, as in copies of one form, nothing
// is removed.
func dropFurniture(pages []rawPage) int {
	if len(pages) < minRepeats {
		return 0
	}
	var rows []row
	for i := range pages {
		rows = append(rows, edgeRowsOf(i, pages[i].fragments)...)
	}
	drop := repeatedRows(rows, len(pages))
	removed, left := 0, 0
	kept := make([][]fragment, len(pages))
	for i := range pages {
		gone := map[int]bool{}
		for r := range rows {
			if rows[r].page == i && drop[r] && !shielded(rows, drop, r) {
				removed++
				for _, m := range rows[r].members {
					gone[m] = true
				}
			}
		}
		for j, f := range pages[i].fragments {
			if !gone[j] {
				kept[i] = append(kept[i], f)
			}
		}
		left += len(kept[i])
	}
	if left == 0 {
		return 0
	}
	for i := range pages {
		pages[i].fragments = kept[i]
	}
	return removed
}

// shielded reports whether a row stands behind one that stays: what repeats in
// the middle of the text is not furniture.
func shielded(rows []row, drop []bool, r int) bool {
	for i := range rows {
		if rows[i].page == rows[r].page && rows[i].top == rows[r].top &&
			rows[i].fromEdge < rows[r].fromEdge && !drop[i] {
			return true
		}
	}
	return false
}

func edgeRowsOf(page int, fragments []fragment) []row {
	order := make([]int, 0, len(fragments))
	for i, f := range fragments {
		if !f.turned {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(fragments[b].baseline, fragments[a].baseline) })
	var rows []row
	for _, i := range order {
		f := fragments[i]
		if n := len(rows); n > 0 && rows[n-1].baseline-f.baseline < 0.45*f.size {
			rows[n-1].members = append(rows[n-1].members, i)
			continue
		}
		rows = append(rows, row{page: page, members: []int{i}, baseline: f.baseline})
	}
	total := len(rows)
	var edges []row
	for i, r := range rows {
		last := total - 1 - i
		if i >= edgeRows && last >= edgeRows {
			continue
		}
		r.top = i <= last
		r.fromEdge = min(i, last)
		slices.SortStableFunc(r.members, func(a, b int) int { return cmp.Compare(fragments[a].left, fragments[b].left) })
		parts := make([]string, len(r.members))
		for j, m := range r.members {
			parts[j] = fragments[m].text
		}
		r.words = strings.Join(parts, " ")
		r.separated = standsOff(rows, i, fragments[r.members[0]].size)
		edges = append(edges, r)
	}
	return edges
}

func standsOff(rows []row, i int, size float64) bool {
	gap := math.Inf(1)
	if i+1 < len(rows) && i < len(rows)/2 {
		gap = rows[i].baseline - rows[i+1].baseline
	} else if i > 0 && i >= len(rows)/2 {
		gap = rows[i-1].baseline - rows[i].baseline
	}
	return gap > 1.5*size
}

// place is where a row stands: its edge and its height to two points.
type place struct {
	top    bool
	height int
}

func (r row) place(nudge int) place { return place{r.top, int(math.Round(r.baseline/2)) + nudge} }

// repeatedRows marks the rows that are furniture. A file of three pages shows a
// header on two: its first page often has none.
func repeatedRows(rows []row, pages int) []bool {
	type words struct {
		place
		text string
	}
	same := map[words]int{}
	numbered := map[place]map[int]int{} // by place, page number minus page index
	for _, r := range rows {
		for nudge := -1; nudge <= 1; nudge++ {
			same[words{r.place(nudge), r.words}]++
		}
		for _, n := range numbersOf(r.words) {
			for nudge := -1; nudge <= 1; nudge++ {
				at := r.place(nudge)
				if numbered[at] == nil {
					numbered[at] = map[int]int{}
				}
				numbered[at][n-r.page]++
			}
		}
	}
	atEdge := edgeRepeats(rows)
	drop := make([]bool, len(rows))
	for i, r := range rows {
		at := r.place(0)
		drop[i] = r.fromEdge == 0 && r.separated && atEdge[r.edgeKey()] >= minRepeats
		if n := same[words{at, r.words}]; n >= minRepeats || n >= 2 && n >= pages-1 && r.fromEdge == 0 && r.separated {
			// Words that repeat at the very edge are a header; further in, only
			// when they stand off the text, since the lines of tables repeat too.
			drop[i] = drop[i] || r.fromEdge == 0 || r.separated
		}
		for _, n := range numbersOf(r.words) {
			// A number alone may be off its place on a chapter's first page.
			if numbered[at][n-r.page] >= minRepeats && (len(r.words) < 12 || r.fromEdge == 0) {
				drop[i] = true
			}
		}
	}
	return drop
}

// edgeKey tells rows at the very edge of pages apart wherever that is: pages
// that lie on their side have it at another height. The page's own number and
// that of all pages are left out.
func (r row) edgeKey() string {
	return fmt.Sprint(r.top, digits.ReplaceAllStringFunc(ofTotal.ReplaceAllString(r.words, "$1"), func(n string) string {
		if number, err := strconv.Atoi(n); err == nil && number-r.page < maxFirstPage && number >= r.page {
			return fmt.Sprint("page+", number-r.page)
		}
		return n
	}))
}

// maxFirstPage bounds the number that a file's first page may have for its
// numbers to be known in words that differ from page to page.
const maxFirstPage = 1000

var digits = regexp.MustCompile(`\d{1,6}`)

func edgeRepeats(rows []row) map[string]int {
	counts := map[string]int{}
	for _, r := range rows {
		if r.fromEdge == 0 && r.separated {
			counts[r.edgeKey()]++
		}
	}
	return counts
}

// ofTotal is a page number with the number of all pages behind it.
var ofTotal = regexp.MustCompile(`(\d+) ?(?:/|of) ?\d+$`)

// numbersOf are the numbers at the beginning and the end of a row, or after
// "page", where page numbers stand: arabic or roman.
func numbersOf(words string) []int {
	fields := strings.Fields(ofTotal.ReplaceAllString(words, "$1"))
	if len(fields) == 0 {
		return nil
	}
	var numbers []int
	places := []int{0, len(fields) - 1}
	for i := 1; i+1 < len(fields); i++ {
		if word := strings.ToLower(fields[i-1]); word == "page" || word == "p." {
			places = append(places, i)
		}
	}
	for _, i := range places {
		field := strings.Trim(fields[i], "-–—|.[]()·/")
		if n, err := strconv.Atoi(field); err == nil && n >= 0 && n < 100_000 {
			numbers = append(numbers, n)
		} else if n := roman(field); n > 0 {
			numbers = append(numbers, n)
		}
		if len(fields) == 1 {
			break // first and last are one
		}
	}
	return numbers
}

// roman reads a lower- or upper-case roman numeral; 0 if s is none.
func roman(s string) int {
	values := map[rune]int{'i': 1, 'v': 5, 'x': 10, 'l': 50, 'c': 100, 'd': 500, 'm': 1000}
	total, previous := 0, 0
	for _, r := range strings.ToLower(s) {
		value := values[r]
		if value == 0 {
			return 0
		}
		if value > previous {
			total -= 2 * previous
		}
		total += value
		previous = value
	}
	return total
}
