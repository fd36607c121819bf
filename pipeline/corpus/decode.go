package corpus

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// Decode turns the bytes of a text file into a document's text: valid UTF-8
// without byte-order mark and NUL, with "\n" as its only line end and without
// control characters other than tab and form feed. Notes say what an operator
// may want to know, such as a guessed encoding. Binary data is ErrBinary, and
// text that grows beyond limits.MaxTextBytes is ErrTooLarge.
//
// A byte-order mark decides first, then validity as UTF-8, then what the file
// declares, then what its bytes look like.
func Decode(file File, data []byte, limits Limits) (text string, notes []string, err error) {
	limits = limits.WithDefaults()
	decoded, name, err := decode(file, data)
	if err != nil {
		return "", nil, err
	}
	if name != "" {
		notes = append(notes, "decoded as "+name)
	}
	if int64(len(decoded)) > limits.MaxTextBytes {
		return "", nil, TextTooLarge(file.Path, limits)
	}
	text, replaced, dropped := clean(decoded)
	if name != "" {
		replaced = strings.Count(text, "\uFFFD")
	}
	if replaced > 0 {
		notes = append(notes, fmt.Sprintf("%s replaced", count(replaced, "invalid character")))
	}
	if dropped > 0 {
		notes = append(notes, fmt.Sprintf("%s dropped", count(dropped, "control character")))
	}
	return text, notes, nil
}

// TextTooLarge is the error of a file whose text passes limits.MaxTextBytes.
func TextTooLarge(path string, limits Limits) error {
	return &FileError{Kind: KindTooLarge, Verb: "decode", Path: path,
		Reason: fmt.Sprintf("its text is longer than the limit corpus.max_text_bytes of %d bytes", limits.WithDefaults().MaxTextBytes),
		Hint:   "raise corpus.max_text_bytes or split the file"}
}

// decode returns text that may still hold invalid bytes, and the encoding's
// name when it is not UTF-8.
func decode(file File, data []byte) (string, string, error) {
	if enc, name, size := byteOrderMark(data); size > 0 {
		if enc == nil {
			return refuseBinary(file, string(data[size:]), "")
		}
		text, name, err := decodeWith(enc, name, data[size:])
		if err != nil {
			return "", "", err
		}
		return refuseBinary(file, text, name)
	}
	if enc, name := utf16WithoutMark(data); enc != nil {
		return decodeWith(enc, name, data)
	}
	if _, _, err := refuseBinary(file, string(data), ""); err != nil {
		return "", "", err
	}
	if utf8.Valid(data) && !escapedEncoding(data) {
		return string(data), "", nil
	}
	if name := declaredEncoding(file.Format, data); name != "" {
		if text, ok := decodeDeclared(name, data); ok {
			return text, name, nil
		}
	}
	if utf8.Valid(data) { // and yet not what it seems, as it changes character sets
		return decodeWith(japanese.ISO2022JP, "iso-2022-jp (detected)", data)
	}
	if mostlyUTF8(data) {
		return string(data), "", nil
	}
	name, enc := detect(data)
	return decodeWith(enc, name+" (detected)", data)
}

func refuseBinary(file File, text, encoding string) (string, string, error) {
	if reason := binaryReason(text); reason != "" {
		return "", "", &FileError{Kind: KindBinary, Verb: "decode", Path: file.Path, Reason: reason,
			Hint: "rename it to what it is, or exclude it"}
	}
	return text, encoding, nil
}

func decodeWith(enc encoding.Encoding, name string, data []byte) (string, string, error) {
	decoded, err := enc.NewDecoder().Bytes(data)
	if err != nil {
		return "", "", &FileError{Kind: KindEncoding, Verb: "decode", Reason: "it cannot be read as " + name, Err: err}
	}
	return string(bytes.TrimPrefix(decoded, []byte("\uFEFF"))), name, nil
}

