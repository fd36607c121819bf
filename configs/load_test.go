package configs

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// home is an environment with nothing but what a shell always has.
func home(more ...string) []string { return append([]string{"HOME=/home/ada"}, more...) }

// write puts a configuration file into a fresh folder and returns its path.
func write(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "graphmill.yaml")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func load(t *testing.T, source Source) *Config {
	t.Helper()
	cfg, err := Load(source)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestEveryKeyHasAFieldOfItsTypeAndEveryFieldAKey(t *testing.T) {
	table := newTable()
	cfg := &Config{}
	for _, key := range table.keys {
		f := field(cfg, key.Name)
		if !f.IsValid() {
			t.Errorf("%s has no field", key.Name)
		} else if f.Type() != reflect.TypeOf(key.Default) {
			t.Errorf("%s is a %s, its default a %T", key.Name, f.Type(), key.Default)
		}
	}
	var walk func(typ reflect.Type, prefix string)
	walk = func(typ reflect.Type, prefix string) {
		for i := range typ.NumField() {
			tag := typ.Field(i).Tag.Get("key")
			switch name := prefix + tag; {
			case tag == "-":
			case typ.Field(i).Type.Kind() == reflect.Struct:
				walk(typ.Field(i).Type, name+".")
			case table.key(name) == nil:
				t.Errorf("field %s is no key", name)
			}
		}
	}
	walk(reflect.TypeOf(*cfg), "")
}

func TestTableIsSound(t *testing.T) {
	envs, flags := map[string]string{}, map[string]string{}
	for _, key := range Keys() {
		if err := key.validate(key.Default); err != nil {
			t.Errorf("default of %s %v", key.Name, err)
		}
		if key.Description == "" || key.AllowedText() == "" || strings.HasSuffix(key.AllowedText(), " of ") {
			t.Errorf("%s: description %q, allowed %q", key.Name, key.Description, key.AllowedText())
		}
		if reflect.ValueOf(key.Default).IsZero() && key.DefaultNote == "" && key.Kind != KindBool && key.Kind != KindDuration && key.Max != 0 {
			t.Errorf("%s: an empty default needs a note", key.Name)
		}
		for _, env := range key.EnvNames() {
			if other, taken := envs[env]; taken || env == envConfig {
				t.Errorf("%s names both %s and %s", env, other, key.Name)
			}
			envs[env] = key.Name
		}
		if other, taken := flags[key.Flag]; taken && key.Flag != "" || key.Flag == configFlag {
			t.Errorf("--%s names both %s and %s", key.Flag, other, key.Name)
		}
		flags[key.Flag] = key.Name
	}
}

func TestLaterLayersWin(t *testing.T) {
	file := write(t, "jobs: 2\nfalkor: {host: file.example, port: 1001}\n")
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	if err := BindFlags(flags, "jobs", "corpus.include", "quiet", "wait"); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name, key, origin string
		env, args         []string
		want              any
	}{
		{name: "default", key: "graph", want: "knowledge_graph", origin: "default"},
		{name: "file", key: "jobs", want: 2, origin: "file " + file + ":1"},
		{name: "file, nested", key: "falkor.port", want: 1001, origin: "file " + file + ":2"},
		{name: "environment over file", key: "falkor.port", env: []string{"FALKOR_PORT=1002"}, want: 1002, origin: "environment FALKOR_PORT"},
		{name: "own name over the peer's", key: "falkor.port", env: []string{"FALKOR_PORT=x", "GRAPHMILL_FALKOR_PORT=1003"}, want: 1003, origin: "environment GRAPHMILL_FALKOR_PORT"},
		{name: "an empty variable is not set", key: "jobs", env: []string{"GRAPHMILL_JOBS="}, want: 2, origin: "file " + file + ":1"},
		{name: "flag over environment", key: "jobs", env: []string{"GRAPHMILL_JOBS=3"}, args: []string{"--jobs", "4"}, want: 4, origin: "flag --jobs"},
		{name: "a flag back to the default", key: "jobs", args: []string{"--jobs=0"}, want: 0, origin: "flag --jobs"},
		{name: "a bare boolean flag", key: "quiet", args: []string{"--quiet"}, want: true, origin: "flag --quiet"},
		{name: "a repeated flag adds up, commas and all", key: "corpus.include", args: []string{"--include", "a,b.md", "--include", "*.{md,txt}"},
			want: []string{"a,b.md", "*.{md,txt}"}, origin: "flag --include"},
		{name: "a list in a variable", key: "corpus.include", env: []string{"GRAPHMILL_CORPUS_INCLUDE=*.{md,txt}, [a,b]*.rst"},
			want: []string{"*.{md,txt}", "[a,b]*.rst"}, origin: "environment GRAPHMILL_CORPUS_INCLUDE"},
		{name: "a quoted list in a variable", key: "corpus.include", env: []string{`GRAPHMILL_CORPUS_INCLUDE=["a,b.md"]`},
			want: []string{"a,b.md"}, origin: "environment GRAPHMILL_CORPUS_INCLUDE"},
		{name: "a duration", key: "wait", args: []string{"--wait", "1h30m"}, want: 90 * time.Minute, origin: "flag --wait"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			if err := BindFlags(flags, "jobs", "corpus.include", "quiet", "wait"); err != nil {
				t.Fatal(err)
			}
			if err := flags.Parse(c.args); err != nil {
				t.Fatal(err)
			}
			cfg := load(t, Source{File: file, Env: home(c.env...), Flags: flags})
			if got := field(cfg, c.key).Interface(); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s = %v, want %v", c.key, got, c.want)
			}
			if got := cfg.Origin(c.key); got != c.origin {
				t.Errorf("origin %q, want %q", got, c.origin)
			}
		})
	}
}

