package models

import "strings"

// otherNames are what the models that come with the program are called elsewhere,
// by the names of their folders.
var otherNames = map[string]string{"minilm": "all-MiniLM-L6-v2"}

// SameModel reports whether a name that another program gave to a model may be
// the model of an identity, as Embedder.Model gives it. Other programs keep no
// hash of the weights, so that names are all there is to go by; case does not
// count. A segment before a slash that only one of the two has is taken for the
// way to the model ("azure/text-embedding-3-large"); where both have one, it
// tells models apart, as graphrag-sdk does.
func SameModel(name, identity string) bool {
	name, identity = strings.ToLower(strings.TrimSpace(name)), strings.ToLower(identity)
	own, _, hashed := strings.Cut(identity, "@")
	candidates := []string{identity}
	if hashed && !strings.Contains(name, "@") && !strings.HasPrefix(own, "hash-") {
		candidates = append(candidates, own, strings.ToLower(otherNames[own]))
	}
	for _, candidate := range candidates {
		if candidate != "" && sameName(name, candidate) {
			return true
		}
	}
	return false
}

func sameName(a, b string) bool {
	aWay, aRest, aHas := strings.Cut(a, "/")
	bWay, bRest, bHas := strings.Cut(b, "/")
	switch {
	case a == b:
		return true
	case aHas && !bHas && aWay != "":
		return aRest == b
	case bHas && !aHas && bWay != "":
		return bRest == a
	}
	return false
}
