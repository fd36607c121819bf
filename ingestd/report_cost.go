package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"graphmill/pipeline"
)

// bill says what language models and remote embedders took.
func (p textPrinter) bill(b *pipeline.Bill) {
	fmt.Fprintf(p.w, "models:  %s; %s (prices of %s)\n", took(b.Cost), b, b.Prices)
	if len(b.ByPurpose) > 1 {
		var parts []string
		for _, purpose := range slices.Sorted(maps.Keys(b.ByPurpose)) {
			parts = append(parts, fmt.Sprintf("%s %s", purpose, took(*b.ByPurpose[purpose])))
		}
		fmt.Fprintf(p.w, "         %s\n", strings.Join(parts, "; "))
	}
	if b.Unpriced > 0 {
		fmt.Fprintf(p.w, "warning: %d calls are of a model without a price, and not in the sum; give it one in llm.prices\n", b.Unpriced)
	}
	if b.Unreported > 0 {
		fmt.Fprintf(p.w, "warning: of %d calls the server did not say what they took; their tokens are estimates\n", b.Unreported)
	}
}

// took is "12 calls (3 answers kept from before), 10,000 + 2,000 tokens".
func took(c pipeline.Cost) string {
	text := fmt.Sprintf("%d calls", c.Calls)
	if c.Cached > 0 {
		text += fmt.Sprintf(" (and %d answers kept from before)", c.Cached)
	}
	return text + fmt.Sprintf(", %d + %d tokens", c.InputTokens, c.OutputTokens)
}