func TestEveryKeyCanBeSetByItsVariable(t *testing.T) {
	other := map[Kind]string{KindText: "other", KindPath: "/other", KindBool: "true", KindList: "other", KindSecret: "other",
		KindRules: `[{"match": "*.md"}]`, KindYAML: `{"a": 1}`}
	for _, key := range Keys() {
		text := other[key.Kind]
		switch {
		case key.Default == true:
			text = "false"
		case key.Max > 0:
			text = key.format(reflect.ValueOf(key.Max).Convert(reflect.TypeOf(key.Default)).Interface())
		case key.Kind == KindInt:
			text = "0"
		case len(key.Allowed) > 0:
			text = key.Allowed[len(key.Allowed)-1]
		case key.Name == "resolvers.must_not_merge":
			text = "a != b"
		case key.Name == "mirror.max_delete":
			text = "25"
		case key.Name == "llm.prices":
			text = "date: 2026-11-01"
		case key.Name == "llm.model":
			text = "openai/m"
		case key.Name == "queue.url":
			text = "rediss://user:secret@host:6380/1"
		case strings.HasSuffix(key.Name, "base_url"):
			text = "http://localhost:8080/v1"
		case strings.HasSuffix(key.Name, "password_file"), strings.HasSuffix(key.Name, "api_key_file"):
			text = write(t, "secret\n")
		}
		if strings.HasSuffix(key.Name, "listen") {
			text = "localhost:0"
		}
		env := home(key.EnvName() + "=" + text)
		if pair, ok := map[string]string{"mcp.tls_cert": "GRAPHMILL_MCP_TLS_KEY", "mcp.tls_key": "GRAPHMILL_MCP_TLS_CERT"}[key.Name]; ok {
			env = append(env, pair+"=/other")
		}
		if key.Name == "falkor.reader.password" || key.Name == "falkor.reader.password_file" {
			env = append(env, "GRAPHMILL_READER_USERNAME=reader")
		}
		if key.Name == "embedder.kind" {
			env = append(env, "GRAPHMILL_EMBEDDER_MODEL=m")
		}
		cfg := load(t, Source{Env: env})
		if got := cfg.Origin(key.Name); got != "environment "+key.EnvName() {
			t.Errorf("%s=%s: origin of %s is %q", key.EnvName(), text, key.Name, got)
		}
	}
}

