package markdown

import (
	"fmt"
	"sort"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"

	"graphmill/pipeline/corpus"
)

// frontMatter is what stands before the text proper.
type frontMatter struct {
	title, date string
	metadata    map[string]string
}

const (
	maxFrontMatter = 64 << 10
	maxKeys        = 100
	maxValue       = 2000
)

// splitFrontMatter reads YAML between lines of "---" or TOML between lines of
// "+++" at the very beginning. What cannot be read stays in the body, as a code
// block so that Markdown does not make a heading of it.
func splitFrontMatter(text string) (matter frontMatter, body, note string) {
	for _, fence := range []string{"---", "+++"} {
		source, rest, ok := fenced(text, fence)
		if !ok {
			continue
		}
		values, kind, err := readMatter(fence, source)
		if err != nil {
			return frontMatter{}, "```\n" + strings.ReplaceAll(source, "```", "'''") + "\n```\n" + rest, fmt.Sprintf("the front matter is not valid %s and stays in the text", kind)
		}
		return matterOf(values), rest, ""
	}
	return frontMatter{}, text, ""
}

func fenced(text, fence string) (source, rest string, ok bool) {
	first, after, ok := strings.Cut(text, "\n")
	if !ok || strings.TrimRight(first, " \t") != fence {
		return "", "", false
	}
	for at := 0; at < min(len(after), maxFrontMatter); {
		line, _, more := strings.Cut(after[at:], "\n")
		trimmed := strings.TrimRight(line, " \t")
		end := min(len(after), at+len(line)+1)
		if trimmed == fence || fence == "---" && trimmed == "..." {
			return after[:at], after[end:], true
		}
		// A thematic break, and no front matter, has text below it.
		if at == 0 && trimmed == "" || !more {
			return "", "", false
		}
		at = end
	}
	return "", "", false
}

// readMatter reads values as strings, as they are written: dates and version
// numbers are not taken for numbers.
func readMatter(fence, source string) (map[string]string, string, error) {
	values := make(map[string]string)
	if fence == "+++" {
		var tree map[string]any
		if err := toml.Unmarshal([]byte(source), &tree); err != nil {
			return nil, "TOML", err
		}
		flattenTOML(values, "", tree)
		return values, "TOML", nil
	}
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(source), &root); err != nil {
		return nil, "YAML", err
	}
	if len(root.Content) == 0 {
		return values, "YAML", nil
	}
	if root.Content[0].Kind != yaml.MappingNode {
		return nil, "YAML", fmt.Errorf("it is no mapping")
	}
	flattenYAML(values, "", root.Content[0])
	return values, "YAML", nil
}

func flattenYAML(values map[string]string, prefix string, mapping *yaml.Node) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := prefix+mapping.Content[i].Value, mapping.Content[i+1]
		switch value.Kind {
		case yaml.ScalarNode:
			if value.Tag != "!!null" {
				put(values, key, value.Value)
			}
		case yaml.SequenceNode:
			var items []string
			for _, item := range value.Content {
				if item.Kind == yaml.ScalarNode {
					items = append(items, item.Value)
				}
			}
			put(values, key, strings.Join(items, ", "))
		case yaml.MappingNode:
			if prefix == "" {
				flattenYAML(values, key+".", value)
			}
		}
	}
}

func flattenTOML(values map[string]string, prefix string, tree map[string]any) {
	keys := make([]string, 0, len(tree))
	for key := range tree {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		switch value := tree[key].(type) {
		case map[string]any:
			if prefix == "" {
				flattenTOML(values, key+".", value)
			}
		case []any:
			var items []string
			for _, item := range value {
				if _, nested := item.(map[string]any); !nested {
					items = append(items, fmt.Sprint(item))
				}
			}
			put(values, prefix+key, strings.Join(items, ", "))
		default:
			put(values, prefix+key, fmt.Sprint(value))
		}
	}
}

func put(values map[string]string, key, value string) {
	key = strings.ToLower(strings.TrimSpace(clean(key)))
	value = strings.TrimSpace(clean(value))
	if key == "" || value == "" || len(value) > maxValue || len(key) > 100 || len(values) >= maxKeys {
		return
	}
	values[key] = value
}

func clean(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "")
}

func matterOf(values map[string]string) frontMatter {
	matter := frontMatter{title: strings.Join(strings.Fields(values["title"]), " "), metadata: values}
	for _, key := range []string{"date", "published", "pubdate", "publishdate", "created", "date_published", "updated", "lastmod", "last_modified"} {
		if matter.date = corpus.NormalDate(values[key]); matter.date != "" {
			break
		}
	}
	delete(values, "title")
	if len(values) == 0 {
		matter.metadata = nil
	}
	return matter
}
