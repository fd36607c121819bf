package models_test

import (
	"testing"

	"graphmill/pipeline/models"
)

func TestModelsAreTheSameByName(t *testing.T) {
	for _, c := range []struct {
		name, identity string
		same           bool
	}{
		{"hash-64@1", "hash-64@1", true},
		{"hash-64@1", "hash-384@1", false},
		{"hash-64", "hash-64@1", false},
		{"hash-64@2", "hash-64@1", false},
		{"all-MiniLM-L6-v2", "minilm@0123456789ab", true},
		{"sentence-transformers/all-MiniLM-L6-v2", "minilm@0123456789ab", true},
		{" Ollama/All-MiniLM-L6-V2 ", "all-minilm-l6-v2@0123456789ab", true},
		{"minilm@0123456789ab", "minilm@0123456789ab", true},
		{"local/minilm@0123456789ab", "minilm@0123456789ab", true},
		{"minilm@ffffffffffff", "minilm@0123456789ab", false},
		{"all-MiniLM-L6-v2", "minilm@0123456789ab+hugot", true},
		{"minilm@0123456789ab", "minilm@0123456789ab+hugot", false},
		{"all-MiniLM-L12-v2", "minilm@0123456789ab", false},
		{"all-MiniLM-L6-v2-large", "all-MiniLM-L6-v2@0123456789ab", false},
		{"text-embedding-3-small", "minilm@0123456789ab", false},
		{"", "minilm@0123456789ab", false},
		{"/", "minilm@0123456789ab", false},
	} {
		if models.SameModel(c.name, c.identity) != c.same {
			t.Errorf("%q and %q: same is %v", c.name, c.identity, !c.same)
		}
	}
}
