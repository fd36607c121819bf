// Package docs holds the documentation; its tests hold that to the code.
package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"graphmill/configs"
	"graphmill/extractors"
	"graphmill/pipeline"
	"graphmill/pipeline/corpus"
	"graphmill/pipeline/engine"
	"graphmill/pipeline/falkor/shape"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/ontology"
	"graphmill/pipeline/ontology/suggest"
	"graphmill/pipeline/queue"
	"graphmill/queryd/tools"
	"graphmill/toolserver"
)

// sections of json.md and the type that each lists. A type with a section of
// its own is not listed again where another holds it.
var sections = map[string]reflect.Type{
	"Report":                      reflect.TypeFor[pipeline.Report](),
	"Document":                    reflect.TypeFor[pipeline.DocumentReport](),
	"Pruned":                      reflect.TypeFor[graph.Pruned](),
	"Finalize":                    reflect.TypeFor[pipeline.FinalizeReport](),
	"Bill":                        reflect.TypeFor[pipeline.Bill](),
	"Counts":                      reflect.TypeFor[shape.Counts](),
	"Plan":                        reflect.TypeFor[pipeline.PlanReport](),
	"Preview":                     reflect.TypeFor[corpus.PreviewPage](),
	"Types":                       reflect.TypeFor[graph.Ontology](),
	"Suggestion":                  reflect.TypeFor[suggest.Suggestion](),
	"Run details":                 reflect.TypeFor[store.RunDetails](),
	"Merge":                       reflect.TypeFor[store.Merge](),
	"Check":                       reflect.TypeFor[store.CheckResult](),
	"Setting":                     reflect.TypeFor[configs.Setting](),
	"Queue":                       reflect.TypeFor[queue.Status](),
	"Engine":                      reflect.TypeFor[engine.Report](),
	"Events":                      reflect.TypeFor[pipeline.Event](),
	"queryd call status":          reflect.TypeFor[tools.Status](),
	"queryd call get_ontology":    reflect.TypeFor[tools.Ontology](),
	"queryd call retrieve":        reflect.TypeFor[tools.Found](),
	"queryd call check_citations": reflect.TypeFor[tools.Citations](),
	"queryd call evidence":        reflect.TypeFor[tools.Resolved](),
	"Failed call":                 reflect.TypeFor[toolserver.Failed](),
	"Relation":                    reflect.TypeFor[tools.Relation](),
	"Span":                        reflect.TypeFor[graph.Span](),
	"Extent":                      reflect.TypeFor[tools.Extent](),
}

// ownKeys are in a section besides those of its type.
var ownKeys = map[string][]string{
	"Engine": {"stopped"}, "Events": {"text"},
	"Suggestion": {"files", "taken", "method", "model", "lost", "file", "cost", "interrupted", "error"},
}

func TestEveryKeyOfAResultIsDocumentedAndNoOther(t *testing.T) {
	documented := readTables(t, "json.md")
	for section, kind := range sections {
		want := slices.Concat(keysOf(kind, "", kind), ownKeys[section])
		for _, key := range want {
			if !slices.Contains(documented[section], key) {
				t.Errorf("json.md, section %s: key `%s` of %s is missing", section, key, kind)
			}
		}
		for _, key := range documented[section] {
			if !slices.Contains(want, key) {
				t.Errorf("json.md, section %s: %s has no key `%s`", section, kind, key)
			}
		}
	}
}

// What the programs print and no package exports: a key must stand in any table.
func TestEveryKeyThatAProgramPrintsIsDocumented(t *testing.T) {
	var documented []string
	for _, keys := range readTables(t, "json.md") {
		documented = append(documented, keys...)
	}
	for _, folder := range []string{"../ingestd", "../ingestd/tools", "../queryd", "../commandline", "../commandline/serving"} {
		for _, key := range tagsIn(t, folder) {
			if !slices.Contains(documented, key) {
				t.Errorf("json.md: key `%s` of %s is missing", key, strings.TrimPrefix(folder, "../"))
			}
		}
	}
}

// keysOf lists the paths of a type's JSON keys: "documents[].path".
func keysOf(kind reflect.Type, prefix string, owner reflect.Type) []string {
	switch kind.Kind() {
	case reflect.Pointer:
		return keysOf(kind.Elem(), prefix, owner)
	case reflect.Slice:
		return keysOf(kind.Elem(), prefix+"[]", owner)
	case reflect.Map:
		return keysOf(kind.Elem(), prefix+".*", owner)
	case reflect.Struct:
	default:
		return []string{prefix}
	}
	if kind != owner && hasSection(kind) || kind.PkgPath() == "time" {
		return []string{prefix}
	}
	var keys []string
	for i := range kind.NumField() {
		field := kind.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "":
			keys = append(keys, keysOf(field.Type, prefix, owner)...)
		case !field.IsExported() || name == "-":
		default:
			keys = append(keys, keysOf(field.Type, strings.TrimPrefix(prefix+"."+name, "."), owner)...)
		}
	}
	return keys
}

func hasSection(kind reflect.Type) bool {
	if kind == reflect.TypeFor[ontology.Addition]() { // the keys of Types
		return true
	}
	for _, have := range sections {
		if have == kind {
			return true
		}
	}
	return false
}

var keyRow = regexp.MustCompile("^\\| `([^`]+)` \\|")

// readTables gives the first column of each section's table.
func readTables(t *testing.T, file string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string][]string{}
	section := ""
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = strings.TrimSpace(title)
		}
		if key := keyRow.FindStringSubmatch(line); key != nil {
			tables[section] = append(tables[section], key[1])
		}
	}
	return tables
}

// tagsIn lists the names in json tags of a folder's code.
func tagsIn(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("read %s: %v, %d files", folder, err, len(files))
	}
	var names []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if field, ok := node.(*ast.Field); ok && field.Tag != nil {
				tag, _ := strconv.Unquote(field.Tag.Value)
				key, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
				if key != "" && key != "-" {
					names = append(names, key)
				}
			}
			return true
		})
	}
	return names
}

// Examples are fenced as yaml and begin with the name of the file they stand
// for. They must be what the programs accept.
func TestExampleFilesAreAccepted(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, page := range append(pages, "../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range yamlBlock.FindAllSubmatch(text, -1) {
			count++
			if err := accept(t, string(block[1]), block[2]); err != nil {
				t.Errorf("%s: example %d: %v", page, count, err)
			}
		}
	}
	if count == 0 {
		t.Error("there is no example")
	}
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(# [a-z.]+\n)(.*?)```")

func accept(t *testing.T, name string, text []byte) error {
	if strings.Contains(name, "ontology") {
		_, err := ontology.Parse(strings.TrimSpace(name), text)
		return err
	}
	path := filepath.Join(t.TempDir(), "graphmill.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return err
	}
	config, err := configs.Load(configs.Source{File: path, Set: map[string]any{"data_dir": t.TempDir()}})
	if err != nil {
		return err
	}
	rules, err := extractors.ParsePatternConfig(config.Extractors.PatternYAML)
	if err == nil {
		_, err = extractors.NewPattern(rules)
	}
	return err
}
