package corpus

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// IgnoreFile is the name of the files, in the root and in any folder below it,
// whose patterns keep files from being listed. Their syntax is gitignore's.
const IgnoreFile = ".graphmillignore"

// maxIgnoreBytes and maxIgnorePatterns bound one ignore file: every entry below
// its folder is matched against all of its patterns.
const (
	maxIgnoreBytes    = 1 << 20
	maxIgnorePatterns = 10_000
)

// ignoreRules are the patterns in force for a folder, outer ones first: the
// last that matches decides.
type ignoreRules []ignorePattern

type ignorePattern struct {
	folder string // where its ignore file stands; "" is the root
	glob   string // relative to folder
	negate bool
	dirs   bool // matches folders only
}

// ignored reports whether the last pattern that matches the path excludes it.
func (rules ignoreRules) ignored(name string, folder bool) bool {
	for _, rule := range slices.Backward(rules) {
		if rule.dirs && !folder {
			continue
		}
		relative := name
		if rule.folder != "" {
			relative = strings.TrimPrefix(name, rule.folder+"/")
		}
		if matched, err := doublestar.Match(rule.glob, relative); err == nil && matched {
			return !rule.negate
		}
	}
	return false
}

// ignoredPath applies the rules of every folder on the way to a file: a file
// below an ignored folder is ignored whatever else says.
func (r *Root) ignoredPath(name string) (bool, error) {
	var rules ignoreRules
	folder := ""
	for _, part := range strings.Split(name, "/") {
		names, _, err := r.readFolder(orDot(folder), r.options.MaxEntries)
		if err != nil {
			return false, nil // the file cannot be read either, and reading says why
		}
		if rules, err = r.addIgnoreFile(rules, folder, names); err != nil {
			return false, err
		}
		at := path.Join(folder, part)
		if rules.ignored(at, at != name) {
			return true, nil
		}
		folder = at
	}
	return false, nil
}

// addIgnoreFile returns rules with those of the folder's ignore file added.
func (r *Root) addIgnoreFile(rules ignoreRules, folder string, names []string) (ignoreRules, error) {
	if !slices.Contains(names, IgnoreFile) {
		return rules, nil
	}
	name := path.Join(folder, IgnoreFile)
	handle, err := openBelow(r.root, name, false)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w; make it readable or remove it", name, plain(err))
	}
	defer handle.Close()
	if info, err := handle.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: it is not a regular file; replace it with one", name)
	}
	data, err := io.ReadAll(io.LimitReader(handle, maxIgnoreBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, plain(err))
	}
	if len(data) > maxIgnoreBytes {
		return nil, fmt.Errorf("read %s: it is larger than %d bytes; shorten it", name, maxIgnoreBytes)
	}
	added, err := parseIgnore(folder, data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	// A copy, since a sibling folder appends to the same outer rules.
	return append(slices.Clip(rules), added...), nil
}

func parseIgnore(folder string, data []byte) (ignoreRules, error) {
	var rules ignoreRules
	lines := bufio.NewScanner(bytes.NewReader(bytes.TrimPrefix(data, []byte("\uFEFF"))))
	lines.Buffer(nil, maxIgnoreBytes+1)
	for number := 1; lines.Scan(); number++ {
		rule, ok := parseIgnoreLine(lines.Text())
		if !ok {
			continue
		}
		if !doublestar.ValidatePattern(rule.glob) {
			return nil, fmt.Errorf("line %d: pattern %q is not valid; check its brackets", number, lines.Text())
		}
		rule.folder = folder
		if rules = append(rules, rule); len(rules) > maxIgnorePatterns {
			return nil, fmt.Errorf("it has more than %d patterns; shorten it", maxIgnorePatterns)
		}
	}
	return rules, lines.Err()
}

// parseIgnoreLine reads one line as gitignore(5) does. doublestar differs in
// braces, which are literal there, and in "x/**", which also matches x.
func parseIgnoreLine(line string) (ignorePattern, bool) {
	line = trimIgnoreLine(line)
	if line == "" || line[0] == '#' {
		return ignorePattern{}, false
	}
	var rule ignorePattern
	if line[0] == '!' {
		rule.negate, line = true, line[1:]
	}
	if rest, ok := strings.CutSuffix(line, "/"); ok {
		rule.dirs, line = true, rest
	}
	anchored := strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return ignorePattern{}, false
	}
	line = strings.NewReplacer(`\\`, `\\`, `\{`, `\{`, `\}`, `\}`, "{", `\{`, "}", `\}`).Replace(line)
	if strings.HasSuffix(line, "/**") {
		line += "/*"
	}
	if !anchored {
		line = "**/" + line
	}
	rule.glob = line
	return rule, true
}

// trimIgnoreLine drops trailing spaces, except one that is quoted.
func trimIgnoreLine(line string) string {
	line = strings.TrimSuffix(line, "\r")
	for strings.HasSuffix(line, " ") || strings.HasSuffix(line, "\t") {
		if strings.HasSuffix(line, `\ `) {
			return line
		}
		line = line[:len(line)-1]
	}
	return line
}