func TestMistakesAreNamedWithWhatIsAllowed(t *testing.T) {
	cases := []struct {
		name, file string
		env        []string
		set        map[string]any
		want       []string // in the error, all of them
	}{
		{name: "unknown key", file: "falkor:\n  prot: 1\n", want: []string{"graphmill.yaml:2: falkor.prot: is no setting", `did you mean "falkor.port"`}},
		{name: "key at the wrong level", file: "max_chunks: 1\n", want: []string{`did you mean "plan.limits.max_chunks"`}},
		{name: "dotted key", file: "falkor.port: 1\n", want: []string{"graphmill.yaml:1: falkor.port: is no setting: write nested keys"}},
		{name: "out of range", file: "\nfalkor: {port: 99999}\n", want: []string{`graphmill.yaml:2: falkor.port: "99999" is out of range; allowed is an integer from 1 to 65535`}},
		{name: "beyond any integer", file: "jobs: 99999999999999999999\n", want: []string{"jobs", "allowed is an integer from 0 to 256"}},
		{name: "wrong type", file: "jobs: many\n", want: []string{`jobs: "many" is a text; allowed is an integer`}},
		{name: "quoted number", file: "jobs: \"4\"\n", want: []string{`jobs: "4" is a text`}},
		{name: "number as text", file: "tenant: 42\n", want: []string{`tenant: "42" is an integer: put it in quotes`}},
		{name: "yes is no boolean", file: "quiet: yes\n", want: []string{`quiet: "yes" is a text; allowed is true or false`}},
		{name: "mapping for a value", file: "graph: {a: b}\n", want: []string{"graph: is a mapping"}},
		{name: "value for a section", file: "falkor: here\n", want: []string{"falkor: is a text: write keys below it"}},
		{name: "duration without unit", file: "wait: 30\n", want: []string{`wait: "30" has no unit`, "30s"}},
		{name: "negative duration", file: "wait: -1s\n", want: []string{`"-1s" is out of range`}},
		{name: "size with unknown unit", file: "corpus: {max_file_bytes: 50M}\n", want: []string{`"50M" is no size`, "50MiB"}},
		{name: "not a number", file: "extractors: {gliner: {threshold: .nan}}\n", want: []string{"out of range", "a number from 0 to 1"}},
		{name: "not one of", file: "output: yaml\n", want: []string{`output: "yaml" is not known; allowed is one of text, json`}},
		{name: "transport of another version", file: "mcp: {transport: websocket}\n", want: []string{"allowed is one of stdio, http"}},
		{name: "unknown embedder", file: "embedder: {kind: cohere}\n", want: []string{"allowed is one of onnx, hash, openai"}},
		{name: "remote embedder without a model", file: "embedder: {kind: openai}\n", want: []string{"embedder.kind: openai needs the model's name; set embedder.model"}},
		{name: "model without a provider", file: "llm: {model: gpt-4.1}\n", want: []string{`llm.model: "gpt-4.1" names no provider; allowed is PROVIDER/NAME, with one of openai, anthropic`}},
		{name: "model of an unknown provider", file: "llm: {model: acme/big}\n", want: []string{"is of no provider that is known here"}},
		{name: "base URL with a password", env: []string{"OPENAI_BASE_URL=https://a:b@h/v1"}, want: []string{"OPENAI_BASE_URL: llm.openai.base_url: holds more than an address"}},
		{name: "price per token, in an unknown field", file: "llm: {prices: {models: {openai/m: {per_token: 1}}}}\n", want: []string{"graphmill.yaml:1: llm.prices", "per_token"}},
		{name: "price that is no number", file: "llm: {prices: {models: {openai/m: {input: .nan}}}}\n", want: []string{"llm.prices", "a price is from 0 to"}},
		{name: "negative price", file: "llm: {prices: {models: {openai/m: {output: -1}}}}\n", want: []string{"llm.prices", "a price is from 0 to"}},
		{name: "price of a model without its provider", file: "llm: {prices: {models: {m: {input: 1}}}}\n", want: []string{`llm.prices: model "m" names no provider`}},
		{name: "a limit on money for a model without a price", env: []string{"GRAPHMILL_LLM_MODEL=openai/mine", "GRAPHMILL_LIMITS_MAX_COST=1"}, want: []string{`llm.model: "openai/mine" has no price`, "llm.prices", "limits.max_tokens"}},
		{name: "duplicate key", file: "jobs: 1\ngraph: a\njobs: 2\n", want: []string{"graphmill.yaml:3: jobs: stands twice, first in line 1"}},
		{name: "duplicate nested key", file: "extractors:\n  pattern: {a: 1, a: 2}\n", want: []string{"graphmill.yaml:2: extractors.pattern.a: stands twice"}},
		{name: "broken YAML", file: "a: [\n", want: []string{"graphmill.yaml:", "is no valid YAML"}},
		{name: "two documents", file: "jobs: 1\n---\njobs: 2\n", want: []string{"a second document"}},
		{name: "a list as file", file: "- jobs\n", want: []string{"is a list"}},
		{name: "empty graph", file: "graph: \"\"\n", want: []string{"graph: is empty"}},
		{name: "graph of an ontology", file: "graph: kb__ontology\n", want: []string{"graph: \"kb__ontology\" is the name of another graph's ontology"}},
		{name: "glob characters in a graph", file: "graph: kb*\n", want: []string{"graph: \"kb*\" is no graph name"}},
		{name: "tenant ontology", set: map[string]any{"tenant": "Ontology"}, want: []string{"tenant", "holds the ontology"}},
		{name: "tenant with __", set: map[string]any{"tenant": "a__b"}, want: []string{"contains __"}},
		{name: "source with a slash", set: map[string]any{"source": "a/b"}, want: []string{"no source name"}},
		{name: "glob that leaves the root", set: map[string]any{"corpus.exclude": "../*"}, want: []string{"leaves the root"}},
		{name: "broken glob", set: map[string]any{"corpus.include": []string{"[a"}}, want: []string{"no valid glob"}},
		{name: "Go value of another type", set: map[string]any{"jobs": "4", "wait": 5}, want: []string{"wait: is a int; allowed is a duration"}},
		{name: "variable", env: []string{"FALKOR_PORT=tcp://10.0.0.1:6379"}, want: []string{`environment FALKOR_PORT: falkor.port: "tcp://10.0.0.1:6379" is no integer`}},
		{name: "thresholds crossed", file: "extractors: {gliner: {threshold: 0.5, unknown_threshold: 0.4}}\n", want: []string{"unknown_threshold: 0.4 is below"}},
		{name: "password beside its file", file: "falkor: {host: h, password: a, password_file: b}\n", want: []string{"falkor.password_file: falkor.password is given too"}},
		{name: "missing password file", file: "falkor: {host: h, password_file: nowhere}\n", want: []string{"falkor.password_file", "no such file"}},
		{name: "reader's password alone", env: []string{"FALKOR_HOST=h", "GRAPHMILL_READER_PASSWORD=x"}, want: []string{"without falkor.reader.username"}},
		{name: "host with unknown scheme", env: []string{"FALKOR_HOST=http://h"}, want: []string{`unknown scheme "http"`}},
		{name: "host against port", env: []string{"FALKOR_HOST=redis://h:7000", "FALKOR_PORT=6379"}, want: []string{"FALKOR_PORT: falkor.port: contradicts what environment FALKOR_HOST says"}},
		{name: "all at once", file: "jobs: -1\noutptu: json\n", env: []string{"FALKOR_PORT=0"}, want: []string{"3 problems", "jobs", `did you mean "output"`, "FALKOR_PORT"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load(Source{File: write(t, c.file), Env: home(c.env...), Set: c.set})
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nlacks %q", err, want)
				}
			}
		})
	}
}

