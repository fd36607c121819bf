package configs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// maxFileBytes bounds a configuration file: far beyond any that a person
// writes, small enough for a mistyped --config to be told at once.
const maxFileBytes = 4 * mib

// fileReader turns YAML into values, remembering where each stood.
type fileReader struct {
	table    *table
	where    func(line int) string
	given    []given
	problems []Problem
}

// readFile reads a configuration file. Problems in it are returned together.
func readFile(t *table, name string) ([]given, []Problem) {
	content, err := readBounded(name, maxFileBytes)
	if err != nil {
		return nil, []Problem{{Where: name, Message: err.Error()}}
	}
	r := &fileReader{table: t, where: func(line int) string { return fmt.Sprintf("%s:%d", name, line) }}
	root, problem := parseYAML(content, name)
	if problem != nil {
		return nil, []Problem{*problem}
	}
	if root == nil {
		return nil, nil
	}
	r.duplicates(root, "")
	r.mapping(root, "")
	return r.given, r.problems
}

// readBounded reads a regular file of at most limit bytes.
func readBounded(name string, limit int64) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, reasonOf(err)
	}
	if !info.Mode().IsRegular() && info.Mode()&os.ModeNamedPipe == 0 {
		return nil, errors.New("is no file")
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, reasonOf(err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, reasonOf(err)
	}
	if int64(len(content)) > limit {
		return nil, fmt.Errorf("is larger than %s", formatSize(limit))
	}
	return content, nil
}

// reasonOf is the system's reason without the path, which the caller names.
func reasonOf(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// parseYAML returns the content's only document; nil for an empty one.
func parseYAML(content []byte, name string) (*yaml.Node, *Problem) {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var document, second yaml.Node
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err == nil {
		if err = decoder.Decode(&second); errors.Is(err, io.EOF) {
			return document.Content[0], nil
		}
		if err == nil {
			err = fmt.Errorf("yaml: line %d: a second document (---) begins; one is allowed", second.Line)
		}
	}
	where, message := name, err.Error()
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		message = message[len(m[0]):]
		if m[1] != "" {
			where += ":" + m[1]
		}
	}
	return nil, &Problem{Where: where, Message: "is no valid YAML: " + message}
}

// duplicates reports keys that stand twice in one mapping, anywhere below path.
func (r *fileReader) duplicates(node *yaml.Node, path string) {
	if node.Kind != yaml.MappingNode {
		for _, child := range node.Content {
			r.duplicates(child, path)
		}
		return
	}
	first := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		full := strings.TrimPrefix(path+"."+key.Value, ".")
		if line, seen := first[key.Value]; seen {
			r.problem(key, full, fmt.Sprintf("stands twice, first in line %d", line))
		} else {
			first[key.Value] = key.Line
		}
		r.duplicates(node.Content[i+1], full)
	}
}

func (r *fileReader) problem(node *yaml.Node, key, message string) {
	r.problems = append(r.problems, Problem{Where: r.where(node.Line), Key: key, Message: message})
}

// mapping reads the keys below prefix, which ends in a dot or is empty.
func (r *fileReader) mapping(node *yaml.Node, prefix string) {
	node = deref(node)
	section := strings.TrimSuffix(prefix, ".")
	if node.Kind == yaml.ScalarNode && node.Tag == "!!null" {
		return
	}
	if node.Kind != yaml.MappingNode {
		r.problem(node, section, fmt.Sprintf("is %s: write keys below it", kindOf(node)))
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, value := node.Content[i], node.Content[i+1]
		full := prefix + name.Value
		key := r.table.key(full)
		switch {
		case strings.Contains(name.Value, "."):
			r.problem(name, full, "is no setting: write nested keys, one level a line")
		case key != nil:
			r.leaf(key, name, value)
		case r.table.isSection(full):
			r.mapping(value, full+".")
		default:
			r.problem(name, full, "is no setting"+didYouMean(full, r.table.names()))
		}
	}
}

