package corpus

import (
	"errors"
	"math/rand"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode/utf32"
)

// encoded is text in an encoding, by its WHATWG name.
func encoded(t *testing.T, name, text string) string {
	t.Helper()
	enc, err := htmlindex.Get(name)
	must(t, err)
	data, err := enc.NewEncoder().String(text)
	must(t, err)
	return data
}

func TestDecode(t *testing.T) {
	const german = "Das Mädchen läuft über die Straße. „Ja“, sagte er – für fünf €."
	const russian = "Съешь ещё этих мягких французских булок, да выпей чаю."
	const japanese = "日本語の文章です。東京は日本の首都です。"
	const chinese = "中国的首都是北京。今天天气很好,我们去公园。"
	wide, err := utf32.UTF32(utf32.LittleEndian, utf32.UseBOM).NewEncoder().String("Grüße")
	must(t, err)
	for name, test := range map[string]struct {
		data, want, note string
		format           Format
	}{
		"empty":                          {"", "", "", Text},
		"UTF-8":                          {german, german, "", Text},
		"a byte-order mark":              {"\xef\xbb\xbfa", "a", "", Text},
		"UTF-16 little-endian":           {"\xff\xfe" + encoded(t, "utf-16le", german), german, "utf-16le", Text},
		"UTF-16 big-endian":              {"\xfe\xff" + encoded(t, "utf-16be", japanese), japanese, "utf-16be", Text},
		"UTF-16 without a mark":          {encoded(t, "utf-16le", "Plain words on a line.\n"), "Plain words on a line.\n", "utf-16le", Text},
		"UTF-16 big, without a mark":     {encoded(t, "utf-16be", "Plain words on a line.\n"), "Plain words on a line.\n", "utf-16be", Text},
		"UTF-32":                         {wide, "Grüße", "utf-32le", Text},
		"windows-1252":                   {encoded(t, "windows-1252", german), german, "windows-1252 (detected)", Text},
		"one accent":                     {"A caf\xe9 in town", "A café in town", "windows-1252 (detected)", Text},
		"Polish":                         {encoded(t, "iso-8859-2", "Zażółć gęślą jaźń. W Szczebrzeszynie chrząszcz brzmi w trzcinie."), "Zażółć gęślą jaźń. W Szczebrzeszynie chrząszcz brzmi w trzcinie.", "iso-8859-2 (detected)", Text},
		"windows-1251":                   {encoded(t, "windows-1251", russian), russian, "windows-1251 (detected)", Text},
		"KOI8-R":                         {encoded(t, "koi8-r", russian), russian, "koi8-r (detected)", Text},
		"Shift_JIS":                      {encoded(t, "shift_jis", japanese), japanese, "shift_jis (detected)", Text},
		"EUC-JP":                         {encoded(t, "euc-jp", japanese), japanese, "euc-jp (detected)", Text},
		"ISO-2022-JP":                    {encoded(t, "iso-2022-jp", japanese), japanese, "iso-2022-jp (detected)", Text},
		"GBK":                            {encoded(t, "gbk", chinese), chinese, "gbk (detected)", Text},
		"Macintosh":                      {encoded(t, "macintosh", "Le président a été réélu."), "Le président a été réélu.", "macintosh (detected)", Text},
		"declared by meta":               {`<meta charset="iso-8859-2">` + encoded(t, "iso-8859-2", "Łódź"), `<meta charset="iso-8859-2">Łódź`, "iso-8859-2", HTML},
		"declared by content type":       {`<meta http-equiv=content-type content="text/html; charset=koi8-r">` + "\xcd\xc9\xd2", `<meta http-equiv=content-type content="text/html; charset=koi8-r">мир`, "koi8-r", HTML},
		"declared by XML":                {`<?xml version="1.0" encoding="windows-1250"?>` + "\x9d", `<?xml version="1.0" encoding="windows-1250"?>ť`, "windows-1250", HTML},
		"declared for an editor":         {".. -*- coding: latin-2-unix -*-\n\xb1", ".. -*- coding: latin-2-unix -*-\ną", "iso-8859-2", RST},
		"declared wrongly":               {`<meta charset="ascii">größe`, `<meta charset="ascii">größe`, "", HTML},
		"line ends":                      {"a\r\nb\rc\n\r\n", "a\nb\nc\n\n", "", Text},
		"bold by printing twice":         {"N\bNA\bAME _\bx\n", "NAME x\n", "", Text},
		"a backspace at a line's start":  {"a\n\bb", "a\nb", "", Text},
		"colours":                        {"a \x1b[1;31mred\x1b[0m word", "a red word", "", Text},
		"a form feed":                    {"a\fb", "a\fb", "", Text},
		"the mark that DOS puts at ends": {"a\n\x1a", "a\n", "", Text},
		"one damaged place":              {"gr\xc3\xb6\xc3\x9fe \xc3\xbc \xff end", "größe ü \ufffd end", "1 invalid character replaced", Text},
		"half a surrogate pair":          {"Ada \xed\xa0\x80 Byron \xed\xbf\xbf wrote", "Ada \ufffd Byron \ufffd wrote", "2 invalid characters replaced", Text},
		"a surrogate pair as two":        {"a \xed\xa0\xbd\xed\xb8\x80 \xed\xb8\x80\xed\xa0\xbd", "a \U0001f600 \ufffd\ufffd", "2 invalid characters replaced", Text},
		"a stray NUL":                    {strings.Repeat("words and ", 200) + "\x00end", strings.Repeat("words and ", 200) + "end", "1 control character dropped", Text},
	} {
		t.Run(name, func(t *testing.T) {
			got, notes, err := Decode(File{Path: "f", Format: test.format}, []byte(test.data), Limits{})
			must(t, err)
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if note := strings.TrimPrefix(strings.Join(notes, "; "), "decoded as "); note != test.note {
				t.Errorf("note %q, want %q", note, test.note)
			}
		})
	}
}

