package main

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"graphmill/pipeline"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/models"
)

// What the commit protocol may cost over the same rows written without it.
const targetProtocol = 0.15

// benchProtocol commits the documents of a finished graph and records what goes to
// the engine. That is sent again in turns, once as it was and once without what
// makes it safe: the question for the fence and its check, the counts and the
// marks in the meta node, the ledger of changes. Reading what stands and merging
// belong to writing and are in both.
func benchProtocol(ctx context.Context, w *world, t *table) error {
	if _, err := w.ingestByRule(ctx, "ours", w.corpus); err != nil {
		return err
	}
	embedder, err := models.NewHashEmbedder(benchDimension)
	if err != nil {
		return err
	}
	s, err := w.takeSnapshot(ctx, "ours", embedder)
	if err != nil {
		return err
	}
	recorded, err := w.record(ctx, s)
	if err != nil {
		return err
	}
	with, without := recorded, bareCommands(recorded)
	var safe, plain cost
	for range w.rounds {
		a, err := w.replay(ctx, with)
		if err != nil {
			return err
		}
		b, err := w.replay(ctx, without)
		if err != nil {
			return err
		}
		safe, plain = least(safe, a), least(plain, b)
	}
	extra := safe.wall/plain.wall - 1
	t.add(line{
		what: "commit protocol over the same rows without it", ours: fmt.Sprintf("%.2f s", safe.wall), limit: fmt.Sprintf("%.2f s", plain.wall),
		ratio: fmt.Sprintf("%+.0f %%", 100*extra), target: "≤ 15 %", met: extra <= targetProtocol,
		note: fmt.Sprintf("%d rows, %d commands and %d; engine %.2f and %.2f s", s.rows(), len(with), len(without), safe.engine, plain.engine),
	})
	return nil
}

// recorder keeps the commands of a connection.
type recorder struct {
	mu       sync.Mutex
	commands [][]any
}

func (r *recorder) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r *recorder) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (r *recorder) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		args := append([]any{}, command.Args()...)
		for i, arg := range args {
			if text, ok := arg.([]byte); ok { // the next statement is written over it
				args[i] = string(text)
			}
		}
		switch name := strings.ToUpper(fmt.Sprint(args[0])); name {
		case "GET", "GRAPH.QUERY", "GRAPH.RO_QUERY":
			r.mu.Lock()
			r.commands = append(r.commands, args)
			r.mu.Unlock()
		}
		return next(ctx, command)
	}
}

// record commits a snapshot's documents through a connection of their own, in
// transactions of the size that a graph that is being served gets.
func (w *world) record(ctx context.Context, s *snapshot) ([][]any, error) {
	login := w.lease.Credentials()
	client, err := conn.Open(conn.Options{Socket: w.lease.Address(), Username: login.User, Password: login.Secret})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	own := *w
	own.client = client
	r := &recorder{}
	client.Redis().AddHook(r)
	w.drop(ctx, "written")
	err = own.locked(ctx, "written", func(to *store.Store) error {
		var batch []store.Change
		rows := 0
		for i, c := range s.changes {
			batch, rows = append(batch, c), rows+c.Rows()
			if i+1 < len(s.changes) && rows+s.changes[i+1].Rows() <= pipeline.ServedRows && len(batch) < pipeline.ServedDocuments {
				continue
			}
			if err := to.Commit(ctx, batch); err != nil {
				return err
			}
			batch, rows = nil, 0
		}
		return nil
	})
	if err == nil && len(r.commands) == 0 {
		err = fmt.Errorf("nothing was recorded")
	}
	return r.commands, err
}

// bareCommands are the recorded ones without the protocol.
func bareCommands(recorded [][]any) [][]any {
	const between = "\nWITH count(*) AS done\n"
	var out [][]any
	for _, args := range recorded {
		if len(args) < 3 {
			continue // the question for the fence
		}
		text, _ := args[2].(string)
		// Strings in the parameters have no line ends, so that parts are told apart.
		parts := strings.Split(text, between)
		header, first := "", parts[0]
		if at := strings.Index(first, "OPTIONAL MATCH (m:__Meta__"); at > 0 && len(parts) > 1 {
			header, parts = first[:at], parts[1:]
		}
		var kept []string
		for _, part := range parts {
			if !strings.Contains(part, ":__Meta__") && !strings.Contains(part, ":__Run__") && !strings.Contains(part, ":__Change") {
				kept = append(kept, part)
			}
		}
		if len(kept) > 0 {
			bare := append([]any{}, args...)
			bare[2] = header + strings.Join(kept, between)
			out = append(out, bare)
		}
	}
	return out
}

// replay sends commands into a graph that is made anew.
func (w *world) replay(ctx context.Context, commands [][]any) (cost, error) {
	w.drop(ctx, "written")
	return w.measure(ctx, func() (cost, error) {
		for _, args := range commands {
			err := w.client.Redis().Do(ctx, args...).Err()
			if err != nil && err != redis.Nil && !strings.Contains(err.Error(), "empty key") {
				return cost{}, fmt.Errorf("replay %.200v: %w", args[1:], err)
			}
		}
		return cost{}, nil
	})
}
