package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"graphmill/commandline"
	"graphmill/configs"
	"graphmill/pipeline"
)

// newProgress shows a run on stderr as the configuration says. Where that is a log,
// a bar would be none.
func (a *app) newProgress() progress {
	kind, stderr := a.Config.Progress, a.Stderr
	if a.Config.Log.Format == configs.OutputJSON && kind != configs.ProgressJSON {
		stderr = a.Lines()
		if kind == configs.ProgressBar {
			kind = configs.ProgressPlain
		}
	}
	return newProgress(kind, a.Config.Quiet, stderr)
}

// newProgress chooses how a run is shown on stderr: a bar on a terminal, plain
// lines or JSON events elsewhere.
func newProgress(kind string, quiet bool, stderr io.Writer) progress {
	if kind == configs.ProgressAuto {
		kind = configs.ProgressPlain
		if file, ok := stderr.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
			kind = configs.ProgressBar
		}
		if quiet {
			kind = configs.ProgressNone
		}
	}
	switch kind {
	case configs.ProgressBar:
		return &barProgress{w: stderr}
	case configs.ProgressJSON:
		return &jsonProgress{encoder: json.NewEncoder(stderr)}
	case configs.ProgressPlain:
		return &plainProgress{w: stderr, started: time.Now()}
	default:
		return noProgress{}
	}
}

// progress observes a run and cleans up after itself.
type progress interface {
	pipeline.Observer
	done()
}

type noProgress struct{ pipeline.Silent }

func (noProgress) done() {}

// jsonProgress writes one JSON object a line for every event.
type jsonProgress struct {
	mu      sync.Mutex
	encoder *json.Encoder
}

func (p *jsonProgress) Observe(e pipeline.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.encoder.Encode(e) // stderr that is gone must not stop a run
}

func (p *jsonProgress) done() {}

// plainInterval keeps a log readable: a line every few seconds, not one a file.
const plainInterval = 5 * time.Second

// plainProgress writes a line now and then, and one for each failed file.
type plainProgress struct {
	mu             sync.Mutex
	w              io.Writer
	started, shown time.Time
	listed, ready  int
	step           string
}

func (p *plainProgress) Observe(e pipeline.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Kind {
	case pipeline.FileListed:
		p.listed++
	case pipeline.DocumentDone:
		p.ready++
		if e.Document.Status == pipeline.Failed {
			fmt.Fprintf(p.w, "failed: %s: %s\n", commandline.Printable(e.Document.Path), commandline.Printable(e.Document.Reason))
		}
		p.tick(fmt.Sprintf("%d of %d files, %.1f files/s", p.ready, p.listed, float64(p.ready)/time.Since(p.started).Seconds()))
	case pipeline.FinalizeStep:
		if e.Step != p.step {
			p.step, p.shown = e.Step, time.Time{}
		}
		if e.Total > 0 {
			p.tick(fmt.Sprintf("%s: %d of %d", e.Step, e.Done, e.Total))
		} else {
			p.tick(e.Step)
		}
	}
}

func (p *plainProgress) tick(line string) {
	if time.Since(p.shown) < plainInterval {
		return
	}
	p.shown = time.Now()
	fmt.Fprintln(p.w, line)
}

func (p *plainProgress) done() {}

// barProgress draws a bar with rate and time left.
type barProgress struct {
	mu     sync.Mutex
	w      io.Writer
	bar    *progressbar.ProgressBar
	step   string
	listed int
}

func (p *barProgress) Observe(e pipeline.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Kind {
	case pipeline.FileListed:
		p.listed++
		p.show("ingest", p.listed)
	case pipeline.DocumentDone:
		p.show("ingest", p.listed)
		_ = p.bar.Add(1)
	case pipeline.FinalizeStep:
		if e.Total > 0 {
			p.show(e.Step, e.Total)
			_ = p.bar.Set(e.Done)
		}
	}
}

// show makes step the bar's subject with the given total.
func (p *barProgress) show(step string, total int) {
	if p.bar != nil && p.step == step {
		p.bar.ChangeMax(total)
		return
	}
	p.finishBar()
	p.step = step
	p.bar = progressbar.NewOptions(total,
		progressbar.OptionSetWriter(p.w), progressbar.OptionSetDescription(step),
		progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(24))
}

func (p *barProgress) finishBar() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

func (p *barProgress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finishBar()
}