// leaf reads one value; null counts as not given.
func (r *fileReader) leaf(key *Key, name, node *yaml.Node) {
	node = deref(node)
	if node.Kind == yaml.ScalarNode && node.Tag == "!!null" {
		return
	}
	var value any
	var err error
	switch key.Kind {
	case KindRules:
		var problems []Problem
		value, problems = readRules(node, r.where)
		r.problems = append(r.problems, problems...)
	case KindYAML:
		value, err = rawYAML(node)
	default:
		value, err = key.parseNode(node)
	}
	if err == nil {
		err = key.validate(value)
	}
	if err != nil {
		r.problems = append(r.problems, key.problem(r.where(node.Line), node.Value, err))
		return
	}
	r.given = append(r.given, given{key: key, value: value, origin: origin{layer: layerFile, where: r.where(name.Line)}})
}

// deref follows an alias to what it stands for.
func deref(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// kindOf names what a node is, for errors.
func kindOf(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch node.Tag {
	case "!!int":
		return "an integer"
	case "!!float":
		return "a number"
	case "!!bool":
		return "a boolean"
	case "!!null":
		return "empty"
	case "!!timestamp":
		return "a date"
	}
	return "a text"
}

// parseNode reads a value as the file writes it: the YAML type must be the
// setting's own. The error says what is wrong, not what is allowed.
func (k *Key) parseNode(node *yaml.Node) (any, error) {
	wrong := fmt.Errorf("is %s", kindOf(node))
	if k.Kind == KindList && node.Kind == yaml.SequenceNode {
		return textList(node)
	}
	if node.Kind != yaml.ScalarNode {
		return nil, wrong
	}
	switch k.Kind {
	case KindInt, KindNumber, KindBool:
		return k.parsePlain(node)
	case KindSize:
		if node.Tag != "!!int" && node.Tag != "!!str" {
			return nil, wrong
		}
		return parseSize(node.Value)
	case KindDuration:
		if node.Tag == "!!int" && node.Value == "0" {
			return time.Duration(0), nil
		}
		return parseDuration(node.Value)
	}
	if node.Tag != "!!str" {
		return nil, fmt.Errorf("%w: put it in quotes", wrong)
	}
	if k.Kind == KindList {
		return []string{node.Value}, nil
	}
	return k.parseText(node.Value)
}

// parsePlain reads an integer, a number or a boolean.
func (k *Key) parsePlain(node *yaml.Node) (any, error) {
	var n int
	var f float64
	var b bool
	switch {
	case k.Kind == KindInt && node.Tag == "!!int":
		if node.Decode(&n) != nil {
			return nil, errOutOfRange
		}
		return n, nil
	case k.Kind == KindNumber && (node.Tag == "!!int" || node.Tag == "!!float") && node.Decode(&f) == nil:
		return f, nil
	case k.Kind == KindBool && node.Tag == "!!bool" && node.Decode(&b) == nil:
		return b, nil
	}
	return nil, fmt.Errorf("is %s", kindOf(node))
}

func textList(node *yaml.Node) ([]string, error) {
	items := []string{}
	for _, child := range node.Content {
		child = deref(child)
		if child.Kind != yaml.ScalarNode || child.Tag != "!!str" {
			return nil, fmt.Errorf("has an element that is %s, not a text", kindOf(child))
		}
		items = append(items, child.Value)
	}
	return items, nil
}

// rawYAML writes a subtree out again for a package that decodes it itself.
func rawYAML(node *yaml.Node) ([]byte, error) {
	if node.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("is %s", kindOf(node))
	}
	if !hasAlias(node) {
		return yaml.Marshal(node)
	}
	var plain any // resolved, with the library's guard against endless expansion
	if err := node.Decode(&plain); err != nil {
		return nil, fmt.Errorf("is no valid YAML: %w", err)
	}
	return yaml.Marshal(plain)
}

func hasAlias(node *yaml.Node) bool {
	if node.Kind == yaml.AliasNode || node.Anchor != "" {
		return true
	}
	for _, child := range node.Content {
		if hasAlias(child) {
			return true
		}
	}
	return false
}

func parseQuotedList(text string) ([]string, error) {
	var items []string
	if err := yaml.Unmarshal([]byte(text), &items); err != nil {
		return nil, errors.New("is no list")
	}
	return items, nil
}
