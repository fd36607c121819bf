package toolserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Options tune a Set; zero values are defaults.
type Options struct {
	// MaxReplyChars bounds a reply: text and JSON together. 0 means 40,000.
	MaxReplyChars int
	// Include names the tools that are served; none means all.
	Include []string
	// ReplySetting is the setting behind MaxReplyChars, for who wants more; "" for none.
	ReplySetting string
	// Withheld are tools that there are and that are not served, with what a call
	// of one is told.
	Withheld map[string]*Error
	// Secrets are masked wherever an error is shown; nil means none. It is asked
	// each time, because secrets change.
	Secrets func() []string
	// Drop is told the evidence numbers that a shortened reply lost.
	Drop func(numbers []int)
	// Log gets what callers are not told. nil means none.
	Log *slog.Logger
}

const (
	defaultReplyChars = 40_000
	// maxTextChars bounds a reply's text part, which a model reads whole.
	maxTextChars = 8_000
)

// Set is the tools of one session. It is safe for concurrent use.
type Set struct {
	tools   []*Tool
	options Options
}

// NewSet takes the tools that options include. A name that no tool has is an
// error that names those there are.
func NewSet(tools []*Tool, options Options) (*Set, error) {
	if options.MaxReplyChars <= 0 {
		options.MaxReplyChars = defaultReplyChars
	}
	if options.Secrets == nil {
		options.Secrets = func() []string { return nil }
	}
	if options.Log == nil {
		options.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	s := &Set{options: options}
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
		if len(options.Include) == 0 || slices.Contains(options.Include, t.Name) {
			s.tools = append(s.tools, t)
		}
	}
	for _, name := range options.Include {
		if !slices.Contains(names, name) && options.Withheld[name] == nil {
			return nil, &Error{
				Kind: Config, Message: fmt.Sprintf("mcp.include names the tool %q, which there is not%s", name, didYouMean(name, names)),
				Hint: "The tools are " + strings.Join(names, ", "),
			}
		}
	}
	return s, nil
}

// Tools lists what is served.
func (s *Set) Tools() []*Tool { return s.tools }

// Has reports whether a tool is served.
func (s *Set) Has(name string) bool {
	return slices.ContainsFunc(s.tools, func(t *Tool) bool { return t.Name == name })
}

// Reply is a result as it is sent.
type Reply struct {
	Text string // for a reader
	JSON []byte // one object
}

// Call checks the arguments and runs a tool. The error is an *[Error], masked.
func (s *Set) Call(ctx context.Context, name string, arguments []byte) (*Reply, error) {
	start := time.Now()
	reply, err := s.call(ctx, name, arguments)
	took := slog.Duration("took", time.Since(start).Round(time.Microsecond))
	if err == nil {
		s.options.Log.Debug("tool called", "tool", name, took, "chars", utf8.RuneCount(reply.JSON)+utf8.RuneCountInString(reply.Text))
		return reply, nil
	}
	told := *asError(err)
	level := slog.LevelDebug
	if told.Kind == Internal {
		level = slog.LevelError
	}
	s.options.Log.Log(ctx, level, "tool failed", "tool", name, took, "kind", told.Kind, "error", Mask(err.Error(), s.options.Secrets()), "cause", s.cause(told.Err))
	told.Message = brief(Mask(told.Message, s.options.Secrets()))
	told.Hint = Mask(told.Hint, s.options.Secrets())
	return nil, &told
}

// maxMessageChars bounds what is told of a failure: it may quote the arguments.
const maxMessageChars = 1000

func brief(text string) string {
	if utf8.RuneCountInString(text) <= maxMessageChars {
		return text
	}
	runes := []rune(text)
	return string(runes[:maxMessageChars/2]) + " … " + string(runes[len(runes)-maxMessageChars/2:])
}

func (s *Set) cause(err error) string {
	if err == nil {
		return ""
	}
	return Mask(err.Error(), s.options.Secrets())
}

func (s *Set) call(ctx context.Context, name string, arguments []byte) (*Reply, error) {
	t, err := s.find(name)
	if err != nil {
		return nil, err
	}
	checked, err := t.check(arguments)
	if err != nil {
		return nil, err
	}
	result, err := s.guarded(ctx, t, checked)
	if err != nil {
		return nil, err
	}
	return s.reply(t, result)
}

func (s *Set) find(name string) (*Tool, error) {
	var names []string
	for _, t := range s.tools {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	if told := s.options.Withheld[name]; told != nil {
		return nil, told
	}
	if len(names) == 0 {
		return nil, &Error{Kind: Usage, Message: fmt.Sprintf("There is no tool %.80q here", name), Hint: "This server offers none"}
	}
	return nil, &Error{Kind: Usage, Message: fmt.Sprintf("There is no tool %.80q here%s", name, didYouMean(name, names)), Hint: "The tools are " + strings.Join(names, ", ")}
}

// timeOf is how long a call of a tool may take, and whether the tool ends by itself
// then.
func (s *Set) timeOf(name string, standard time.Duration) (limit time.Duration, patient bool) {
	for _, t := range s.tools {
		if t.Name == name && t.Time > 0 {
			return t.Time, true
		}
	}
	return standard, false
}

// guarded runs the tool; a panic in it is an error of this call.
func (s *Set) guarded(ctx context.Context, t *Tool, arguments []byte) (result Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.options.Log.Error("tool panicked", "tool", t.Name, "panic", Mask(fmt.Sprint(p), s.options.Secrets()), "stack", string(debug.Stack()))
			result, err = nil, fmt.Errorf("run tool %s: it panicked", t.Name)
		}
	}()
	return t.run(ctx, arguments)
}

// discard takes the evidence of a reply that nobody was sent out of the session.
func (s *Set) discard(reply *Reply) {
	if reply == nil || s.options.Drop == nil {
		return
	}
	decoder := json.NewDecoder(bytes.NewReader(reply.JSON))
	decoder.UseNumber()
	var root map[string]any
	if decoder.Decode(&root) == nil {
		s.options.Drop(slices.Sorted(maps.Keys(numbers(root))))
	}
}

// reply bounds the result. The text is made of what the JSON holds in the end, so
// that no number stands in it that the session has dropped.
func (s *Set) reply(t *Tool, result Result) (*Reply, error) {
	data, err := marshal(result)
	if err != nil {
		return nil, fmt.Errorf("write reply of %s: %w", t.Name, err)
	}
	textLimit := min(maxTextChars, s.options.MaxReplyChars/4)
	limit := s.options.MaxReplyChars - textLimit
	if t.Wide {
		textLimit, limit = s.options.MaxReplyChars, s.options.MaxReplyChars
	}
	short, gone, err := shorten(data, limit, s.options.ReplySetting)
	if err != nil {
		return nil, err
	}
	if len(short) != len(data) {
		if result, err = t.decode(short); err != nil {
			return nil, fmt.Errorf("read shortened reply of %s: %w", t.Name, err)
		}
	}
	if len(gone) > 0 && s.options.Drop != nil {
		s.options.Drop(gone)
	}
	return &Reply{Text: result.Text(textLimit), JSON: short}, nil
}
