package models

import (
	"fmt"
	"regexp"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normalizerSpec is a normalizer as tokenizer.json describes it.
type normalizerSpec struct {
	Type        string            `json:"type"`
	Normalizers []*normalizerSpec `json:"normalizers"`
	// BertNormalizer
	CleanText    bool  `json:"clean_text"`
	Chinese      bool  `json:"handle_chinese_chars"`
	StripAccents *bool `json:"strip_accents"`
	Lowercase    bool  `json:"lowercase"`
	// Strip
	StripLeft  *bool `json:"strip_left"`
	StripRight *bool `json:"strip_right"`
	// Replace, Prepend
	Pattern textPattern `json:"pattern"`
	Content string      `json:"content"`
	Prepend string      `json:"prepend"`
	// Precompiled
	Charsmap string `json:"precompiled_charsmap"`
}

// textPattern is {"String": …} or {"Regex": …}.
type textPattern struct {
	String *string `json:"String"`
	Regex  *string `json:"Regex"`
}

func (p textPattern) compile() (*regexp.Regexp, error) {
	switch {
	case p.String != nil:
		return regexp.Compile(regexp.QuoteMeta(*p.String))
	case p.Regex != nil:
		return regexp.Compile(*p.Regex)
	}
	return nil, fmt.Errorf("pattern is neither a string nor a regular expression")
}

func (s *normalizerSpec) build() (normalizer, error) {
	if s == nil {
		return nil, nil
	}
	switch s.Type {
	case "Sequence":
		return s.sequence()
	case "BertNormalizer":
		return s.bert(), nil
	case "NFC":
		return normalForm(norm.NFC), nil
	case "NFD":
		return normalForm(norm.NFD), nil
	case "NFKC":
		return normalForm(norm.NFKC), nil
	case "NFKD":
		return normalForm(norm.NFKD), nil
	case "Lowercase":
		return lowercase, nil
	case "StripAccents":
		return dropMarks, nil
	case "Strip":
		return s.strip(), nil
	case "Replace":
		return s.replace()
	case "Prepend":
		return prepend(s.Prepend), nil
	case "Precompiled":
		return parseCharsmap(s.Charsmap)
	}
	return nil, fmt.Errorf("normalizer type %q is not supported", s.Type)
}

func (s *normalizerSpec) sequence() (normalizer, error) {
	steps := make([]normalizer, 0, len(s.Normalizers))
	for _, spec := range s.Normalizers {
		step, err := spec.build()
		if err != nil {
			return nil, err
		}
		if step != nil {
			steps = append(steps, step)
		}
	}
	return func(chars []char) []char {
		for _, step := range steps {
			chars = step(chars)
		}
		return chars
	}, nil
}

func (s *normalizerSpec) bert() normalizer {
	accents := s.Lowercase
	if s.StripAccents != nil {
		accents = *s.StripAccents
	}
	decompose := normalForm(norm.NFD)
	clean, chinese, lower := s.CleanText, s.Chinese, s.Lowercase
	return func(chars []char) []char {
		if clean {
			chars = cleanText(chars)
		}
		if chinese {
			chars = isolateChinese(chars)
		}
		if accents {
			chars = dropMarks(decompose(chars))
		}
		if lower {
			chars = lowercase(chars)
		}
		return chars
	}
}

// cleanText drops control characters and makes every white space a space. In
// place: the result is never longer.
func cleanText(chars []char) []char {
	out := chars[:0]
	for _, c := range chars {
		switch {
		case c.r == 0 || c.r == utf8.RuneError || isBertControl(c.r):
			continue
		case unicode.IsSpace(c.r):
			c.r = ' '
		}
		out = append(out, c)
	}
	return out
}

func isBertControl(r rune) bool {
	if r == '\t' || r == '\n' || r == '\r' {
		return false
	}
	if r < 0x7f {
		return r < 0x20
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co)
}

func isolateChinese(chars []char) []char {
	n := 0
	for _, c := range chars {
		if isChinese(c.r) {
			n++
		}
	}
	if n == 0 {
		return chars
	}
	out := make([]char, 0, len(chars)+2*n)
	for _, c := range chars {
		if !isChinese(c.r) {
			out = append(out, c)
			continue
		}
		space := char{r: ' ', start: c.start, end: c.end}
		out = append(out, space, c, space)
	}
	return out
}

// isChinese is BERT's notion: the CJK unified ideographs and their extensions.
func isChinese(r rune) bool {
	return r >= 0x3400 && (r <= 0x4dbf ||
		r >= 0x4e00 && r <= 0x9fff ||
		r >= 0xf900 && r <= 0xfaff ||
		r >= 0x20000 && r <= 0x2a6df ||
		r >= 0x2a700 && r <= 0x2b73f ||
		r >= 0x2b740 && r <= 0x2b81f ||
		r >= 0x2b920 && r <= 0x2ceaf ||
		r >= 0x2f800 && r <= 0x2fa1f)
}

func dropMarks(chars []char) []char {
	out := chars[:0]
	for _, c := range chars {
		if c.r < 0x300 || !unicode.Is(unicode.Mn, c.r) {
			out = append(out, c)
		}
	}
	return out
}

func lowercase(chars []char) []char {
	longer := 0
	for i, c := range chars {
		if c.r == 'İ' { // the one letter whose lower case is two characters
			longer++
			continue
		}
		chars[i].r = unicode.ToLower(c.r)
	}
	if longer == 0 {
		return chars
	}
	out := make([]char, 0, len(chars)+longer)
	for _, c := range chars {
		if c.r == 'İ' {
			out = append(out, char{'i', c.start, c.end}, char{0x307, c.start, c.end})
			continue
		}
		out = append(out, c)
	}
	return out
}

func (s *normalizerSpec) strip() normalizer {
	left := s.StripLeft == nil || *s.StripLeft
	right := s.StripRight == nil || *s.StripRight
	return func(chars []char) []char {
		for left && len(chars) > 0 && unicode.IsSpace(chars[0].r) {
			chars = chars[1:]
		}
		for right && len(chars) > 0 && unicode.IsSpace(chars[len(chars)-1].r) {
			chars = chars[:len(chars)-1]
		}
		return chars
	}
}

func (s *normalizerSpec) replace() (normalizer, error) {
	pattern, err := s.Pattern.compile()
	if err != nil {
		return nil, fmt.Errorf("normalizer Replace: %w", err)
	}
	content := []rune(s.Content)
	return func(chars []char) []char {
		text, at := charText(chars)
		matches := pattern.FindAllStringIndex(text, -1)
		if matches == nil {
			return chars
		}
		out := make([]char, 0, len(chars))
		last := 0
		for _, m := range matches {
			from, to := at[m[0]], at[m[1]]
			out = append(out, chars[last:from]...)
			if to > from {
				for _, r := range content {
					out = append(out, char{r, chars[from].start, chars[to-1].end})
				}
			}
			last = to
		}
		return append(out, chars[last:]...)
	}, nil
}

// charText joins the characters; at maps a byte of the text to its character.
func charText(chars []char) (text string, at []int) {
	buf := make([]byte, 0, len(chars))
	at = make([]int, 0, len(chars)+1)
	for i, c := range chars {
		buf = utf8.AppendRune(buf, c.r)
		for len(at) < len(buf) {
			at = append(at, i)
		}
	}
	return string(buf), append(at, len(chars))
}

func prepend(content string) normalizer {
	return func(chars []char) []char {
		if len(chars) == 0 {
			return chars
		}
		out := make([]char, 0, len(chars)+len(content))
		for _, r := range content {
			out = append(out, char{r, chars[0].start, chars[0].start})
		}
		return append(out, chars...)
	}
}

// normalForm applies a Unicode normal form segment by segment, so that each
// character keeps the bytes of the segment it came from.
func normalForm(form norm.Form) normalizer {
	return func(chars []char) []char {
		if plain(chars, form) {
			return chars
		}
		text, at := charText(chars)
		out := make([]char, 0, len(chars)+8)
		var iter norm.Iter
		iter.InitString(form, text)
		for !iter.Done() {
			from := iter.Pos()
			segment := iter.Next()
			first, last := at[from], at[iter.Pos()]-1
			if last < first {
				last = first
			}
			for _, r := range string(segment) {
				out = append(out, char{r, chars[first].start, chars[last].end})
			}
		}
		return out
	}
}

// plain reports whether every character is its own normal form: below U+00A0
// for the compatibility forms, U+00C0 for the canonical ones.
func plain(chars []char, form norm.Form) bool {
	limit := rune(0xc0)
	if form == norm.NFKC || form == norm.NFKD {
		limit = 0xa0
	}
	for _, c := range chars {
		if c.r >= limit {
			return false
		}
	}
	return true
}

// preTokenizerSpec is a pre-tokenizer as tokenizer.json describes it.
type preTokenizerSpec struct {
	Type          string              `json:"type"`
	PreTokenizers []*preTokenizerSpec `json:"pretokenizers"`
	Replacement   string              `json:"replacement"`
	Scheme        string              `json:"prepend_scheme"`
	PrefixSpace   *bool               `json:"add_prefix_space"`
	Split         *bool               `json:"split"`
}
