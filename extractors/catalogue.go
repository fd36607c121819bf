package extractors

import "graphmill/planner/catalogue"

// Catalogue lists the extractors for the planner. A rule may name several; they
// are joined by [Combine].
func Catalogue() []catalogue.Strategy {
	return []catalogue.Strategy{patternStrategy(), GLiNERStrategy(), llmStrategy(), verifyStrategy()}
}
