package examples_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// deployed is a machine as the examples of deploy/ expect one: both programs, a
// folder of documents, places to write to. The examples' paths are replaced by
// its own.
type deployed struct {
	t    *testing.T
	dir  string
	docs string
	env  []string
}

// deployConfig needs no model: the examples are what is tested.
const deployConfig = "embedder: {kind: hash, dimension: 32}\nplan: {rules: [{match: '**', extractor: pattern}]}\n"

var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "deployed")
	if err != nil {
		return "", err
	}
	if out, err := exec.Command("go", "build", "-o", dir+"/", "../ingestd", "../queryd").CombinedOutput(); err != nil {
		return dir, fmt.Errorf("%w\n%s", err, out)
	}
	return dir, nil
})

// Both programs are built for all of the examples, if one is tried.
func TestMain(m *testing.M) {
	code := m.Run()
	if tried {
		if dir, _ := built(); dir != "" {
			os.RemoveAll(dir)
		}
	}
	os.Exit(code)
}

// tried says that an example was.
var tried bool

func deploy(t *testing.T) *deployed {
	t.Helper()
	if testing.Short() {
		t.Skip("the programs are built for it")
	}
	deps, err := filepath.Abs("../.deps")
	if given := os.Getenv("GRAPHMILL_DEPS_DIR"); err == nil && given != "" {
		deps = given
	}
	d := &deployed{t: t, dir: t.TempDir()}
	d.docs = filepath.Join(d.dir, "docs")
	for _, folder := range []string{"docs", "data", "metrics", "bin"} {
		if err := os.Mkdir(filepath.Join(d.dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	tried = true
	programs, err := built()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ingestd", "queryd"} {
		if err := os.Link(filepath.Join(programs, name), filepath.Join(d.dir, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	d.write("graphmill.yaml", deployConfig)
	for i := range 4 {
		d.write(fmt.Sprintf("docs/%d.md", i), fmt.Sprintf("CVE-2024-1000%d was fixed in version %d.1.", i, i))
	}
	// What cron gives a command, and where this test has things.
	d.env = []string{"PATH=" + d.dir + "/bin:/usr/bin:/bin", "GRAPHMILL_CONFIG=" + d.dir + "/graphmill.yaml", "GRAPHMILL_DEPS_DIR=" + deps, "HOME=" + d.dir}
	return d
}

func (d *deployed) write(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

func (d *deployed) here(text string) string {
	return strings.NewReplacer("/usr/local/bin", d.dir+"/bin", "/srv/docs", d.docs, "/var/lib/graphmill", d.dir+"/data", "/var/lib/node_exporter", d.dir+"/metrics").Replace(text)
}

// shell runs a command line and returns its exit code and what it printed.
func (d *deployed) shell(command string, env ...string) (int, string) {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command)
	cmd.Dir, cmd.Env = d.dir, append(slices.Clone(d.env), env...)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		d.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

func (d *deployed) mustHold(name, text string) {
	d.t.Helper()
	content, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil || !strings.Contains(string(content), text) {
		d.t.Errorf("%s does not hold %q: %v\n%s", name, text, err, content)
	}
}

func example(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheCrontabLineRuns(t *testing.T) {
	d := deploy(t)
	var env []string
	for line := range strings.Lines(example(t, "crontab")) {
		line = strings.TrimSpace(line)
		switch fields := strings.Fields(line); {
		case line == "" || line[0] == '#':
		case regexp.MustCompile(`^[A-Z_]+=`).MatchString(line):
			env = append(env, d.here(line))
		default:
			if schedule := strings.Join(fields[:5], " "); !regexp.MustCompile(`^[0-9*/,-]+( [0-9*/,-]+){4}$`).MatchString(schedule) || strings.Contains(line, "%") {
				t.Errorf("cron does not read %q", line)
			}
			for range 2 {
				if code, out := d.shell(d.here(strings.Join(fields[5:], " ")), env...); code != 0 || out != "" {
					t.Errorf("exit %d\n%s", code, out)
				}
			}
		}
	}
	d.mustHold("metrics/graphmill.prom", `status="unchanged"} 4`)
}

func TestTheServiceRuns(t *testing.T) {
	d := deploy(t)
	unit := d.here(example(t, "graphmill.service"))
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Log("systemd-analyze is not installed: the units are not verified")
	} else {
		d.write("graphmill.service", unit)
		d.write("graphmill.timer", example(t, "graphmill.timer"))
		if code, out := d.shell("systemd-analyze verify ./graphmill.service ./graphmill.timer"); code != 0 || strings.Contains(out, "graphmill.") {
			t.Errorf("exit %d\n%s", code, out)
		}
	}
	command := regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindStringSubmatch(unit)[1]
	env := regexp.MustCompile(`(?m)^Environment=(.*)$`).FindStringSubmatch(unit)[1]
	if code, out := d.shell(command, env); code != 0 || !strings.Contains(out, "4 ingested") {
		t.Errorf("exit %d\n%s", code, out)
	}
	d.write("docs/bad.pdf", "this is none")
	if code, out := d.shell(command, env); code != 3 || !strings.Contains(unit, "SuccessExitStatus=3") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// workflow are the steps of the example for GitHub that need no other machine.
func workflow(t *testing.T) map[string]string {
	var action struct {
		Jobs map[string]struct {
			Steps []struct{ Name, Uses, Run string }
		}
	}
	if err := yaml.Unmarshal([]byte(example(t, "github-action.yml")), &action); err != nil {
		t.Fatal(err)
	}
	steps := map[string]string{}
	for _, step := range action.Jobs["graph"].Steps {
		if (step.Run == "") == (step.Uses == "") {
			t.Errorf("step %q runs nothing, or two things", step.Name)
		}
		steps[step.Name] = step.Run
	}
	return steps
}

func TestThePullRequestFailsOnBadFilesAndBelowTheGate(t *testing.T) {
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("jq is not installed")
	}
	d, steps := deploy(t), workflow(t)
	run := func(name string, want int, says string) {
		t.Helper()
		code, out := d.shell(steps[name], "GRAPHMILL_DATA_DIR="+d.dir+"/data", "GITHUB_STEP_SUMMARY="+d.dir+"/summary.md")
		if steps[name] == "" || code != want || !strings.Contains(out, says) {
			t.Fatalf("%s: exit %d, want %d\n%s", name, code, want, out)
		}
	}
	for range 2 { // the second pull request changes nothing
		run("Ingest", 0, "")
		run("Show what changed", 0, "")
		run("Quality gate", 0, "")
	}
	d.write("docs/bad.pdf", "this is none")
	run("Ingest", 3, "")
	run("Show what changed", 0, "")
	d.mustHold("summary.md", "* bad.pdf: ")
	for _, name := range []string{"bad.pdf", "0.md", "1.md", "2.md"} {
		if err := os.Remove(filepath.Join(d.docs, name)); err != nil {
			t.Fatal(err)
		}
	}
	run("Ingest", 0, "")
	run("Show what changed", 0, "")
	d.mustHold("summary.md", "entities: 0 added, 0 changed, 3 removed")
	run("Quality gate", 6, "more than a tenth of the entities would go")
}

// No container is started here: what the image is made of is laid out as the
// Dockerfile says, and its command runs there.
func TestTheImageHoldsWhatTheProgramsNeed(t *testing.T) {
	d := deploy(t)
	text := strings.ReplaceAll(example(t, "Dockerfile"), "\\\n", "")
	known := regexp.MustCompile(`^(FROM|RUN|WORKDIR|COPY|ENV|USER|VOLUME|CMD) `)
	root := filepath.Join(d.dir, "image")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if line[0] != '#' && strings.TrimSpace(line) != "" && !known.MatchString(line) {
			t.Errorf("no instruction: %q", line)
		}
		copied := regexp.MustCompile(`^COPY --from=build /src/(\S+) (\S+)`).FindStringSubmatch(line)
		if copied == nil {
			continue
		}
		from, to := filepath.Join("..", copied[1]), filepath.Join(root, copied[2])
		switch {
		case copied[1] == "bin":
			from = filepath.Join(d.dir, "bin")
		case strings.HasPrefix(copied[1], ".deps/"):
			from = filepath.Join(strings.TrimPrefix(d.env[2], "GRAPHMILL_DEPS_DIR="), strings.TrimPrefix(copied[1], ".deps/"))
		}
		if from, _ = filepath.Abs(from); os.MkdirAll(filepath.Dir(to), 0o755) != nil || exec.Command("cp", "-r", from, to).Run() != nil {
			t.Fatalf("cannot copy %s", from)
		}
	}
	cmd := exec.CommandContext(t.Context(), root+"/bin/ingestd", "doctor", "--root", d.docs)
	cmd.Env = []string{"GRAPHMILL_DATA_DIR=" + d.dir + "/data"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// service is one of compose.yaml.
type service struct {
	Command     []string
	Environment map[string]string
	Volumes     []string
}

// The services run as processes side by side, with the commands and variables
// that compose.yaml gives them.
func TestTheComposeFilesServicesWorkTogether(t *testing.T) {
	d := deploy(t)
	engine, server := free(t), free(t)
	secrets := strings.NewReplacer("${GRAPHMILL_DB_PASSWORD:?set it in .env}", "writes", "${GRAPHMILL_READER_PASSWORD:?set it in .env}", "reads",
		"${GRAPHMILL_MCP_TOKEN:?set it in .env}", "ada:"+strings.Repeat("t", 40), "${DOCS:?set it in .env}", d.docs)
	var file struct{ Services map[string]service }
	if err := yaml.Unmarshal([]byte(secrets.Replace(example(t, "compose.yaml"))), &file); err != nil {
		t.Fatal(err)
	}
	deps := strings.TrimPrefix(d.env[2], "GRAPHMILL_DEPS_DIR=")
	place := strings.NewReplacer("/opt/graphmill/.deps", deps, "/data", d.dir+"/data", "/docs", d.docs, "0.0.0.0:8765", server, "0.0.0.0", "127.0.0.1",
		"6379", engine[strings.LastIndexByte(engine, ':')+1:])
	start := func(name string, args ...string) *exec.Cmd {
		t.Helper()
		s := file.Services[name]
		if args == nil {
			args = slices.Clone(s.Command)
		}
		for i := range args {
			args[i] = place.Replace(args[i])
		}
		cmd := exec.Command(args[0], args[1:]...)
		if filepath.Base(args[0]) == args[0] {
			cmd.Path = filepath.Join(d.dir, "bin", args[0])
			cmd.Err = nil
		}
		cmd.Dir, cmd.Env = d.dir, append(slices.Clone(d.env), "GRAPHMILL_DATA_DIR="+d.dir+"/data", "FALKOR_PORT="+engine[strings.LastIndexByte(engine, ':')+1:])
		for key, value := range s.Environment {
			cmd.Env = append(cmd.Env, key+"="+strings.ReplaceAll(value, "engine", "127.0.0.1"))
		}
		return cmd
	}
	stay(t, start("engine"))
	eventually(t, "the engine's health check", func() error {
		out, err := start("engine", "ingestd", "doctor", "--quiet").CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return nil
	})
	if out, err := start("ingestd").CombinedOutput(); err != nil || !strings.Contains(string(out), "4 ingested") {
		t.Fatalf("%v\n%s", err, out)
	}
	stay(t, start("queryd"))
	eventually(t, "queryd", func() error {
		reply, err := http.Get("http://" + server + "/health")
		if err != nil {
			return err
		}
		defer reply.Body.Close()
		if text, _ := io.ReadAll(reply.Body); !strings.Contains(string(text), `"ok"`) {
			return fmt.Errorf("%s", text)
		}
		return nil
	})
}

// free is an address on this machine where nobody listens.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// stay runs a command until the test ends.
func stay(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s:\n%s", cmd.Path, said.String())
		}
	})
}

func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
