package commandline

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"strings"

	"graphmill/configs"
)

// Lines is stderr for lines that people read. With log.format json each line is a
// record of its own, so that all of stderr can be read as such.
func (p *Program) Lines() io.Writer {
	if p.Config == nil || p.Config.Log.Format != configs.OutputJSON {
		return p.Stderr
	}
	return records{slog.New(slog.NewJSONHandler(p.Stderr, nil))}
}

// records makes a log record of each line that is written to it.
type records struct{ log *slog.Logger }

func (r records) Write(text []byte) (int, error) {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			r.log.Info(string(line))
		}
	}
	return len(text), nil
}

// tell says on stderr why the program ends.
func (p *Program) tell(args []string, text string, code int) {
	if p.logsJSON(args) {
		slog.New(slog.NewJSONHandler(p.Stderr, nil)).Error(p.Name+": "+text, "exit_code", code)
		return
	}
	_, _ = io.WriteString(p.Stderr, p.Name+": "+text+"\n")
}

// logsJSON also knows when the configuration could not be loaded.
func (p *Program) logsJSON(args []string) bool {
	if p.Config != nil {
		return p.Config.Log.Format == configs.OutputJSON
	}
	return recordsAskedFor(args)
}

// Note writes a line to stderr for a program whose configuration may not be
// loaded yet.
func Note(stderr io.Writer, args []string, text string) {
	if recordsAskedFor(args) {
		slog.New(slog.NewJSONHandler(stderr, nil)).Info(text)
		return
	}
	_, _ = io.WriteString(stderr, text+"\n")
}

// recordsAskedFor reads the command line and the environment alone.
func recordsAskedFor(args []string) bool {
	given := strings.Join(args, " ")
	return strings.Contains(given, "--log-format=json") || strings.Contains(given, "--log-format json") || os.Getenv("GRAPHMILL_LOG_FORMAT") == configs.OutputJSON
}