// byteOrderMark returns the encoding of the mark that data starts with, nil for
// UTF-8, and the mark's size.
func byteOrderMark(data []byte) (encoding.Encoding, string, int) {
	switch {
	case bytes.HasPrefix(data, []byte{0xEF, 0xBB, 0xBF}):
		return nil, "", 3
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE, 0, 0}) && len(data)%4 == 0:
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM), "utf-32le", 4
	case bytes.HasPrefix(data, []byte{0, 0, 0xFE, 0xFF}) && len(data)%4 == 0:
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM), "utf-32be", 4
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}):
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "utf-16le", 2
	case bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), "utf-16be", 2
	}
	return nil, "", 0
}

// utf16WithoutMark recognises UTF-16 of mostly Latin text: nearly every second
// byte is NUL and the others never are.
func utf16WithoutMark(data []byte) (encoding.Encoding, string) {
	sample := data[:min(len(data), sampleBytes)&^1]
	if len(sample) < 8 {
		return nil, ""
	}
	var nuls [2]int
	for i, b := range sample {
		if b == 0 {
			nuls[i&1]++
		}
	}
	half := len(sample) / 2
	var enc encoding.Encoding
	var name string
	switch {
	case nuls[1]*10 >= half*7 && nuls[0] == 0:
		enc, name = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "utf-16le"
	case nuls[0]*10 >= half*7 && nuls[1] == 0:
		enc, name = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), "utf-16be"
	default:
		return nil, ""
	}
	decoded, err := enc.NewDecoder().Bytes(sample)
	if err != nil || binaryReason(string(decoded)) != "" {
		return nil, ""
	}
	return enc, name
}

// sampleBytes is how much of a file is looked at where a sample is enough.
const sampleBytes = 256 << 10

// magics are the beginnings of files that are not text, and what those are. The
// first ones are refused by their beginning alone, as nothing else in them need
// look binary; the others only give a name to what looks binary.
var magics = []struct {
	prefix, kind string
	alone        bool
}{
	{"%PDF-1.", "a PDF file", true}, {"%PDF-2.", "a PDF file", true}, {"%!PS-Adobe", "a PostScript file", true},
	{`{\rtf`, "an RTF file", true}, {"PK\x03\x04", "a ZIP archive or office document", false},
	{"\x7fELF", "a program", false}, {"MZ", "a Windows program", false}, {"\x89PNG", "a PNG image", false},
	{"GIF8", "a GIF image", false}, {"\xff\xd8\xff", "a JPEG image", false}, {"RIFF", "a RIFF media file", false},
	{"II*\x00", "a TIFF image", false}, {"MM\x00*", "a TIFF image", false}, {"\x1f\x8b", "a gzip archive", false},
	{"BZh", "a bzip2 archive", false}, {"\xfd7zXZ", "an xz archive", false}, {"7z\xbc\xaf", "a 7z archive", false},
	{"\x28\xb5\x2f\xfd", "a Zstandard archive", false}, {"Rar!", "a RAR archive", false},
	{"\xd0\xcf\x11\xe0", "an old office document", false}, {"SQLite format 3", "an SQLite database", false},
	{"\x00asm", "a WebAssembly module", false}, {"\xca\xfe\xba\xbe", "a Java class", false},
	{"OggS", "an Ogg media file", false}, {"ID3", "an MP3 file", false}, {"fLaC", "a FLAC file", false},
}

// binaryReason says why data is not text, or "" when it is. Text of one byte or
// more a character has no NUL and few control characters; compressed or
// compiled data has about one NUL in 256 bytes and one control in 9.
func binaryReason(data string) string {
	var nuls, controls int
	for i := range len(data) {
		switch b := data[i]; {
		case b == 0:
			nuls++
		case b < 0x20 && !textControl(b):
			controls++
		}
	}
	kind := ""
	for _, magic := range magics {
		if strings.HasPrefix(data, magic.prefix) {
			if kind = "it is " + magic.kind; magic.alone {
				return kind
			}
			break
		}
	}
	var reason string
	switch {
	case nuls*1000 > len(data):
		reason = fmt.Sprintf("it is binary: %d of %d bytes are NUL", nuls, len(data))
	case controls*50 > len(data):
		reason = fmt.Sprintf("it is binary: %d of %d bytes are control characters", controls, len(data))
	case strings.HasPrefix(data, "\xff\xd8\xff") || strings.HasPrefix(data, "\x89PNG\r\n"):
		reason = kind
	}
	if reason != "" && kind != "" {
		return kind
	}
	return reason
}

