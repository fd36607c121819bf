package toolserver

import (
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Progress tells the client of the call whose context ctx is how far it is, if the
// client wants to know: done of total steps (0 for a total that is not known), and
// a sentence. It returns at once; when the client reads slowly, the newest tell
// for all.
func Progress(ctx context.Context, done, total float64, message string) {
	if p, ok := ctx.Value(progressKey{}).(*progress); ok {
		p.tell(done, total, message)
	}
}

type progressKey struct{}

const (
	// heartbeat is how often a call that has nothing new to tell says so: clients
	// that give up after a minute of silence are common.
	heartbeat = 15 * time.Second
	// maxUntold is how many steps wait to be sent.
	maxUntold = 64
	// moment is what a step that is told again counts as: the protocol wants each
	// figure to be above the one before.
	moment = 1e-3
)

// progress sends what a call tells. It is safe for concurrent use.
type progress struct {
	send func(mcp.ProgressNotificationParams)
	wake chan struct{}
	over chan struct{}

	mu     sync.Mutex
	untold []mcp.ProgressNotificationParams
	last   mcp.ProgressNotificationParams
}

// withProgress lets a call tell how far it is, when the request asks for it. end
// sends what is left and must be called before the answer.
func withProgress(ctx context.Context, request *mcp.CallToolRequest) (_ context.Context, end func()) {
	token := request.Params.GetProgressToken()
	if token == nil || request.Session == nil {
		return ctx, func() {}
	}
	p := &progress{wake: make(chan struct{}, 1), over: make(chan struct{})}
	p.send = func(params mcp.ProgressNotificationParams) {
		params.ProgressToken = token
		_ = request.Session.NotifyProgress(ctx, &params) // who is gone need not know
	}
	var sending sync.WaitGroup
	sending.Go(p.run)
	return context.WithValue(ctx, progressKey{}, p), sync.OnceFunc(func() {
		close(p.over)
		sending.Wait()
	})
}

func (p *progress) tell(done, total float64, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = mcp.ProgressNotificationParams{Progress: max(done, p.last.Progress+moment), Total: total, Message: message}
	p.untold = append(p.untold, p.last)
	if len(p.untold) > maxUntold {
		p.untold = p.untold[1:]
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// again tells the last step once more.
func (p *progress) again() {
	p.mu.Lock()
	last := p.last
	p.mu.Unlock()
	if last.Message != "" {
		p.tell(last.Progress, last.Total, last.Message)
	}
}

func (p *progress) run() {
	quiet := time.NewTimer(heartbeat)
	defer quiet.Stop()
	for {
		select {
		case <-p.wake:
			p.flush()
			quiet.Reset(heartbeat)
		case <-quiet.C:
			p.again()
			quiet.Reset(heartbeat)
		case <-p.over:
			p.flush()
			return
		}
	}
}

func (p *progress) flush() {
	p.mu.Lock()
	untold := p.untold
	p.untold = nil
	p.mu.Unlock()
	for _, params := range untold {
		p.send(params)
	}
}