func TestDecodeRefusesBinary(t *testing.T) {
	random := make([]byte, 4096)
	rand.New(rand.NewSource(1)).Read(random)
	for name, test := range map[string]struct{ data, reason string }{
		"a PDF":               {"%PDF-1.7\nall of it letters", "a PDF file"},
		"RTF":                 {`{\rtf1 text}`, "an RTF file"},
		"a program":           {"\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 60), "a program"},
		"an office document":  {"PK\x03\x04\x14\x00\x06\x00\x08\x00", "a ZIP archive"},
		"an image":            {"\xff\xd8\xff\xe0 whatever", "a JPEG image"},
		"noise":               {string(random), "it is binary"},
		"control characters":  {strings.Repeat("ab\x01\x02", 50), "control characters"},
		"after a mark":        {"\xef\xbb\xbf\x00\x00\x00\x00", "NUL"},
		"UTF-16 that is none": {"\xff\xfe" + strings.Repeat("\x01\x00\x02\x00", 50), "control characters"},
	} {
		_, _, err := Decode(File{Path: "notes.txt"}, []byte(test.data), Limits{})
		if !errors.Is(err, ErrBinary) || !strings.Contains(err.Error(), test.reason) || !strings.Contains(err.Error(), "notes.txt") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDecodeBoundsTheText(t *testing.T) {
	data := "\xff\xfe" + strings.Repeat("\x2d\x4e", 100) // three bytes each in UTF-8
	if _, _, err := Decode(File{}, []byte(data), Limits{MaxTextBytes: 300}); err != nil {
		t.Error(err)
	}
	_, _, err := Decode(File{Path: "a.txt"}, []byte(data), Limits{MaxTextBytes: 299})
	if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "corpus.max_text_bytes") {
		t.Errorf("got %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"", "a\r\n\x1b[1mb\b", "\xff\xfea\x00", "\xfe\xff\xd8\x00", "caf\xe9", "\x1b$B", "-*- coding: gbk -*-\n\x81"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, format := range []Format{Text, HTML} {
			text, _, err := Decode(File{Format: format}, data, Limits{})
			if err != nil {
				continue
			}
			if !utf8.ValidString(text) || strings.IndexFunc(text, func(r rune) bool { return r != '\f' && isControl(r) }) >= 0 {
				t.Errorf("%q is not clean", text)
			}
			again, _, err := Decode(File{Format: format}, []byte(text), Limits{})
			if err == nil && again != text && !strings.HasPrefix(text, "\ufeff") {
				t.Errorf("%q decodes again to %q", text, again)
			}
		}
	})
}
