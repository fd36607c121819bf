package models

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

func (s *preTokenizerSpec) build() (preTokenizer, error) {
	if s == nil {
		return nil, nil
	}
	switch s.Type {
	case "Sequence":
		return s.sequence()
	case "BertPreTokenizer":
		return splitBert, nil
	case "WhitespaceSplit":
		return splitSpaces, nil
	case "Metaspace":
		return s.metaspace()
	}
	return nil, fmt.Errorf("pre-tokenizer type %q is not supported", s.Type)
}

func (s *preTokenizerSpec) sequence() (preTokenizer, error) {
	var steps []preTokenizer
	for _, spec := range s.PreTokenizers {
		step, err := spec.build()
		if err != nil {
			return nil, err
		}
		if step != nil {
			steps = append(steps, step)
		}
	}
	return func(words []word) []word {
		for _, step := range steps {
			words = step(words)
		}
		return words
	}, nil
}

// splitBert cuts at white space, which goes, and around every punctuation
// mark, which is a word of its own.
func splitBert(words []word) []word {
	var out []word
	for _, w := range words {
		start := 0
		for i, c := range w {
			space := unicode.IsSpace(c.r)
			if !space && !isBertPunctuation(c.r) {
				continue
			}
			if i > start {
				out = append(out, w[start:i])
			}
			if !space {
				out = append(out, w[i:i+1])
			}
			start = i + 1
		}
		if start < len(w) {
			out = append(out, w[start:])
		}
	}
	return out
}

// isBertPunctuation is ASCII's punctuation, symbols included, and Unicode's.
func isBertPunctuation(r rune) bool {
	if r < 0x80 {
		return r >= '!' && r <= '/' || r >= ':' && r <= '@' || r >= '[' && r <= '`' || r >= '{' && r <= '~'
	}
	return unicode.Is(unicode.P, r)
}

func splitSpaces(words []word) []word {
	var out []word
	for _, w := range words {
		start := 0
		for i, c := range w {
			if !unicode.IsSpace(c.r) {
				continue
			}
			if i > start {
				out = append(out, w[start:i])
			}
			start = i + 1
		}
		if start < len(w) {
			out = append(out, w[start:])
		}
	}
	return out
}

// metaspace writes spaces as a mark, puts one before the text and cuts before
// each mark.
func (s *preTokenizerSpec) metaspace() (preTokenizer, error) {
	mark, size := utf8.DecodeRuneInString(s.Replacement)
	if size == 0 || size != len(s.Replacement) {
		return nil, fmt.Errorf("pre-tokenizer Metaspace: replacement %q is not one character", s.Replacement)
	}
	scheme := s.Scheme
	if scheme == "" {
		scheme = "always"
		if s.PrefixSpace != nil && !*s.PrefixSpace {
			scheme = "never"
		}
	}
	cut := s.Split == nil || *s.Split
	return func(words []word) []word {
		var out []word
		for i, w := range words {
			marked := markSpaces(w, mark, scheme == "always" || scheme == "first" && i == 0)
			if !cut {
				out = append(out, marked)
				continue
			}
			start := 0
			for j := 1; j < len(marked); j++ {
				if marked[j].r == mark {
					out = append(out, marked[start:j])
					start = j
				}
			}
			out = append(out, marked[start:])
		}
		return out
	}, nil
}

func markSpaces(w word, mark rune, lead bool) word {
	out := make(word, 0, len(w)+1)
	if lead && len(w) > 0 && w[0].r != ' ' && w[0].r != mark {
		out = append(out, char{mark, w[0].start, w[0].start})
	}
	for _, c := range w {
		if c.r == ' ' {
			c.r = mark
		}
		out = append(out, c)
	}
	return out
}