func TestRules(t *testing.T) {
	file := write(t, `plan:
  rules:
    - {match: "reports/**/*.pdf", chunker: fixed, chunk_tokens: 512, overlap_tokens: 0, extractor: gliner, resolver: exact, max_chunks: 7}
    - match: "*.md"
      extractor: [pattern, gliner]
`)
	want := []Rule{
		{Match: "reports/**/*.pdf", Chunker: "fixed", Extractors: []string{"gliner"}, Resolver: "exact", MaxChunks: 7,
			Parameters: map[string]int{"chunk_tokens": 512, "overlap_tokens": 0}, Origin: file + ":3"},
		{Match: "*.md", Extractors: []string{"pattern", "gliner"}, Origin: file + ":4"},
	}
	if got := load(t, Source{File: file, Env: home()}).Plan.Rules; !reflect.DeepEqual(got, want) {
		t.Errorf("file: %+v", got)
	}
	want = []Rule{{Match: "*.md", Chunker: "structural", Origin: "environment GRAPHMILL_PLAN_RULES"}}
	cfg := load(t, Source{File: file, Env: home(`GRAPHMILL_PLAN_RULES=[{"match": "*.md", "chunker": "structural"}]`)})
	if !reflect.DeepEqual(cfg.Plan.Rules, want) {
		t.Errorf("environment: %+v", cfg.Plan.Rules)
	}
	bad := []struct{ rule, want string }{
		{"{chunker: fixed}", "plan.rules[0].match: is missing"},
		{"{match: 'a', chunker: best}", `plan.rules[0].chunker: "best" is not known; allowed are contextual, fixed, sentence, structural`},
		{"{match: 'a', chunk_token: 5}", `did you mean "chunk_tokens"`},
		{"{match: 'a', chunk_tokens: 0}", "chunk_tokens: 0 is out of range"},
		{"{match: 'a', chunk_tokens: x}", `chunk_tokens: "x" is no integer`},
		{"{match: 'a', extractor: [gliner, gliner]}", `names "gliner" twice`},
		{"{match: 'a', extractor: []}", "extractor: is empty"},
		{"{match: '/a'}", "is absolute"},
		{"{match: 'a', match: 'b'}", "plan.rules.match: stands twice"},
		{"text", "plan.rules[0]: is a text"},
	}
	for _, c := range bad {
		_, err := Load(Source{File: write(t, "plan: {rules: ["+c.rule+"]}"), Env: home()})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nlacks %q", c.rule, err, c.want)
		}
	}
}

