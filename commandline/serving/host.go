package serving

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"graphmill/configs"
	"graphmill/toolserver"
)

// host holds what a server needs between calls. When the configuration cannot be
// used it says why in every call, reads it again, and goes on once it is right.
type host struct {
	*Program
	ctx    context.Context // of the server, after its last call
	load   func() (*configs.Config, error)
	secret func() []string // beyond the configuration's

	mu      sync.Mutex
	broken  error
	looked  time.Time
	backend Backend // nil while broken
}

func (p *Program) newHost(ctx context.Context, load func() (*configs.Config, error), secret func() []string) *host {
	return &host{Program: p, ctx: ctx, load: load, secret: secret}
}

// begin uses the program's configuration, or remembers why it cannot.
func (h *host) begin(broken error) {
	h.mu.Lock()
	h.looked, h.broken = time.Now(), broken
	if broken == nil {
		h.start(h.Config)
	}
	broken = h.broken
	h.mu.Unlock() // the log asks for secrets, which are guarded too
	if broken != nil {
		h.Log.Error("the configuration cannot be used; every call says so until it is put right", "error", broken)
	}
}

// start uses a configuration, unless the backend refuses it.
func (h *host) start(cfg *configs.Config) {
	b := h.Open(h.ctx, h.with(cfg).Program, true)
	if err := b.Begin(); err != nil {
		h.broken = errors.Join(err, b.Close())
		return
	}
	h.broken, h.backend = nil, b
}

// often is how soon a configuration that was wrong is read again.
const often = time.Second

// current is the backend, or why there is none.
func (h *host) current() (Backend, error) {
	h.mu.Lock()
	healed := false
	if h.backend == nil && time.Since(h.looked) >= often {
		h.looked = time.Now()
		cfg, err := h.load()
		h.broken = err
		if err == nil {
			h.start(cfg)
		}
		healed = h.broken == nil
	}
	b, broken := h.backend, h.broken
	h.mu.Unlock()
	if healed {
		h.Log.Info("the configuration was read again and is right now")
	}
	if b == nil {
		return nil, h.configTrouble(broken)
	}
	return b, nil
}

// configTrouble is what a caller is told of a configuration that cannot be used.
func (p *Program) configTrouble(err error) error {
	var told *toolserver.Error
	if errors.As(err, &told) {
		return told
	}
	text := strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "read configuration: ")), " ")
	return &toolserver.Error{
		Kind: toolserver.Config, Message: "The server's configuration cannot be used: " + text,
		Hint: fmt.Sprintf("Put it right; it is read again with the next call. `%s doctor` checks it", p.Name), Err: err,
	}
}

// open makes the tools of one session.
func (h *host) open() (*toolserver.Set, error) {
	b, err := h.current()
	if err != nil {
		return nil, err
	}
	return b.Tools(h.secrets)
}

// secrets are what no client and no log may see.
func (h *host) secrets() []string {
	secrets := append(Secrets(h.Config), h.secret()...)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.backend != nil {
		secrets = append(secrets, h.backend.Secrets()...)
	}
	return secrets
}

// trouble says what keeps calls from working, waiting a moment for what is just
// being opened.
func (h *host) trouble(ctx context.Context) string {
	const moment = 150 * time.Millisecond
	b, err := h.current()
	if err != nil {
		return toolserver.Mask(err.Error(), h.secrets())
	}
	waiting, cancel := context.WithTimeout(ctx, moment)
	defer cancel()
	if err := b.Trouble(waiting); err != nil && waiting.Err() == nil {
		return h.tell(err)
	}
	return h.degraded()
}

func (h *host) tell(err error) string {
	text := strings.TrimRight(toolserver.Mask(err.Error(), h.secrets()), ".")
	return fmt.Sprintf("%s.", text)
}

// degraded is trouble as it is known, without looking.
func (h *host) degraded() string {
	h.mu.Lock()
	b, broken := h.backend, h.broken
	h.mu.Unlock()
	if b == nil {
		return h.tell(h.configTrouble(broken))
	}
	if err := b.Known(); err != nil {
		return h.tell(err)
	}
	return ""
}

func (h *host) graph() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.backend == nil {
		return h.Config.GraphName()
	}
	return h.backend.Graph()
}

func (h *host) close() error {
	h.mu.Lock()
	b := h.backend
	h.mu.Unlock()
	if b == nil {
		return nil
	}
	return b.Close()
}

// Secrets are those of a configuration that no error may show.
func Secrets(cfg *configs.Config) []string {
	return []string{
		cfg.Falkor.Password.Reveal(), cfg.Falkor.Reader.Password.Reveal(),
		cfg.LLM.OpenAI.APIKey.Reveal(), cfg.LLM.Anthropic.APIKey.Reveal(),
	}
}
