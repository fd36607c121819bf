package corpus

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wlynxg/chardet"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

var (
	metaCharset    = regexp.MustCompile(`(?i)<meta[^>]{0,200}charset\s*=\s*["']?\s*([\w.:-]{2,40})`)
	xmlEncoding    = regexp.MustCompile(`^\s*<\?xml[^>]{0,200}encoding\s*=\s*["']([\w.:-]{2,40})`)
	emacsCoding    = regexp.MustCompile(`-\*-.{0,200}coding:\s*([\w.-]{2,40})`)
	editorCoding   = regexp.MustCompile(`(?:vim?:.{0,200}fileencoding=|fenc=|coding[:=]\s*)([\w.-]{2,40})`)
	emacsLineBreak = regexp.MustCompile(`-(unix|dos|mac)$`)
)

// declaredEncoding is the encoding that a file says it is in: the meta element
// of HTML, an XML declaration, the coding line that editors read in the first
// two lines or the last.
func declaredEncoding(format Format, data []byte) string {
	head := data[:min(len(data), 4096)]
	patterns := []*regexp.Regexp{xmlEncoding, emacsCoding}
	if format == HTML || format == Markdown {
		patterns = append(patterns, metaCharset)
	}
	for _, pattern := range patterns {
		if m := pattern.FindSubmatch(head); m != nil {
			return encodingName(string(m[1]))
		}
	}
	lines := bytes.SplitN(head, []byte("\n"), 3)
	lines = lines[:min(len(lines), 2)]
	lines = append(lines, data[max(0, len(data)-512):])
	for _, line := range lines {
		if m := editorCoding.FindSubmatch(line); m != nil {
			if name := encodingName(string(m[1])); name != "" {
				return name
			}
		}
	}
	return ""
}

// encodingName is the canonical name of an encoding, "" if it is not known.
func encodingName(name string) string {
	name = emacsLineBreak.ReplaceAllString(strings.ToLower(name), "")
	// Editors write latin-1 and iso-latin-1 for what is registered as latin1.
	name = strings.NewReplacer("iso-latin-", "latin", "latin-", "latin").Replace(name)
	canonical, enc := knownEncoding(name)
	if enc == nil || canonical == "utf-8" || strings.HasPrefix(canonical, "utf-16") || canonical == "replacement" {
		return "" // its bytes have been looked at and say otherwise
	}
	return canonical
}

// decodeDeclared decodes as declared unless much of it would be invalid.
func decodeDeclared(name string, data []byte) (string, bool) {
	enc, err := htmlindex.Get(name)
	if err != nil {
		return "", false
	}
	decoded, err := enc.NewDecoder().Bytes(data)
	if err != nil || bytes.Count(decoded, []byte("\uFFFD"))*100 > utf8.RuneCount(decoded) {
		return "", false
	}
	return string(decoded), true
}

// escapedEncoding reports whether pure ASCII is ISO-2022-JP, which changes
// character sets by escape sequences.
func escapedEncoding(data []byte) bool {
	return bytes.Contains(data, []byte("\x1b$B")) || bytes.Contains(data, []byte("\x1b$@"))
}

// sureOf is how certain the statistical detector must be. It is right above
// these for the scripts it knows; between the Latin ones it guesses, and
// spelling decides instead.
const (
	sureOfMultiByte = 0.8
	sureOfScript    = 0.6
)

// detect returns the most likely legacy encoding of data.
func detect(data []byte) (string, encoding.Encoding) {
	sample := legacySample(data)
	guess := chardet.Detect(sample)
	name, enc := knownEncoding(guess.Encoding)
	switch guess.Language {
	case "Russian", "Bulgarian":
		if guess.Confidence >= sureOfScript {
			return bestSpelled(sample, cyrillic)
		}
	case "Greek", "Hebrew", "Thai", "Arabic":
		if enc != nil && guess.Confidence >= sureOfScript {
			return name, enc
		}
	case "Japanese", "Chinese", "Korean":
		if enc != nil && guess.Confidence >= sureOfMultiByte {
			if _, ok := decodeDeclared(name, sample); ok {
				return name, enc
			}
		}
	}
	return bestSpelled(sample, latin)
}

func knownEncoding(label string) (string, encoding.Encoding) {
	enc, err := htmlindex.Get(strings.ToLower(label))
	if err != nil {
		return "", nil
	}
	name, err := htmlindex.Name(enc)
	if err != nil {
		return "", nil
	}
	return name, enc
}

// legacySample starts near the first byte that is not ASCII.
func legacySample(data []byte) []byte {
	first := bytes.IndexFunc(data, func(r rune) bool { return r >= utf8.RuneSelf })
	start := max(0, first-64)
	return data[start:min(len(data), start+sampleBytes)]
}

type namedEncoding struct {
	name string
	enc  *charmap.Charmap
}

// The candidates by script, more usual ones first.
var (
	latin = []namedEncoding{
		{"windows-1252", charmap.Windows1252}, {"iso-8859-2", charmap.ISO8859_2}, {"windows-1250", charmap.Windows1250},
		{"macintosh", charmap.Macintosh}, {"cp850", charmap.CodePage850}, {"cp437", charmap.CodePage437},
	}
	cyrillic = []namedEncoding{
		{"windows-1251", charmap.Windows1251}, {"koi8-r", charmap.KOI8R}, {"iso-8859-5", charmap.ISO8859_5},
		{"ibm866", charmap.CodePage866}, {"x-mac-cyrillic", charmap.MacintoshCyrillic},
	}
)

// bestSpelled picks the encoding in which the fewest letters look misspelled.
// Another than the first must be twice as good.
func bestSpelled(sample []byte, candidates []namedEncoding) (string, encoding.Encoding) {
	best, fewest := 0, misspelled(sample, candidates[0].enc)
	for i, candidate := range candidates[1:] {
		if odd := misspelled(sample, candidate.enc); odd*2 < fewest {
			best, fewest = i+1, odd
		}
	}
	return candidates[best].name, candidates[best].enc
}

// misspelled counts the places where a decoded byte stands oddly: a symbol
// between two letters, a capital after a small letter, an unassigned byte.
func misspelled(sample []byte, enc *charmap.Charmap) int {
	odd := 0
	previous := ' '
	for i, b := range sample {
		r := enc.DecodeByte(b)
		if b >= utf8.RuneSelf || previous >= utf8.RuneSelf {
			next := ' '
			if i+1 < len(sample) {
				next = enc.DecodeByte(sample[i+1])
			}
			switch {
			case r == utf8.RuneError || unicode.IsControl(r):
				odd += 2
			case unicode.IsUpper(r) && unicode.IsLower(previous):
				odd++
			case b >= utf8.RuneSelf && !unicode.IsLetter(r) && r != '’' && r != '–' && r != '—' && r != '\u00a0' && r != '\u00ad' &&
				unicode.IsLetter(previous) && unicode.IsLetter(next):
				odd++
			}
		}
		previous = r
	}
	return odd
}