func TestPathsAreRelativeToTheFileTheyStandIn(t *testing.T) {
	file := write(t, "root: corpus\nontology: /o.yaml\ndata_dir: ~/data\n")
	cfg := load(t, Source{File: file, Env: home("GRAPHMILL_MODELS_RUNTIME=lib.so")})
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]string{
		cfg.Root: filepath.Join(filepath.Dir(file), "corpus"), cfg.Ontology: "/o.yaml",
		cfg.DataDir: "/home/ada/data", cfg.Models.Runtime: filepath.Join(here, "lib.so"), cfg.Embedder.ModelDir: "",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestARootMayBeAnAddress(t *testing.T) {
	for text, want := range map[string]string{
		"s3://papers/reports?region=eu-central-1": "s3://papers/reports?region=eu-central-1",
		"file:///srv/docs/":                       "/srv/docs",
		"file:///srv/with%20space":                "/srv/with space",
	} {
		if got := load(t, Source{Env: home("GRAPHMILL_ROOT=" + text)}).Root; got != want {
			t.Errorf("%s is %q", text, got)
		}
		file := write(t, "root: '"+text+"'\n")
		if got := load(t, Source{File: file, Env: home()}).Root; got != want {
			t.Errorf("%s in a file is %q", text, got)
		}
	}
	for _, text := range []string{
		"gs://papers", "https://papers.example", "file://host/srv", "file:///srv?x=hushhush", "s3://AKIA:hushhush@papers", "s3://%zz?x=hushhush",
	} {
		if _, err := Load(Source{Env: home("GRAPHMILL_ROOT=" + text)}); err == nil || strings.Contains(err.Error(), "hushhush") {
			t.Errorf("%s: %v", text, err)
		}
	}
	// Other settings are paths and nothing else.
	if got := load(t, Source{Env: home("GRAPHMILL_ONTOLOGY=s3://papers/o.yaml")}).Ontology; strings.HasPrefix(got, "s3://") {
		t.Errorf("an ontology is %q", got)
	}
}

func TestDataDirByDefault(t *testing.T) {
	cases := []struct {
		name, want string
		env        []string
	}{
		{"home", "/home/ada/.local/share/graphmill", home()},
		{"XDG", "/data/graphmill", home("XDG_DATA_HOME=/data")},
		{"a relative XDG folder is ignored", "/home/ada/.local/share/graphmill", home("XDG_DATA_HOME=data")},
		{"named", "/d", home("XDG_DATA_HOME=/data", "GRAPHMILL_DATA_DIR=/d")},
	}
	for _, c := range cases {
		if got := load(t, Source{Env: c.env}).DataDir; got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	if _, err := Load(Source{}); err == nil || !strings.Contains(err.Error(), "GRAPHMILL_DATA_DIR") {
		t.Errorf("without a home: %v", err)
	}
}

func TestConfigFileIsFound(t *testing.T) {
	t.Chdir(t.TempDir())
	if cfg := load(t, Source{Env: home()}); cfg.File != "" {
		t.Errorf("read %q where there is none", cfg.File)
	}
	if err := os.WriteFile(DefaultFile, []byte("jobs: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	byEnv, byFlag := write(t, "jobs: 2\n"), write(t, "jobs: 3\n")
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	if err := errorsOf(BindFlags(flags), flags.Parse([]string{"--config", byFlag})); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name   string
		source Source
		jobs   int
		origin string
	}{
		{"working directory", Source{Env: home()}, 1, "file graphmill.yaml:1"},
		{"GRAPHMILL_CONFIG", Source{Env: home("GRAPHMILL_CONFIG=" + byEnv)}, 2, "file " + byEnv + ":1"},
		{"--config", Source{Env: home("GRAPHMILL_CONFIG=" + byEnv), Flags: flags}, 3, "file " + byFlag + ":1"},
	}
	for _, c := range cases {
		cfg := load(t, c.source)
		if cfg.Jobs != c.jobs || cfg.Origin("jobs") != c.origin {
			t.Errorf("%s: jobs %d from %s", c.name, cfg.Jobs, cfg.Origin("jobs"))
		}
	}
	if _, err := Load(Source{Env: home("GRAPHMILL_CONFIG=nowhere.yaml")}); err == nil || !strings.Contains(err.Error(), "GRAPHMILL_CONFIG: configuration file nowhere.yaml does not exist") {
		t.Errorf("missing file: %v", err)
	}
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestWhatIsRightIsSalvaged(t *testing.T) {
	file := write(t, "graph: kept\njobs: many\nmcp: {listen: nowhere, max_calls: 3}\n")
	cfg, err := Salvage(Source{File: file, Env: home()})
	var wrong *Error
	if !errors.As(err, &wrong) || len(wrong.Problems) != 2 || cfg == nil || cfg.Graph != "kept" || cfg.MCP.MaxCalls != 3 || cfg.MCP.Listen != "127.0.0.1:8765" {
		t.Errorf("%+v, %v", cfg, err)
	}
	if cfg, err := Salvage(Source{File: write(t, "a: [\n"), Env: home("GRAPHRAG_GRAPH=kept")}); err == nil || cfg == nil || cfg.Graph != "kept" {
		t.Errorf("a file that is no YAML: %+v, %v", cfg, err)
	}
}
