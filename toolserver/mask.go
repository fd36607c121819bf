package toolserver

import (
	"regexp"
	"strings"
)

const masked = "****"

// shortestSecret keeps a password like "a" from blotting out every text.
const shortestSecret = 4

var credentials = []struct {
	pattern *regexp.Regexp
	keep    string
}{
	{regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}`), "$1 " + masked},
	{regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{8,}`), masked},
	{regexp.MustCompile(`(://[^/\s:@]*:)[^/\s@]+@`), "${1}" + masked + "@"},
	{regexp.MustCompile(`(?i)\b((?:api[_-]?key|password|passwd|secret|token)["']?\s*[=:]\s*["']?)[^\s"',;]{4,}`), "${1}" + masked},
}

// Mask takes the given secrets, and what looks like a credential, out of a text
// that is shown.
func Mask(text string, secrets []string) string {
	for _, secret := range secrets {
		if len(secret) >= shortestSecret {
			text = strings.ReplaceAll(text, secret, masked)
		}
	}
	for _, c := range credentials {
		text = c.pattern.ReplaceAllString(text, c.keep)
	}
	return text
}
