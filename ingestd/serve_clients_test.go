package main

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"graphmill/commandline/serving/servingtest"
	"graphmill/pipeline/engine/enginetest"
)

const serveToken = "tester-0123456789abcdef"

var servingAt = regexp.MustCompile(`serving MCP at (http\S+/mcp)`)

// serveHTTP starts a network server of the world's corpus.
func (w *world) serveHTTP(args ...string) (url string) {
	w.t.Helper()
	command := w.command(append([]string{"serve", "--files-root", w.corpus, "--transport", "http", "--listen", "127.0.0.1:0"}, args...)...)
	command.Env = append(command.Env, "GRAPHMILL_MCP_TOKEN=tester:"+serveToken)
	stderr, err := command.StderrPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for url == "" && lines.Scan() {
		if at := servingAt.FindStringSubmatch(lines.Text()); at != nil {
			url = at[1]
		}
	}
	w.t.Cleanup(func() {
		command.Process.Signal(syscall.SIGTERM)
		for lines.Scan() { // the audit; a full pipe would keep it from ending
		}
		if err := command.Wait(); err != nil {
			w.t.Errorf("the server ended with %v", err)
		}
	})
	if url == "" {
		w.t.Fatal("it does not serve")
	}
	return url
}

// buildStep is what scripts/clients/converse.py prints of a call.
type buildStep struct {
	Step  string   `json:"step"`
	Names []string `json:"names"`
	Error bool     `json:"error"`
	Text  string   `json:"text"`
	Told  []string `json:"told"`
}

var writeTools = []string{"finalize", "ingest", "preview_files", "set_ontology"}

func TestThePythonClientCallsEveryToolThatWrites(t *testing.T) {
	inFull(t)
	packages := servingtest.Clients(t, depsDir(t), "python", "python3")
	w := worldIn(t, enginetest.Start(t).DataDir)
	writeFile(t, filepath.Join(w.corpus, "a.md"), "Ada Lovelace met Charles Babbage.")
	url := w.serveHTTP("--graph", "http")
	stdio := w.command("serve", "--files-root", w.corpus, "--graph", "stdio")
	for _, how := range [][]string{
		append([]string{"stdio"}, stdio.Args...),
		{"http", url, serveToken, "auto"},
		{"http", url, serveToken, "legacy"},
		{"sse", strings.TrimSuffix(url, "mcp") + "sse", serveToken, "legacy"},
	} {
		command := exec.Command("python3", append([]string{"../scripts/clients/converse.py"}, how...)...)
		command.Env = append(stdio.Env, "PYTHONPATH="+packages)
		var complaint strings.Builder
		command.Stderr = &complaint
		out, err := command.Output()
		if err != nil {
			t.Errorf("%v: %v\n%s\n%s", how[:1], err, out, complaint.String())
			continue
		}
		var called []string
		told := 0
		for line := range strings.Lines(string(out)) {
			var found buildStep
			if err := json.Unmarshal([]byte(line), &found); err != nil {
				t.Fatal(err)
			}
			if found.Step == "tools" {
				if slices.Sort(found.Names); !slices.Equal(found.Names, writeTools) {
					t.Errorf("%v lists %v", how[:1], found.Names)
				}
				continue
			}
			if missing := strings.Contains(found.Text, "missing.md"); found.Error != missing {
				t.Errorf("%v: %s", how[:1], line)
			}
			called = append(called, found.Step)
			told += len(found.Told)
		}
		slices.Sort(called)
		if called = slices.Compact(called); !slices.Equal(called, writeTools) {
			t.Errorf("%v called %v", how[:1], called)
		}
		if told == 0 {
			t.Errorf("%v was told of no progress: %s", how, out)
		}
	}
}

func TestTheInspectorCallsEveryToolThatWrites(t *testing.T) {
	inFull(t)
	inspector := filepath.Join(servingtest.Clients(t, depsDir(t), "inspector", "node"), "node_modules", ".bin", "mcp-inspector")
	w := worldIn(t, enginetest.Start(t).DataDir)
	writeFile(t, filepath.Join(w.corpus, "a.md"), "Ada Lovelace met Charles Babbage.")
	stdio := w.command()
	stdio.Args = []string{stdio.Path, "serve", "--files-root", w.corpus} // the inspector takes --config for its own
	stdio.Env = append(stdio.Env, "GRAPHMILL_CONFIG="+w.config, "GRAPHMILL_DATA_DIR="+w.data)
	network := []string{w.serveHTTP(), "--transport", "http", "--header", "Authorization: Bearer " + serveToken}
	for _, c := range []struct {
		server []string
		method []string
		want   string
	}{
		{stdio.Args, []string{"tools/list"}, `"destructiveHint": true`},
		{network, []string{"tools/list"}, "preview_files"},
		{network, []string{"tools/call", "--tool-name", "preview_files"}, "Ada Lovelace met"},
		{network, []string{"tools/call", "--tool-name", "set_ontology", "--tool-arg", `entities=[{"label": "Person"}]`}, "Person"},
		{network, []string{"tools/call", "--tool-name", "ingest", "--tool-arg", `files=["a.md"]`}, "1 ingested"},
		{network, []string{"tools/call", "--tool-name", "finalize"}, "Finalized"},
	} {
		arguments := append([]string{"--cli"}, c.server...)
		command := exec.Command(inspector, append(append(arguments, "--method"), c.method...)...)
		command.Env = append(stdio.Env, "HOME="+t.TempDir(), "NO_COLOR=1")
		out, err := command.CombinedOutput()
		if !strings.Contains(string(out), c.want) {
			t.Errorf("%v on %s: %v\n%.2000s", c.method, c.server[0], err, out)
		}
	}
}
