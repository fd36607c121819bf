package tools

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"graphmill/commandline"
	"graphmill/pipeline"
)

// line shows text of documents on one line.
func line(text string) string {
	return commandline.Printable(strings.Join(strings.Fields(text), " "))
}

// lines cuts text where any reader would see a new line begin.
func lines(text string) []string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n").Replace(text)
	return strings.Split(strings.Trim(text, "\n"), "\n")
}

// clip cuts a text to limit characters and marks the cut.
func clip(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:max(limit-1, 0)]) + "…"
}

// some puts as many items as fit room characters on lines of their own and says
// how many it left out.
func some(items []string, room int) string {
	var b strings.Builder
	used := 0
	for i, item := range items {
		size := utf8.RuneCountInString(item) + 1
		if used+size > room-30 && i < len(items)-1 || used+size > room {
			fmt.Fprintf(&b, "…(%d more omitted)\n", len(items)-i)
			break
		}
		b.WriteString(item + "\n")
		used += size
	}
	return b.String()
}

// costLine tells what asking models took; "" when none was asked.
func costLine(cost *pipeline.Bill) string {
	if cost == nil {
		return ""
	}
	return fmt.Sprintf("Models: %d calls, %d more from the cache, %d tokens, %.4f %s\n", cost.Calls, cost.Cached, cost.InputTokens+cost.OutputTokens, cost.Money, cost.Currency)
}