// textControl reports whether a control character occurs in text: white space,
// and what terminals and printers are told with.
func textControl(b byte) bool {
	return b >= '\b' && b <= '\r' || b == 0x1b || b == 0x1a
}

// mostlyUTF8 reports whether data is UTF-8 with a few damaged places. Accented
// letters of another encoding are rarely valid as UTF-8.
func mostlyUTF8(data []byte) bool {
	var valid, invalid int
	for len(data) > 0 {
		if data[0] < utf8.RuneSelf {
			data = data[1:]
			continue
		}
		r, size := utf8.DecodeRune(data)
		if half, ok := surrogate(data); ok {
			r, size = half, 3
		}
		if r == utf8.RuneError && size == 1 {
			invalid++
		} else {
			valid++
		}
		data = data[size:]
	}
	return valid >= 3*invalid
}

// surrogate reads the half of a UTF-16 pair that text starts with when it was
// written as if it were a character of UTF-8, as Java and some databases do.
func surrogate[T string | []byte](text T) (half rune, ok bool) {
	if len(text) < 3 || text[0] != 0xed || text[1]&0xe0 != 0xa0 || text[2]&0xc0 != 0x80 {
		return 0, false
	}
	return 0xd000 | rune(text[1]&0x3f)<<6 | rune(text[2]&0x3f), true
}

// clean makes decoded text what Document.Text may hold. It counts the invalid
// bytes it replaced and the characters it dropped. What terminals and line
// printers make of text is undone: colours, and letters printed over each other
// for bold type.
func clean(decoded string) (text string, replaced, dropped int) {
	if utf8.ValidString(decoded) && strings.IndexFunc(decoded, isControl) < 0 {
		return decoded, 0, 0
	}
	b := make([]byte, 0, len(decoded))
	last := 0 // where the last character starts, which a backspace takes back
	for i := 0; i < len(decoded); {
		r, size := utf8.DecodeRuneInString(decoded[i:])
		if first, ok := surrogate(decoded[i:]); ok {
			r, size = utf8.RuneError, 3
			if second, ok := surrogate(decoded[i+3:]); ok && utf16.DecodeRune(first, second) != utf8.RuneError {
				r, size = utf16.DecodeRune(first, second), 6
			}
		}
		at := i
		i += size
		switch {
		case r == utf8.RuneError && decoded[at:i] != "\uFFFD":
			replaced++
		case r == '\r' && strings.HasPrefix(decoded[i:], "\n"):
			continue
		case r == '\r' || r == '\v':
			r = '\n'
		case r == '\f':
		case r == '\b':
			if last < len(b) && b[last] != '\n' {
				b = b[:last]
			}
			continue
		case r == 0x1b:
			i = at + escapeLength(decoded[at:])
			continue
		case r == 0x1a && i == len(decoded): // the end-of-file mark of DOS
			continue
		case isControl(r):
			dropped++
			continue
		}
		last = len(b)
		b = utf8.AppendRune(b, r)
	}
	return string(b), replaced, dropped
}

// escapeLength is the length of the terminal control sequence that s starts
// with, at least 1.
func escapeLength(s string) int {
	if len(s) < 2 || s[1] != '[' {
		return 1
	}
	for i := 2; i < len(s) && i < 32; i++ {
		if c := s[i]; c >= 0x40 && c <= 0x7e {
			return i + 1
		}
		if c := s[i]; c < 0x20 || c > 0x3f {
			break
		}
	}
	return 1
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
