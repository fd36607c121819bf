package conn

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
)

// Kind classes errors by what can be done about them.
type Kind string

// The kinds of errors. Other has no remedy but its own message.
const (
	Unreachable Kind = "unreachable"
	Auth        Kind = "auth"
	Loading     Kind = "loading"
	NoGraph     Kind = "no such graph"
	ReadOnly    Kind = "read only"
	Timeout     Kind = "timeout"
	Memory      Kind = "out of memory"
	Syntax      Kind = "syntax"
	Busy        Kind = "busy"
	Refused     Kind = "refused"
	Reply       Kind = "reply" // an answer that this program cannot read
	Other       Kind = "other"
)

// Error is what went wrong between the program and FalkorDB. Its text holds the
// hint and never a password.
type Error struct {
	Kind Kind
	Op   string // "read graph knowledge_graph"
	Hint string // what to do next; may be empty
	Err  error
	text string
}

func (e *Error) Error() string {
	s := e.Op
	if e.text != "" {
		s += ": " + e.text
	}
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the first [Error] in err's chain: "" for nil, Other
// when there is none.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Other
}

// Wrap classifies an error of the connection underneath. Nil stays nil, and a
// context that was cancelled stays what it is.
func (c *Client) Wrap(op string, err error) error {
	var already *Error
	if err == nil || errors.Is(err, context.Canceled) || errors.As(err, &already) {
		return err
	}
	kind := classify(err)
	return &Error{Kind: kind, Op: op, Hint: c.hint(kind), Err: err, text: c.redact(firstLine(err.Error()))}
}

// serverSays maps how the engine words its errors to kinds, first match first.
var serverSays = []struct {
	part string
	kind Kind
}{
	{"LOADING", Loading},
	{"WRONGPASS", Auth},
	{"NOAUTH", Auth},
	{"NOPERM", Auth},
	{"invalid username-password", Auth},
	{"Client sent AUTH", Auth},
	{"without any password configured", Auth},
	{"empty key", NoGraph},
	{"WRONGTYPE", NoGraph},
	{"to be executed only on read-only", ReadOnly},
	{"READONLY", ReadOnly},
	{"Query timed out", Timeout},
	{"OOM command", Memory},
	{"mem consumption exceeded", Memory},
	{"out of memory", Memory},
	{"Max pending queries exceeded", Busy},
	{"max number of clients", Busy},
	{"EXECABORT", Refused},
	{"errMsg:", Syntax},
	{"not defined", Syntax},
	{"Unknown function", Syntax},
	{"unknown command", Unreachable},
}

func classify(err error) Kind {
	var decode *decodeError
	if errors.As(err, &decode) {
		return Reply
	}
	var timeout net.Error
	switch text := err.Error(); {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return Timeout
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.EACCES), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return Unreachable
	default:
		for _, says := range serverSays {
			if strings.Contains(text, says.part) {
				return says.kind
			}
		}
		if errors.As(err, &timeout) || strings.Contains(text, "tls:") || strings.Contains(text, "x509:") || strings.Contains(text, "dial") {
			return Unreachable
		}
	}
	return Other
}

func (c *Client) hint(kind Kind) string {
	switch kind {
	case Unreachable:
		if c.options.Socket != "" {
			return "the local engine at " + c.options.Socket + " does not answer; `ingestd db status` says why, `ingestd db start` starts it"
		}
		return "check FALKOR_HOST, FALKOR_PORT and TLS, and that FalkorDB runs at " + c.Address()
	case Auth:
		return "check FALKOR_USERNAME and FALKOR_PASSWORD and what that user may do"
	case Loading:
		return "the engine is reading its data; wait and try again"
	case NoGraph:
		return "the graph was never written or has been deleted; `ingestd run` writes it"
	case ReadOnly:
		return "only reading statements are allowed here"
	case Timeout:
		return "ask for less, or raise the time-out"
	case Memory:
		return "give the engine more memory (maxmemory, QUERY_MEM_CAPACITY) or ask for less"
	case Refused:
		return "the server refused a part of a transaction: it has no memory left (maxmemory), or this user may not do it"
	case Busy:
		return "the engine has too much to do; try again later"
	}
	return ""
}

// redact takes the password out of what a server or a library said.
func (c *Client) redact(text string) string {
	if c.options.Password == "" {
		return text
	}
	return strings.ReplaceAll(text, c.options.Password, "***")
}

// firstLine keeps what the engine says and drops the statement it quotes, which
// holds text of documents.
func firstLine(text string) string {
	text, _, _ = strings.Cut(text, " errCtx:")
	text, _, _ = strings.Cut(text, "\n")
	const most = 300
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
