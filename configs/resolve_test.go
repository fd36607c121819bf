package configs

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestFalkorHostMayBeAURL(t *testing.T) {
	cases := []struct {
		host string
		env  []string
		want Falkor
	}{
		{host: "db.example", want: Falkor{Host: "db.example", Port: 6379}},
		{host: "db.example:7000", want: Falkor{Host: "db.example", Port: 7000}},
		{host: "::1", want: Falkor{Host: "::1", Port: 6379}},
		{host: "[::1]:7000", want: Falkor{Host: "::1", Port: 7000}},
		{host: "redis://ada:p%40ss@db.example:7000/0", want: Falkor{Host: "db.example", Port: 7000, Username: "ada", Password: "p@ss"}},
		{host: "rediss://db.example", want: Falkor{Host: "db.example", Port: 6379, TLS: true}},
		{host: "falkors://:secret@[::1]:7000", want: Falkor{Host: "::1", Port: 7000, Password: "secret", TLS: true}},
		{host: "redis://ada@db.example", env: []string{"FALKOR_PASSWORD=x", "FALKOR_USERNAME=ada"}, want: Falkor{Host: "db.example", Port: 6379, Username: "ada", Password: "x"}},
		{host: "redis://db.example", env: []string{"GRAPHMILL_FALKOR_TLS=true"}, want: Falkor{Host: "db.example", Port: 6379, TLS: true}},
	}
	for _, c := range cases {
		cfg := load(t, Source{Env: home(append(c.env, "FALKOR_HOST="+c.host)...)})
		c.want.DialTimeout = cfg.Falkor.DialTimeout
		if cfg.Falkor != c.want {
			t.Errorf("%s: %#v, password %q", c.host, cfg.Falkor, cfg.Falkor.Password.Reveal())
		}
	}
	for _, bad := range []string{"redis://ada:hunter2@", "redis://ada:hunter2@h:99999", "redis://a:hunter2@h/graph", "redis://a:hunter2@h?x=1", "redis://a:hunter2%zz@h", "a:hunter2@h", "h:port"} {
		_, err := Load(Source{Env: home("FALKOR_HOST=" + bad)})
		var config *Error
		if !errors.As(err, &config) || !strings.Contains(err.Error(), "environment FALKOR_HOST: falkor.host") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestPasswordFiles(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("from file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := write(t, "falkor: {host: h, password: inline, reader: {username: r, password_file: "+secret+"}}\n")
	cfg := load(t, Source{File: file, Env: home("GRAPHMILL_FALKOR_PASSWORD_FILE=" + secret)})
	if cfg.Falkor.Password.Reveal() != "from file" || cfg.Falkor.Reader.Password.Reveal() != "from file" || len(cfg.Warnings) > 0 {
		t.Errorf("%q, %q, %q", cfg.Falkor.Password.Reveal(), cfg.Falkor.Reader.Password.Reveal(), cfg.Warnings)
	}
	if got := cfg.Origin("falkor.password"); got != "environment GRAPHMILL_FALKOR_PASSWORD_FILE" {
		t.Errorf("origin %q", got)
	}
	cfg = load(t, Source{File: file, Env: home("GRAPHMILL_READER_PASSWORD=weightier")})
	if got := cfg.Falkor.Reader.Password.Reveal(); got != "weightier" {
		t.Errorf("environment over file: %q", got)
	}
	if err := os.Chmod(secret, 0o644); err != nil {
		t.Fatal(err)
	}
	if cfg = load(t, Source{File: file, Env: home()}); len(cfg.Warnings) != 1 || !strings.Contains(cfg.Warnings[0], "chmod 600") {
		t.Errorf("world-readable: %q", cfg.Warnings)
	}
	for _, content := range []string{"", "\n", "two\nlines\n"} {
		if err := os.WriteFile(secret, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(Source{File: file, Env: home()}); err == nil || !strings.Contains(err.Error(), "holds no password") {
			t.Errorf("%q: %v", content, err)
		}
	}
}

func TestSecretsNeverPrint(t *testing.T) {
	cfg := load(t, Source{Env: home("FALKOR_HOST=h", "FALKOR_PASSWORD=hunter2", "GRAPHMILL_READER_USERNAME=r", "GRAPHMILL_READER_PASSWORD=hunter2")})
	asJSON, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	asYAML, err := yaml.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	printed := []string{string(asJSON), string(asYAML), fmt.Sprint(cfg.Effective())}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		printed = append(printed, fmt.Sprintf(verb, cfg), fmt.Sprintf(verb, *cfg), fmt.Sprintf(verb, cfg.Falkor.Password), fmt.Sprintf(verb, &cfg.Falkor.Password))
	}
	for _, text := range printed {
		if strings.Contains(text, "hunter2") || strings.Contains(text, fmt.Sprintf("%x", "hunter2")) {
			t.Errorf("prints the password: %s", text)
		}
	}
	if cfg.Falkor.Password.Reveal() != "hunter2" {
		t.Error("Reveal lost it")
	}
	_, err = Load(Source{File: write(t, "falkor: {host: h, password: [hunter2]}\n"), Env: home("GRAPHMILL_READER_PASSWORD=hunter2\x01")})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error: %v", err)
	}
}

func TestWarnings(t *testing.T) {
	model := t.TempDir()
	if err := os.WriteFile(filepath.Join(model, "model.onnx"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name string
		env  []string
		want []string // one a warning, contained in it
	}{
		{name: "none", env: []string{"GRAPHMILL_JOBS=1", "GRAPHRAG_MCP_READ_ONLY=true", "GRAPHRAG_GRAPH=kb"}},
		{name: "mistyped variable", env: []string{"GRAPHMILL_JOB=1"}, want: []string{`GRAPHMILL_JOB is no setting (did you mean "GRAPHMILL_JOBS"?)`}},
		{name: "remote models", env: []string{"GRAPHRAG_MODEL=gpt", "GRAPHRAG_EMBED_MODEL=text-embedding-3-large", "GRAPHRAG_EMBED_DIM=256", "GRAPHRAG_EMBED_SEND_DIMENSIONS=true"},
			want: []string{"GRAPHRAG_EMBED_DIM, GRAPHRAG_EMBED_MODEL, GRAPHRAG_EMBED_SEND_DIMENSIONS, GRAPHRAG_MODEL: no effect"}},
		{name: "a local model by the peer's name", env: []string{"GRAPHRAG_EMBED_MODEL=" + model}},
		{name: "a token without a network", env: []string{"GRAPHRAG_MCP_TOKEN=t"}, want: []string{"mcp.token (environment GRAPHRAG_MCP_TOKEN) has no effect with mcp.transport stdio"}},
		{name: "a token with a network", env: []string{"GRAPHRAG_MCP_TOKEN=t", "GRAPHMILL_MCP_TRANSPORT=http"}},
		{name: "a port without a host", env: []string{"FALKOR_PORT=1"}, want: []string{"falkor.port (environment FALKOR_PORT) has no effect without falkor.host"}},
		{name: "insecure without TLS", env: []string{"FALKOR_HOST=h", "GRAPHMILL_FALKOR_TLS_INSECURE=true"}, want: []string{"has no effect without falkor.tls"}},
	}
	for _, c := range cases {
		got := load(t, Source{Env: home(c.env...)}).Warnings
		if len(got) != len(c.want) {
			t.Errorf("%s: %q", c.name, got)
			continue
		}
		for i := range got {
			if !strings.Contains(got[i], c.want[i]) {
				t.Errorf("%s: %q lacks %q", c.name, got[i], c.want[i])
			}
		}
	}
	if got := load(t, Source{Env: home("GRAPHRAG_EMBED_MODEL=" + model)}); got.Embedder.ModelDir != model {
		t.Errorf("model folder %q", got.Embedder.ModelDir)
	}
	if got := load(t, Source{Env: home("GRAPHRAG_EMBED_DIM=64", "GRAPHMILL_EMBEDDER_KIND=hash")}); got.Embedder.Dimension != 64 || got.Origin("embedder.dimension") != "environment GRAPHRAG_EMBED_DIM" {
		t.Errorf("dimension %d from %s", got.Embedder.Dimension, got.Origin("embedder.dimension"))
	}
	if _, err := Load(Source{Env: home("GRAPHRAG_EMBED_DIM=0x", "GRAPHMILL_EMBEDDER_KIND=hash")}); err == nil {
		t.Error("a dimension that is no number is accepted")
	}
}

func TestPatternsAreHandedOnUnread(t *testing.T) {
	const subtree = "CVE:\n  regexp: 'CVE-\\d+'\n  Stop: [A, b]\n"
	indented := "    " + strings.ReplaceAll(strings.TrimSpace(subtree), "\n", "\n    ")
	cfg := load(t, Source{File: write(t, "extractors:\n  pattern:\n"+indented+"\n"), Env: home()})
	var got, want any
	if err := errorsOf(yaml.Unmarshal(cfg.Extractors.PatternYAML, &got), yaml.Unmarshal([]byte(subtree), &want)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s", cfg.Extractors.PatternYAML)
	}
	cfg = load(t, Source{File: write(t, "extractors: {pattern: {a: &x {r: 1}, b: *x}}\n"), Env: home()})
	if err := yaml.Unmarshal(cfg.Extractors.PatternYAML, &got); err != nil || !reflect.DeepEqual(got, map[string]any{"a": map[string]any{"r": 1}, "b": map[string]any{"r": 1}}) {
		t.Errorf("alias: %s %v", cfg.Extractors.PatternYAML, err)
	}
	if load(t, Source{Env: home()}).Extractors.PatternYAML != nil {
		t.Error("patterns where none were given")
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"50MiB": 50 * mib, "50 mib": 50 * mib, "1.5GiB": 3 * gib / 2, "2MB": 2_000_000, "1024": 1024, "1e3": 1000, "7B": 7, "0": 0} {
		got, err := parseSize(text)
		if err != nil || got != want {
			t.Errorf("%s: %d %v", text, got, err)
		}
		if back, err := parseSize(formatSize(got)); err != nil || back != got {
			t.Errorf("%d does not survive %s", got, formatSize(got))
		}
	}
	for _, text := range []string{"", "MiB", "50M", "-1", "0.5B", "nan", "inf", "9999999TiB", "1 2", "5MiB!"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

func TestGraphNameHoldsTheTenant(t *testing.T) {
	cfg := load(t, Source{Env: home(), Set: map[string]any{"graph": "kb", "tenant": "acme"}})
	if cfg.GraphName() != "kb__acme" || cfg.Origin("tenant") != "program" || cfg.Workers() < 1 {
		t.Errorf("%s, %s, %d", cfg.GraphName(), cfg.Origin("tenant"), cfg.Workers())
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("jobs: 1\n", "2")
	f.Add("a: &a [*a]\n", "x")
	f.Add("plan: {rules: [{match: a, extractor: [b, ~]}], limits: {chunkers: ~}}\n", `["a`)
	f.Add("falkor: {host: 'redis://a:b@c:1/'}\nextractors: {pattern: &p {<<: *p}}\n", "{")
	f.Fuzz(func(t *testing.T, content, text string) {
		set := map[string]any{}
		for _, key := range Keys() {
			if key.Kind == KindList || key.Kind == KindRules || key.Kind == KindSize {
				set[key.Name] = text
			}
		}
		for _, source := range []Source{{File: write(t, content), Env: home()}, {Env: home(), Set: set}} {
			cfg, err := Load(source)
			var config *Error
			if err != nil && !errors.As(err, &config) {
				t.Errorf("not a problem of the configuration: %v", err)
			}
			if err == nil {
				cfg.Effective()
			}
		}
	})
}
