package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// progressEvery is how often a wait is talked about.
	progressEvery = 2 * time.Second
	// probeTimeout bounds one question: a server that rebuilds an index does not
	// answer at all, and is asked again.
	probeTimeout = time.Second
	probeFirst   = 5 * time.Millisecond
	probeMost    = 250 * time.Millisecond
)

// state is what a server answers.
type state int

const (
	// absent: nobody listens on the socket.
	absent state = iota
	// silent: no answer in time.
	silent
	loading
	ready
	// refused: it does not know the user or the secret.
	refused
)

// waitReady returns when the server has loaded its graphs. A server that shows no
// sign of work for StartTimeout is given up; one that works is waited for.
func (l *Lease) waitReady(ctx context.Context) error {
	began := time.Now()
	said, moved, last := began, began, ""
	for delay := probeFirst; ; delay = min(2*delay, probeMost) {
		answer, detail := l.probe(ctx)
		switch answer {
		case ready:
			return nil
		case refused:
			return &Error{
				Verb: "log in to", Subject: l.layout.dir, Reason: detail,
				Hint: "its secrets were changed while it ran: `ingestd db stop`, then run again",
			}
		}
		if !l.server.alive() {
			return l.layout.diedError("start", l.server)
		}
		if now := l.signs(answer, detail); now != last {
			last, moved = now, time.Now()
		}
		if time.Since(moved) > l.options.StartTimeout {
			return &Error{
				Verb: "start", Subject: l.layout.dir, Reason: fmt.Sprintf("process %d shows no sign of work for %s", l.server.PID, l.options.StartTimeout),
				Hint: "see " + l.layout.logFile() + "; engine.start_timeout waits longer", Log: l.layout.logTail(l.server.LogStart),
			}
		}
		if time.Since(said) > progressEvery {
			said = time.Now()
			l.options.Progress(waitingFor(answer, detail, time.Since(began)))
		}
		if err := pause(ctx, delay); err != nil {
			return &Error{Verb: "wait for", Subject: l.layout.dir, Reason: waitingFor(answer, detail, time.Since(began)), Err: err}
		}
	}
}

// signs changes while the server works: what it says, its log, and, when it is too
// busy to answer, its processor time.
func (l *Lease) signs(answer state, detail string) string {
	ticks := uint64(0)
	if answer != absent {
		ticks = processTicks(l.server.PID)
	}
	return fmt.Sprintf("%d %s %d %s", answer, detail, ticks, l.layout.logTail(l.server.LogStart))
}

func waitingFor(answer state, detail string, waited time.Duration) string {
	text := "the local engine is starting"
	if answer == loading {
		text = "the local engine is loading its graphs and rebuilding their indexes"
	}
	if detail != "" {
		text += ", " + detail
	}
	return fmt.Sprintf("%s (%s so far)", text, waited.Round(time.Second))
}

// probe asks the server how it is, as this lease's user.
func (l *Lease) probe(ctx context.Context) (state, string) {
	dialer := net.Dialer{Timeout: probeTimeout}
	connection, err := dialer.DialContext(ctx, "unix", l.address)
	if errors.Is(err, syscall.EAGAIN) {
		return silent, "" // its queue of connections is full
	}
	if err != nil {
		return absent, ""
	}
	defer connection.Close()
	connection.SetDeadline(time.Now().Add(probeTimeout))
	replies := bufio.NewReader(connection)
	for _, words := range [][]string{{"AUTH", l.credentials.User, l.credentials.Secret}, {"PING"}} {
		reply, err := ask(connection, replies, words...)
		if err != nil {
			return silent, ""
		}
		if answer := judge(reply); answer == loading {
			return loading, l.loadDetail(connection, replies)
		} else if answer != ready {
			return answer, strings.TrimPrefix(reply, "-")
		}
	}
	return ready, ""
}

// judge reads a reply to AUTH or PING. An error that is not about the login comes
// from a server that is up and busy.
func judge(reply string) state {
	kind, _, _ := strings.Cut(reply, " ")
	switch kind {
	case "-LOADING":
		return loading
	case "-WRONGPASS", "-NOPERM", "-NOAUTH":
		return refused
	case "-ERR":
		return silent
	}
	return ready
}

// loadDetail says how far the server has read; only the writer may ask.
func (l *Lease) loadDetail(connection io.Writer, replies *bufio.Reader) string {
	if l.credentials.User != string(Writer) {
		return ""
	}
	info, err := ask(connection, replies, "INFO", "persistence")
	if err != nil {
		return ""
	}
	return loadedPercent(info)
}

func loadedPercent(info string) string {
	for line := range strings.Lines(info) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), "loading_loaded_perc:"); found {
			return value + " % read"
		}
	}
	return ""
}

// ask sends one command and reads a simple or a bulk reply. It is all of the
// protocol that starting needs; everything else goes through pipeline/falkor.
func ask(connection io.Writer, replies *bufio.Reader, words ...string) (string, error) {
	var command strings.Builder
	fmt.Fprintf(&command, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&command, "$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(connection, command.String()); err != nil {
		return "", err
	}
	line, err := replies.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	if !strings.HasPrefix(line, "$") {
		return line, nil
	}
	size, err := strconv.Atoi(line[1:])
	if err != nil || size < 0 || size > 1<<20 {
		return "", errors.New("read reply: unexpected length " + line)
	}
	text := make([]byte, size+2)
	if _, err := io.ReadFull(replies, text); err != nil {
		return "", err
	}
	return string(text[:size]), nil
}

// accepts reports whether somebody listens on a socket.
func accepts(socket string) bool {
	connection, err := net.DialTimeout("unix", socket, probeTimeout)
	if err != nil {
		return false
	}
	connection.Close()
	return true
}
