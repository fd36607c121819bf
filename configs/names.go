package configs

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// What the names allow, in words.
const (
	ruleGraph  = "letters, digits, _ . : - (128 bytes at most), starting with a letter or digit and not ending with __ontology"
	ruleTenant = "letters, digits, _ . - (64 bytes at most), starting and ending with a letter or digit, without __, and not ontology"
	ruleSource = "letters, digits, _ . - (64 bytes at most), starting with a letter or digit"
	ruleHost   = "a host name, an address, host:port or a URL redis://, rediss://, falkor://, falkors://"
	ruleGlobs  = "globs under the root, such as reports/**/*.pdf"
)

var (
	errOutOfRange = errors.New("is out of range")
	errNotAllowed = errors.New("is not known")

	// Graph names stand in access rules of the database, where glob characters
	// and spaces would widen or break them.
	graphPattern  = regexp.MustCompile(`^[\pL\pN][\pL\pN\pM_.:-]*$`)
	tenantPattern = regexp.MustCompile(`^[\pL\pN]([\pL\pN\pM_.-]*[\pL\pN\pM])?$`)
	sourcePattern = regexp.MustCompile(`^[\pL\pN][\pL\pN\pM_.-]*$`)
	toolPattern   = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
)

func checkGraph(v string) error {
	switch {
	case len(v) > 128:
		return fmt.Errorf("is longer than 128 bytes")
	case strings.HasSuffix(strings.ToLower(v), "__ontology"):
		return fmt.Errorf("is the name of another graph's ontology")
	case !graphPattern.MatchString(v):
		return fmt.Errorf("is no graph name")
	}
	return nil
}

func checkTenant(v string) error {
	switch {
	case len(v) > 64:
		return fmt.Errorf("is longer than 64 bytes")
	case strings.EqualFold(v, "ontology"):
		return fmt.Errorf("would be the graph that holds the ontology")
	case strings.Contains(v, "__"):
		return fmt.Errorf("contains __, which separates graph and tenant")
	case !tenantPattern.MatchString(v):
		return fmt.Errorf("is no tenant name")
	}
	return nil
}

func checkSource(v string) error {
	if len(v) > 64 || !sourcePattern.MatchString(v) {
		return fmt.Errorf("is no source name")
	}
	return nil
}

func checkGlob(v string) error {
	switch {
	case strings.HasPrefix(v, "/"):
		return fmt.Errorf("is absolute: globs are relative to the root")
	case !doublestar.ValidatePattern(v):
		return fmt.Errorf("is no valid glob")
	}
	for _, part := range strings.Split(v, "/") {
		if part == ".." {
			return fmt.Errorf("leaves the root by ..")
		}
	}
	return nil
}

func checkFileName(v string) error {
	if path.Base(v) != v || v == "." || v == ".." || strings.Contains(v, `\`) {
		return fmt.Errorf("is no plain file name")
	}
	return nil
}

func checkToolName(v string) error {
	if !toolPattern.MatchString(v) {
		return fmt.Errorf("is no tool name")
	}
	return nil
}
