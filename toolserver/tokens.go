package toolserver

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Tokens are the bearer tokens that a network server takes, each with the name
// that the audit knows its holder by. Those of a file are read again when it
// changes. Safe for concurrent use.
type Tokens struct {
	given []token
	path  string
	log   *slog.Logger

	mu     sync.Mutex
	file   []token
	stamp  fileStamp
	looked time.Time
}

type token struct {
	name string
	text string
	sum  [sha256.Size]byte
}

// shortestToken keeps tokens from being guessed.
const shortestToken = 16

// maxTokenFile is some thousand tokens.
const maxTokenFile = 256 << 10

var (
	tokenText = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`) // RFC 6750
	tokenName = regexp.MustCompile(`^[\pL\pN][\pL\pN_.@-]{0,63}$`)
)

// NewTokens reads tokens from a text and a file; either may be "". In both they
// stand as NAME:TOKEN or as TOKEN alone, separated by spaces, commas or lines;
// in a file # begins a comment.
func NewTokens(text, path string, log *slog.Logger) (*Tokens, error) {
	given, err := parseTokens(text, "token")
	if err != nil {
		return nil, err
	}
	t := &Tokens{given: given, path: path, log: log}
	if path == "" {
		return t, nil
	}
	if t.file, t.stamp, err = readTokens(path); err != nil {
		return nil, err
	}
	return t, t.distinct(t.file)
}

func readTokens(path string) ([]token, fileStamp, error) {
	stamp, err := stampOf(path)
	if err != nil {
		return nil, stamp, fmt.Errorf("read tokens: %w", err)
	}
	if stamp.size > maxTokenFile {
		return nil, stamp, fmt.Errorf("read tokens: %s is larger than %d bytes", path, maxTokenFile)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, stamp, fmt.Errorf("read tokens: %w", err)
	}
	var lines []string
	for line := range strings.Lines(string(content)) {
		line, _, _ = strings.Cut(line, "#")
		lines = append(lines, line)
	}
	tokens, err := parseTokens(strings.Join(lines, "\n"), "file-token")
	if err == nil && len(tokens) == 0 {
		err = errors.New("it holds none")
	}
	if err != nil {
		return nil, stamp, fmt.Errorf("read tokens from %s: %w", path, err)
	}
	return tokens, stamp, nil
}

// parseTokens never repeats what it reads: an error would show it.
func parseTokens(text, unnamed string) ([]token, error) {
	var tokens []token
	for i, entry := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r <= ' ' }) {
		name, secret, named := strings.Cut(entry, ":")
		if !named {
			name, secret = fmt.Sprintf("%s-%d", unnamed, i+1), entry
		}
		switch {
		case !tokenName.MatchString(name):
			return nil, fmt.Errorf("token %d has no good name; write NAME:TOKEN, NAME of letters, digits, _ . @ -", i+1)
		case len(secret) < shortestToken:
			return nil, fmt.Errorf("token %d is shorter than %d characters; `openssl rand -hex 24` makes a good one", i+1, shortestToken)
		case !tokenText.MatchString(secret):
			return nil, fmt.Errorf("token %d has characters that no bearer token may have; letters, digits and - . _ ~ + / are allowed", i+1)
		}
		tokens = append(tokens, token{name, secret, sha256.Sum256([]byte(secret))})
	}
	return tokens, nil
}

func (t *Tokens) distinct(file []token) error {
	seen := map[string]bool{}
	for _, known := range append(append([]token{}, t.given...), file...) {
		if seen[known.name] {
			return fmt.Errorf("two tokens are named %q; give each holder a name of their own", known.name)
		}
		seen[known.name] = true
	}
	return nil
}

// all are the tokens now. A file that became unreadable or wrong is reported and
// changes nothing.
func (t *Tokens) all() []token {
	const often = time.Second
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.path != "" && time.Since(t.looked) >= often {
		t.looked = time.Now()
		t.refresh()
	}
	return append(append(make([]token, 0, len(t.given)+len(t.file)), t.given...), t.file...)
}

func (t *Tokens) refresh() {
	stamp, err := stampOf(t.path)
	if err == nil && stamp == t.stamp {
		return
	}
	file, stamp, err := readTokens(t.path)
	if err == nil {
		err = t.distinct(file)
	}
	if err != nil {
		t.log.Error("the token file cannot be read; the tokens stay as they were", "error", err)
		return
	}
	t.file, t.stamp = file, stamp
	t.log.Info("the token file was read again", "tokens", len(file))
}

// Any reports whether there is a token at all.
func (t *Tokens) Any() bool { return len(t.all()) > 0 }

// Secrets are the tokens' texts, to be masked.
func (t *Tokens) Secrets() []string {
	var texts []string
	for _, known := range t.all() {
		texts = append(texts, known.text)
	}
	return texts
}

// holder names who a token belongs to. It takes the same time for every token of
// a length, right or wrong: digests are compared, and all of them.
func (t *Tokens) holder(secret string) (name string, ok bool) {
	sum := sha256.Sum256([]byte(secret))
	for _, known := range t.all() {
		if subtle.ConstantTimeCompare(sum[:], known.sum[:]) == 1 {
			name, ok = known.name, true
		}
	}
	return name, ok
}

// has reports whether somebody of that name still holds a token.
func (t *Tokens) has(name string) bool {
	for _, known := range t.all() {
		if known.name == name {
			return true
		}
	}
	return false
}

// fileStamp tells one content of a file from another.
type fileStamp struct {
	changed time.Time
	size    int64
}

func stampOf(path string) (fileStamp, error) {
	info, err := os.Stat(path)
	if err != nil {
		return fileStamp{}, err
	}
	if !info.Mode().IsRegular() {
		return fileStamp{}, fmt.Errorf("%s is no file", path)
	}
	return fileStamp{info.ModTime(), info.Size()}, nil
}
