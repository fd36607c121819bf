package toolserver

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"
	"unicode/utf8"
)

// Service offers one program's tools to its clients: every session has tools of
// its own, and the limits, the audit and the metrics are shared. Make one with
// [NewService].
type Service struct {
	about    About
	options  ServiceOptions
	limits   Limits
	template *Set // as advertised; its tools are not run
	open     func() (*Set, error)
	gate     *gate
	sessions *registry
	metrics  *metrics
	stopping chan struct{} // closed when calls that take their time shall end
	stopped  chan struct{} // closed when calls under way are given up
	stopOnce sync.Once
}

// About describes a program to MCP clients.
type About struct {
	Name, Title, Version string
	Instructions         string // the guide for the model that uses the tools
}

// ServiceOptions tune a Service; zero values are defaults.
type ServiceOptions struct {
	Limits Limits
	// Trouble says what keeps the tools from working now, for the instructions of
	// a client that connects; "" for nothing. It may wait a moment to know.
	Trouble func(ctx context.Context) string
	// Graph is what the calls are about, for the audit.
	Graph func() string
	// Audit gets one record a call; nil means none. AuditText adds arguments.
	Audit     slog.Handler
	AuditText bool
	Secrets   func() []string // masked in the audit
	Log       *slog.Logger    // nil means none
}

// NewService serves sets that open makes, one a session. template is what is
// advertised: a set of the same tools. An error of open is told by the call that
// meets it, and the next call tries again.
func NewService(about About, template *Set, open func() (*Set, error), options ServiceOptions) *Service {
	if options.Log == nil {
		options.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if options.Graph == nil {
		options.Graph = func() string { return "" }
	}
	if options.Secrets == nil {
		options.Secrets = func() []string { return nil }
	}
	if options.Trouble == nil {
		options.Trouble = func(context.Context) string { return "" }
	}
	limits := options.Limits.withDefaults()
	s := &Service{
		about: about, options: options, limits: limits, template: template, open: open,
		gate: newGate(limits), sessions: newRegistry(limits.Sessions), stopping: make(chan struct{}), stopped: make(chan struct{}),
	}
	s.metrics = newMetrics(s)
	return s
}

// call runs a tool for a session: in its turn, within its time, and counted.
func (s *Service) call(ctx context.Context, from *session, tool string, arguments []byte) (*Reply, error) {
	start := time.Now()
	reply, err := s.attempt(ctx, from, tool, arguments)
	var told *Error
	if err != nil {
		told = asError(err)
	}
	took := time.Since(start)
	s.metrics.called(s.known(tool), told, took)
	s.audit(from, tool, arguments, reply, told, took)
	if told != nil {
		return nil, told
	}
	return reply, nil
}

// known keeps names that clients make up out of the metrics.
func (s *Service) known(tool string) string {
	if s.template.Has(tool) {
		return tool
	}
	return "unknown"
}

func (s *Service) attempt(ctx context.Context, from *session, tool string, arguments []byte) (*Reply, error) {
	set, err := from.tools(s.open)
	if err != nil {
		return nil, err
	}
	if err := s.gate.enter(ctx); err != nil {
		return nil, err
	}
	type outcome struct {
		reply *Reply
		err   error
	}
	ended := make(chan outcome)
	limit, patient := set.timeOf(tool, s.limits.CallTime)
	working, cancel := context.WithTimeout(ctx, limit)
	if patient {
		defer s.tellStop(&working)()
	}
	nobody := make(chan struct{}) // closed when nobody waits any more
	go func() {
		defer cancel()
		start := time.Now()
		reply, err := set.Call(working, tool, arguments)
		select {
		case ended <- outcome{reply, err}:
			s.gate.leave(time.Since(start), false)
		case <-nobody:
			set.discard(reply)
			s.gate.leave(time.Since(start), true)
		}
	}()
	select {
	case o := <-ended:
		return o.reply, o.err
	case <-working.Done():
		if patient && ctx.Err() == nil {
			select {
			case o := <-ended:
				return o.reply, o.err
			case <-ctx.Done():
			case <-s.stopped:
			}
		}
	case <-s.stopped:
		cancel()
	}
	s.gate.abandon()
	close(nobody)
	select {
	case <-s.stopped:
		return nil, &Error{Kind: Busy, Message: "The server stopped before the call had ended", Hint: "Connect again and repeat the call"}
	default:
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, &Error{
		Kind: Timeout, Message: "The call took longer than " + s.limits.CallTime.String(),
		Hint: "Ask for less, or raise mcp.call_timeout", Err: context.DeadlineExceeded,
	}
}

// ErrStopping is the cause with which the context of a call that takes its time
// ends when the server stops.
var ErrStopping = errors.New("the server stops")

// tellStop ends working with [ErrStopping] when the server begins to stop.
func (s *Service) tellStop(working *context.Context) (done func()) {
	ctx, cancel := context.WithCancelCause(*working)
	*working = ctx
	go func() {
		select {
		case <-s.stopping:
			cancel(ErrStopping)
		case <-ctx.Done():
		}
	}()
	return func() { cancel(nil) }
}

// longest is how long a call may take.
func (s *Service) longest() time.Duration {
	longest := s.limits.CallTime
	for _, t := range s.template.Tools() {
		longest = max(longest, t.Time)
	}
	return longest
}

// maxAuditChars bounds the arguments in an audit record.
const maxAuditChars = 4000

func (s *Service) audit(from *session, tool string, arguments []byte, reply *Reply, told *Error, took time.Duration) {
	if s.options.Audit == nil {
		return
	}
	outcome, chars := "ok", 0
	if told != nil {
		outcome = string(told.Kind)
		chars = utf8.RuneCountInString(told.Error())
	} else {
		chars = utf8.RuneCount(reply.JSON) + utf8.RuneCountInString(reply.Text)
	}
	record := slog.NewRecord(time.Now(), slog.LevelInfo, "call", 0)
	record.AddAttrs(
		slog.String("who", from.who()), slog.String("session", from.label()), slog.String("transport", from.over),
		slog.String("tool", s.known(tool)), slog.String("graph", s.options.Graph()),
		slog.Int("request_bytes", len(arguments)), slog.Int("reply_chars", chars),
		slog.Float64("ms", float64(took.Microseconds())/1000), slog.String("outcome", outcome),
	)
	if s.options.AuditText {
		text := Mask(string(arguments), s.options.Secrets())
		if utf8.RuneCountInString(text) > maxAuditChars {
			text = string([]rune(text)[:maxAuditChars]) + "…"
		}
		record.AddAttrs(slog.String("arguments", text))
	}
	if err := s.options.Audit.Handle(context.Background(), record); err != nil {
		s.options.Log.Error("the audit record could not be written", "error", err)
	}
}

// who names the caller: its token, or that it had none.
func (s *session) who() string {
	if s.owner == "" {
		return "anonymous"
	}
	return s.owner
}

// label tells sessions apart without giving the id away: whoever has it and the
// token could cite its evidence.
func (s *session) label() string {
	const shown = 6
	return s.id[:min(shown, len(s.id))]
}

// stop refuses new calls, waits until those under way have ended, and gives up on
// them after the drain time.
func (s *Service) stop() {
	s.stopOnce.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), s.limits.DrainTime)
		defer cancel()
		close(s.stopping)
		if !s.gate.drain(ctx) {
			load := s.gate.load()
			s.options.Log.Warn("stopping although calls are under way", "working", load.working, "waiting", load.waiting)
		}
		close(s.stopped)
	})
}
