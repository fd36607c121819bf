package toolserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// marshal writes JSON in which no character moves a cursor, hides or reorders
// text: such characters stand as \u escapes, which is the same JSON. < > & stay
// readable.
func marshal(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return escapeJSON(bytes.TrimRight(buffer.Bytes(), "\n")), nil
}

func escapeJSON(data []byte) []byte {
	if !bytes.ContainsFunc(data, unseen) {
		return data
	}
	out := make([]byte, 0, len(data)+64)
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		switch {
		case !unseen(r):
			out = append(out, data[:size]...)
		case r > 0xFFFF:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xD800+r>>10, 0xDC00+r&0x3FF)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		data = data[size:]
	}
	return out
}

// unseen are control and format characters (bidirectional ones among them) and
// the separators that some readers take for line ends. JSON has escaped those
// below the space already.
func unseen(r rune) bool {
	if ' ' <= r && r <= '~' {
		return false
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}
