package rst

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"graphmill/pipeline/corpus"
)

// grid reads a table drawn with lines. A cell that spans columns is one cell; a
// cell that spans rows gives each of them its part.
func (p *parser) grid(lines []string) int {
	n := until(lines, func(s string) bool { return s == "" || s[0] != '+' && s[0] != '|' })
	t := gridTableText{bounds: boundsOf(lines[:n]), open: make(map[int]*[]string)}
	for _, line := range lines[1:n] {
		if t.head == 0 && strings.Trim(line, "+=") == "" {
			t.head = len(t.rows)
		}
		t.line([]rune(line))
	}
	text := make([]string, 0, len(t.rows))
	head := 0
	for i, cells := range t.rows {
		var row []string
		for _, bound := range slices.Sorted(maps.Keys(cells)) {
			shown := ""
			if cell := cells[bound]; cell != nil {
				shown = p.cell(*cell)
			}
			row = append(row, shown)
		}
		if strings.Join(row, "") != "" {
			text = append(text, strings.TrimRight(strings.Join(row, " | "), " |"))
			if i < t.head {
				head = len(text)
			}
		}
	}
	p.builder.AddTable(head, text)
	return n
}

// blockStart begins a line that is more than text.
var blockStart = regexp.MustCompile(`^ *(?:\.\. |__ |[-*+•] |\| |>>> |:[^:]+: |(?:\d+|#)\. )|::$`)

// maxTables is how deep tables are read in the cells of others.
const maxTables = 3

// cell is the text of a cell on one line. What it holds may be any blocks.
func (p *parser) cell(lines []string) string {
	plain := true
	for _, line := range lines {
		plain = plain && !blockStart.MatchString(line)
	}
	if plain || p.tables >= maxTables {
		return p.inline(joinLines(lines))
	}
	least := -1
	for _, line := range lines {
		if indent := indentOf(line); line != "" && (least < 0 || indent < least) {
			least = indent
		}
	}
	inner := *p
	inner.tables++
	inner.builder = &corpus.Builder{Limit: p.builder.Limit}
	inner.body(dedent(lines, max(least, 0)), place{level: maxLevel / 2})
	p.footnotes = inner.footnotes
	document, err := inner.builder.Document(corpus.File{}, corpus.RST)
	if err != nil {
		return p.inline(joinLines(lines))
	}
	return strings.Join(strings.Fields(document.Text), " ")
}

// gridTableText collects the lines of a table's cells.
type gridTableText struct {
	bounds []int
	rows   []map[int]*[]string // by bound; a cell that spans rows is nil in all but the first
	open   map[int]*[]string   // by the number of the bound that they start at
	inRow  bool
	head   int // how many rows stand above the line that ends the head
}

// boundsOf are the places of the vertical lines, in all rows.
func boundsOf(lines []string) []int {
	crossed := make(map[int]bool)
	for _, line := range lines {
		if strings.Trim(line, "+-=") != "" {
			continue
		}
		for i := range len(line) {
			if line[i] == '+' {
				crossed[i] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(crossed))
}

// line takes one line apart at those bounds where something is drawn. Drawn
// between two bounds, a line ends the cell above it; text goes on with its own.
func (t *gridTableText) line(line []rune) {
	type part struct {
		bound int
		text  string
	}
	var parts []part
	border, start := false, 0
	for k := 1; k <= len(t.bounds); k++ {
		end := len(line)
		if k < len(t.bounds) {
			if end = t.bounds[k]; end < len(line) && line[end] != '|' && line[end] != '+' {
				continue
			}
		}
		from := t.bounds[start] + 1
		if from >= len(line) || from > end {
			break
		}
		text := strings.TrimRight(string(line[from:min(end, len(line))]), " ")
		if k == len(t.bounds) {
			text = strings.TrimRight(strings.TrimSuffix(text, "|"), " ")
		}
		if text != "" && text[0] != ' ' && strings.Trim(text, "-+") == "" && len(text) > 1 || text != "" && strings.Trim(text, "=+") == "" {
			border = true
			for b := start; b < k; b++ {
				delete(t.open, b)
			}
		} else if text != "" || k < len(t.bounds) {
			parts = append(parts, part{start, text})
		}
		start = k
	}
	if border {
		t.inRow = false
	}
	for _, p := range parts {
		t.add(p.bound, p.text)
	}
}

func (t *gridTableText) add(bound int, text string) {
	cell := t.open[bound]
	if !t.inRow {
		if cell != nil && text == "" {
			return
		}
		t.inRow = true
		t.rows = append(t.rows, make(map[int]*[]string))
	}
	row := t.rows[len(t.rows)-1]
	if cell == nil {
		cell = new([]string)
		t.open[bound] = cell
		row[bound] = cell
	} else if row[bound] != cell {
		row[bound] = nil // it spans from a row above
	}
	*cell = append(*cell, text)
}

// simple reads a table whose columns are marked by lines of "=". It returns 0
// when the lines do not end like one.
func (p *parser) simple(lines []string) int {
	// Lines in which one table's end was looked for in vain hold no other's.
	last := &lines[len(lines)-1]
	if p.endless == last {
		return 0
	}
	end := 0
	for i := 1; i < len(lines); i++ {
		if simpleTable.MatchString(lines[i]) && (i+1 == len(lines) || lines[i+1] == "") {
			end = i
			break
		}
	}
	if end == 0 {
		p.endless = last
		return 0
	}
	columns := columnsOf(lines[0])
	var rows [][]string
	head := 0
	for _, line := range lines[1:end] {
		if head == 0 && simpleTable.MatchString(line) {
			head = len(rows)
		}
		if line == "" || strings.Trim(line, "=- ") == "" {
			continue
		}
		cells := sliceColumns([]rune(line), columns)
		if strings.TrimSpace(cells[0]) == "" && len(rows) > 0 {
			for i, cell := range cells {
				rows[len(rows)-1][i] += "\n" + cell
			}
			continue
		}
		rows = append(rows, cells)
	}
	text := make([]string, len(rows))
	for i, cells := range rows {
		for j, cell := range cells {
			if cells[j] = p.cell(strings.Split(cell, "\n")); cells[j] == `\` {
				cells[j] = ""
			}
		}
		text[i] = strings.TrimRight(strings.Join(cells, " | "), " |")
	}
	p.builder.AddTable(head, text)
	return end + 1
}

// columnsOf returns where the columns start.
func columnsOf(border string) []int {
	var starts []int
	for i := range len(border) {
		if border[i] == '=' && (i == 0 || border[i-1] == ' ') {
			starts = append(starts, i)
		}
	}
	return starts
}

// sliceColumns cuts a line where columns start. Text that stands on a column's
// margin belongs to the cell before, which spans both.
func sliceColumns(line []rune, starts []int) []string {
	cells := make([]string, len(starts))
	for i, start := range starts {
		if i > 0 && start <= len(line) && line[start-1] != ' ' {
			continue
		}
		end := len(line)
		for _, next := range starts[i+1:] {
			if next > len(line) || line[next-1] == ' ' {
				end = min(end, next)
				break
			}
		}
		if start < end {
			cells[i] = strings.TrimRight(string(line[start:end]), " ")
		}
	}
	return cells
}
