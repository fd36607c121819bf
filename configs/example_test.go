package configs

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "write graphmill.example.yaml and the tables of docs/configuration.md")

const (
	exampleFile = "graphmill.example.yaml"
	docsFile    = "../docs/configuration.md"
	tableBegin  = "<!-- settings: written by go test ./configs -update -->\n"
	tableEnd    = "<!-- end of settings -->\n"
)

func TestExampleShowsEveryKeyWithItsDefault(t *testing.T) {
	want := exampleYAML()
	if *update {
		if err := os.WriteFile(exampleFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(content) != want {
		t.Errorf("%s differs from the table of settings: go test ./configs -update", exampleFile)
	}
	cfg, defaults := load(t, Source{File: exampleFile, Env: home()}), load(t, Source{Env: home()})
	for _, key := range Keys() {
		if key.Kind != KindYAML && !strings.HasPrefix(cfg.Origin(key.Name), "file ") {
			t.Errorf("%s is not in the example", key.Name)
		}
		got, want := field(cfg, key.Name).Interface(), field(defaults, key.Name).Interface()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v in the example and %v by default", key.Name, got, want)
		}
	}
	if len(cfg.Warnings) > 0 {
		t.Errorf("warnings: %q", cfg.Warnings)
	}
}

func TestACopyOfTheExampleCanBeFilledIn(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := strings.NewReplacer(`  host: ""`, "  host: rediss://ada@db.example:7000", `  password_file: ""`, "  password_file: "+secret)
	copied := strings.Replace(exampleYAML(), `    username: ""`, "    username: reader", 1)
	cfg := load(t, Source{File: write(t, lines.Replace(copied)), Env: home()})
	if f := cfg.Falkor; f.Host != "db.example" || f.Port != 7000 || f.Username != "ada" || !f.TLS || f.Password.Reveal() != "s3cret" || len(cfg.Warnings) > 0 {
		t.Errorf("%#v, %q", f, cfg.Warnings)
	}
}

func TestCommentedPartsOfTheExampleAreValid(t *testing.T) {
	for _, c := range []struct{ name, section, text string }{
		{"rules", "plan", ruleExample},
		{"patterns", "extractors", patternExample},
	} {
		load(t, Source{File: write(t, c.section+":\n"+strings.ReplaceAll(c.text, "# ", "")), Env: home()})
	}
}

func TestDocumentationListsEverySetting(t *testing.T) {
	content, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), tableBegin)
	_, after, ended := strings.Cut(rest, tableEnd)
	if !found || !ended {
		t.Fatalf("%s has no %q … %q", docsFile, tableBegin, tableEnd)
	}
	want := before + tableBegin + docsTables() + tableEnd + after
	if *update {
		if err := os.WriteFile(docsFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(content) != want {
		t.Errorf("%s differs from the table of settings: go test ./configs -update", filepath.Base(docsFile))
	}
}

func TestFlagsExplainThemselves(t *testing.T) {
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	var names []string
	for _, key := range Keys() {
		if key.Flag != "" {
			names = append(names, key.Name)
		}
	}
	if err := BindFlags(flags, names...); err != nil {
		t.Fatal(err)
	}
	help := flags.FlagUsages()
	for _, want := range []string{"--config", "--jobs int", "(default: one a core)", "--output string", "text, json (default: text)", "--wait duration", "--quiet ", "--queue string"} {
		if !strings.Contains(help, want) {
			t.Errorf("help lacks %q:\n%s", want, help)
		}
	}
	if err := BindFlags(flags, "jbos", "falkor.password"); err == nil || !strings.Contains(err.Error(), "jbos") || !strings.Contains(err.Error(), "falkor.password") {
		t.Errorf("keys without flags: %v", err)
	}
}

const ruleExample = `  # rules:
  #   - {match: "reports/**/*.pdf", chunker: fixed, chunk_tokens: 512, extractor: gliner, resolver: exact, max_chunks: 2000}
  #   - {match: "**/*.md", chunker: structural, extractor: [pattern, gliner]}
`

const patternExample = `  # pattern: {}
`

// exampleYAML writes the table as an annotated configuration file.
func exampleYAML() string {
	var b strings.Builder
	b.WriteString("# graphmill.yaml: every setting with its default. Copy what you change.\n" +
		"# Weight, rising: this file, environment variables (named behind each setting), flags.\n" +
		"# Paths are relative to this file. Sizes: 50MiB; durations: 30s, 5m. An unknown key is an error.\n")
	var open []string
	for _, key := range Keys() {
		parts := strings.Split(key.Name, ".")
		sections, leaf := parts[:len(parts)-1], parts[len(parts)-1]
		shared := 0
		for shared < min(len(open), len(sections)) && open[shared] == sections[shared] {
			shared++
		}
		for depth := shared; depth < len(sections); depth++ {
			fmt.Fprintf(&b, "\n%s%s:\n", strings.Repeat("  ", depth), sections[depth])
		}
		if len(sections) == shared {
			b.WriteString("\n")
		}
		open = sections
		writeExample(&b, &key, leaf, strings.Repeat("  ", len(sections)))
	}
	return b.String()
}

func writeExample(b *strings.Builder, key *Key, leaf, indent string) {
	fmt.Fprintf(b, "%s# %s\n", indent, key.Description)
	fmt.Fprintf(b, "%s# Allowed: %s. ", indent, key.AllowedText())
	if key.DefaultNote != "" {
		fmt.Fprintf(b, "Default: %s. ", key.DefaultNote)
	}
	fmt.Fprintf(b, "Environment: %s.\n", strings.Join(key.EnvNames(), ", "))
	switch key.Kind {
	case KindRules:
		b.WriteString(ruleExample)
	case KindYAML:
		fmt.Fprintf(b, "%s# %s: {}\n", indent, leaf)
		return
	}
	fmt.Fprintf(b, "%s%s: %s\n", indent, leaf, exampleValue(key))
}

func exampleValue(key *Key) string {
	switch v := key.Default.(type) {
	case string, Secret:
		if text := fmt.Sprint(v); text != "" {
			return text
		}
		return `""`
	case []string:
		return "[" + strings.Join(v, ", ") + "]"
	case []Rule:
		return "[]"
	}
	return key.format(key.Default)
}

// docsTables writes the table in Markdown, one row a setting.
func docsTables() string {
	var b strings.Builder
	b.WriteString("\n| setting | default | allowed | environment, flag | what it does |\n| --- | --- | --- | --- | --- |\n")
	for _, key := range Keys() {
		value := key.DefaultNote
		if value == "" {
			value = "`" + key.format(key.Default) + "`"
		}
		names := "`" + strings.Join(key.EnvNames(), "`, `") + "`"
		if key.Flag != "" {
			names += ", `--" + key.Flag + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", key.Name, value, key.AllowedText(), names, key.Description)
	}
	b.WriteString("\n")
	return b.String()
}

func TestExampleIsPlainYAML(t *testing.T) {
	var tree map[string]any
	if err := yaml.Unmarshal([]byte(exampleYAML()), &tree); err != nil {
		t.Error(err)
	}
}
