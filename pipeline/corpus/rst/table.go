package rst

import (
	"strings"

	"graphmill/pipeline/corpus"
)

// grid reads a table drawn with lines. A cell that spans columns is one cell; a
// cell that spans rows gives each of them its part.
func (p *parser) grid(lines []string) int {
	n := until(lines, func(s string) bool { return s == "" || s[0] != '+' && s[0] != '|' })
	var bounds []int // columns of the vertical lines
	for i := range len(lines[0]) {
		if lines[0][i] == '+' {
			bounds = append(bounds, i)
		}
	}
	var rows []string
	var cells []string
	flush := func() {
		row := make([]string, 0, len(cells))
		for _, cell := range cells {
			row = append(row, p.inline(strings.TrimSpace(cell)))
		}
		if strings.Join(row, "") != "" {
			rows = append(rows, strings.Trim(strings.Join(row, " | "), " |"))
		}
		cells = nil
	}
	for _, line := range lines[1:n] {
		if line[0] == '+' && strings.Trim(line, "+-=") == "" {
			flush()
			continue
		}
		parts := splitAt([]rune(line), bounds)
		if len(cells) != len(parts) {
			if len(cells) > 0 {
				flush()
			}
			cells = make([]string, len(parts))
		}
		for i, part := range parts {
			if part = strings.TrimSpace(part); strings.Trim(part, "+-=|") != "" || part == "-" {
				cells[i] += " " + part
			}
		}
	}
	flush()
	p.builder.Add(corpus.Table, 0, strings.Join(rows, "\n"))
	return n
}

// splitAt cuts a row at those column bounds where a line is drawn.
func splitAt(line []rune, bounds []int) []string {
	var parts []string
	start := 1
	for _, at := range bounds[1:] {
		if at < len(line) && (line[at] == '|' || line[at] == '+') {
			parts = append(parts, string(line[min(start, at):at]))
			start = at + 1
		}
	}
	if start < len(line) {
		parts = append(parts, strings.TrimSuffix(string(line[start:]), "|"))
	}
	return parts
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
	for _, line := range lines[1:end] {
		if line == "" || strings.Trim(line, "=- ") == "" {
			continue
		}
		cells := sliceColumns([]rune(line), columns)
		if cells[0] == "" && len(rows) > 0 {
			for i, cell := range cells {
				rows[len(rows)-1][i] = strings.TrimSpace(rows[len(rows)-1][i] + " " + cell)
			}
			continue
		}
		rows = append(rows, cells)
	}
	text := make([]string, len(rows))
	for i, cells := range rows {
		for j, cell := range cells {
			if cells[j] = p.inline(cell); cells[j] == `\` {
				cells[j] = ""
			}
		}
		text[i] = strings.TrimRight(strings.Join(cells, " | "), " |")
	}
	p.builder.Add(corpus.Table, 0, strings.Join(text, "\n"))
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

func sliceColumns(line []rune, starts []int) []string {
	cells := make([]string, len(starts))
	for i, start := range starts {
		end := len(line)
		if i+1 < len(starts) {
			end = min(end, starts[i+1])
		}
		if start < end {
			cells[i] = strings.TrimSpace(string(line[start:end]))
		}
	}
	return cells
}
