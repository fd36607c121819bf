package commandline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
)

// try runs a small program with a verb "work" that ends with err.
func try(t *testing.T, err error, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, told bytes.Buffer
	p := &Program{Name: "prog", Stdout: &out, Stderr: &told, Keys: []string{"data_dir", "output", "quiet"}}
	work := p.Verb(&cobra.Command{Use: "work", Short: "work", Args: cobra.NoArgs}, nil, func(context.Context, []string) error { return err })
	show := p.Verb(&cobra.Command{Use: "show", Short: "show", Args: cobra.NoArgs}, nil, func(context.Context, []string) error {
		return p.Print(map[string]string{"name": "<a>"}, func(w io.Writer) { io.WriteString(w, "name <a>\n") })
	})
	root := Group(&cobra.Command{Use: "prog", Short: "a program", Long: "A program."}, work, show)
	code = p.Execute(t.Context(), root, args)
	return code, out.String(), told.String()
}

func TestAnErrorIsToldOnceAndHasItsCode(t *testing.T) {
	plain := errors.New("open x: it is gone")
	for name, c := range map[string]struct {
		err            error
		args           []string
		code           int
		stdout, stderr string
	}{
		"no error":                   {nil, []string{"work"}, ExitDone, "", ""},
		"a failure":                  {plain, []string{"work"}, ExitFailed, "", "prog: open x: it is gone\n"},
		"wrong usage":                {Usage("no root"), []string{"work"}, ExitUsage, "", "prog: no root\n"},
		"told already":               {&ExitError{Code: ExitSomeFailed}, []string{"work"}, ExitSomeFailed, "", ""},
		"an interruption":            {context.Canceled, []string{"work"}, ExitInterrupted, "", "prog: context canceled\n"},
		"an unknown flag":            {nil, []string{"work", "--nope"}, ExitUsage, "", "prog: unknown flag: --nope; see `prog work --help`\n"},
		"an unknown verb":            {nil, []string{"worc"}, ExitUsage, "", "prog: prog has no verb \"worc\"; did you mean \"work\"? see `prog --help`\n"},
		"an argument too many":       {nil, []string{"work", "x"}, ExitUsage, "", "prog: prog work takes no argument, but was given \"x\"; see `prog work --help`\n"},
		"a result":                   {nil, []string{"show"}, ExitDone, "name <a>\n", ""},
		"a result as JSON":           {nil, []string{"show", "--output", "json"}, ExitDone, `"name": "<a>"`, ""},
		"a setting of a wrong value": {nil, []string{"show", "--output", "xml"}, ExitUsage, "", "output"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := try(t, c.err, c.args...)
			if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
				t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
			}
			if c.stdout == "" && stdout != "" {
				t.Errorf("stdout holds %q", stdout)
			}
			if strings.Count(stderr, "\n") > 1 {
				t.Errorf("stderr has more than one line: %q", stderr)
			}
		})
	}
}

func TestAReaderThatWentAwayIsToldNothing(t *testing.T) {
	for name, c := range map[string]struct {
		stdout error
		told   string
	}{"closed": {syscall.EPIPE, ""}, "a full disk": {syscall.ENOSPC, "prog: no space left on device\n"}} {
		var told bytes.Buffer
		p := &Program{Name: "prog", Stdout: writerFunc(func([]byte) (int, error) { return 0, c.stdout }), Stderr: &told, Keys: []string{"data_dir", "output"}}
		show := p.Verb(&cobra.Command{Use: "show", Args: cobra.NoArgs}, nil, func(context.Context, []string) error {
			return p.Print(1, func(w io.Writer) { io.WriteString(w, "1\n") })
		})
		code := p.Execute(t.Context(), Group(&cobra.Command{Use: "prog"}, show), []string{"show"})
		if code != ExitFailed || told.String() != c.told {
			t.Errorf("%s: exit %d, told %q", name, code, told.String())
		}
	}
}

func TestWhoAskedForJSONGetsAnObjectOnFailure(t *testing.T) {
	code, stdout, stderr := try(t, Usage("no root"), "work", "--output=json")
	var told Failure
	if err := json.Unmarshal([]byte(stdout), &told); err != nil {
		t.Fatalf("stdout %q: %v", stdout, err)
	}
	if code != ExitUsage || told.ExitCode != ExitUsage || told.Error != "no root" || stderr != "prog: no root\n" {
		t.Errorf("exit %d, %+v, stderr %q", code, told, stderr)
	}
}

func TestWhatWouldMoveATerminalIsEscaped(t *testing.T) {
	for text, want := range map[string]string{
		"plain ünïcode 東京": "plain ünïcode 東京",
		"a\nb\tc":          `a\nb\tc`,
		"\x1b[2Jx":         `\u{1B}[2Jx`,
		"abc\u202edef":     `abc\u{202E}def`,
		"zero\u200bwidth":  `zero\u{200B}width`,
		"line\u2028sep":    `line\u{2028}sep`,
	} {
		if got := Printable(text); got != want {
			t.Errorf("Printable(%q) is %q, want %q", text, got, want)
		}
	}
}

func TestADiagnosisFailsWhenACheckFailed(t *testing.T) {
	var d Diagnosis
	d.Add("disk", "enough", nil)
	d.Warn("graph", "not %s", "finalized")
	if d.Failed() {
		t.Error("a warning counts as a failure")
	}
	d.Add("engine", "", errors.New("missing"))
	if !d.Failed() || d.Checks[2] != (Finding{"engine", "failed", "missing"}) || d.Checks[1].Detail != "not finalized" {
		t.Errorf("%+v", d.Checks)
	}
}
