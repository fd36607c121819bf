package markdown

import "strings"

// The Markdown parser takes more than linear time, or memory, for some texts
// that nobody writes. These bound what it is given; each stands at a few
// seconds of work, far above what documents hold.
const (
	// maxContainers is how deep quotes and lists may nest.
	maxContainers = 100
	// maxLinkWork bounds the size of a paragraph times the links in it: each
	// unfinished link is looked for up to the paragraph's end. 10⁹ took 3 s.
	maxLinkWork = 1_000_000_000
	// maxEmphasisWork bounds the square of the number of marks of emphasis in a
	// paragraph; 20,000 marks took 1 s.
	maxEmphasisWork = 400_000_000
	// definitionShare is how much less a reference definition costs than a link.
	definitionShare = 16
	// maxFootnotes bounds footnote definitions, each of which is looked for in a
	// list; 10,000 took 2.4 s.
	maxFootnotes = 10_000
	// maxEmptyCells bounds the cells that a table's short rows are filled up
	// with.
	maxEmptyCells = 1_000_000
)

// tooTangled says why a text cannot be parsed as Markdown in fair time, or "".
// Work is summed over the paragraphs.
func tooTangled(body string) string {
	var p paragraph
	footnotes, linkWork, emphasisWork, cells := 0, 0, 0, 0
	for body != "" {
		line, rest, _ := strings.Cut(body, "\n")
		body = rest
		depth, content := containers(line)
		if depth > maxContainers {
			return "its lists and quotes nest too deep"
		}
		if strings.HasPrefix(content, "[^") {
			footnotes++
		}
		if p.endsBefore(line, content) {
			linkWork += p.linkWork()
			emphasisWork += p.marks * p.marks
			cells += p.emptyCells()
			p = paragraph{}
		}
		p.add(line, content)
		switch {
		case footnotes > maxFootnotes:
			return "it has too many footnotes"
		case linkWork+p.linkWork() > maxLinkWork:
			return "it has a paragraph with too many links"
		case emphasisWork+p.marks*p.marks > maxEmphasisWork:
			return "it has a paragraph with too much emphasis"
		case cells+p.emptyCells() > maxEmptyCells:
			return "it has a table with too many columns"
		}
	}
	return ""
}

// paragraph measures lines that the parser may take for one paragraph or table.
type paragraph struct {
	size, links, definitions, marks int
	columns, rows                   int
	numbered                        bool
}

func (p *paragraph) linkWork() int {
	return p.links*p.size + p.definitions*p.size/definitionShare
}

// emptyCells is at least the number of cells that the rows do not have in the
// source.
func (p *paragraph) emptyCells() int { return max(0, p.columns*p.rows-p.size) }

// endsBefore reports whether a line cannot belong to the paragraph.
func (p *paragraph) endsBefore(line, content string) bool {
	return content == "" || startsBlock(line) || p.numbered && startsNumber(content)
}

func startsNumber(content string) bool {
	return content != "" && content[0] >= '0' && content[0] <= '9'
}

func (p *paragraph) add(line, content string) {
	if p.size == 0 {
		p.numbered = startsNumber(content)
	}
	if p.columns == 0 && delimiterRow(content) {
		p.columns = strings.Count(content, "|") + 1
	} else if p.columns > 0 {
		// Rows of a table are parsed each by itself.
		p.rows++
		p.links, p.marks = 0, 0
	}
	p.size += len(line)
	p.links += strings.Count(line, "](")
	p.definitions += strings.Count(line, "]:")
	p.marks += emphasisMarks(line)
}

// emphasisMarks counts runs of characters that may begin or end emphasis.
func emphasisMarks(line string) int {
	marks := 0
	for i := 0; i < len(line); i++ {
		c := line[i]
		if c != '*' && c != '_' && c != '~' || i > 0 && line[i-1] == c {
			continue
		}
		// An underscore between letters is none.
		if c == '_' && i > 0 && i+1 < len(line) && letter(line[i-1]) && letter(line[i+1]) {
			continue
		}
		marks++
	}
	return marks
}

func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}

// startsBlock reports whether a line always begins a new block.
func startsBlock(line string) bool {
	line = strings.TrimLeft(line, " \t")
	return strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ") || strings.HasPrefix(line, "+ ") || strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "##")
}

func delimiterRow(content string) bool {
	return strings.Contains(content, "-") && strings.Trim(content, "|-: \t") == ""
}

// containers counts the quotes and list items that a line opens, or that its
// indentation can stand for when it starts an item, and returns what follows.
func containers(line string) (depth int, content string) {
	column, marked := 0, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == ' ':
			column++
		case c == '\t':
			column += 4
		case c == '>' || (c == '-' || c == '*' || c == '+') && i+1 < len(line) && (line[i+1] == ' ' || line[i+1] == '\t'):
			if !marked {
				depth += column / 2
			}
			marked = true
			depth++
		default:
			return depth, line[i:]
		}
	}
	return depth, ""
}
