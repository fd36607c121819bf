package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/shape"
)

// ErrLockLost says that another process took the graph over: what was about to
// be written was not.
var ErrLockLost = errors.New("the graph's lock was taken over by another process; nothing of this was written, run again")

// HeldError says who holds the graph.
type HeldError struct {
	Graph string
	Owner LockOwner
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("lock graph %s: `ingestd %s` (pid %d on %s) holds it since %s; wait for it, or give --wait",
		e.Graph, e.Owner.Verb, e.Owner.PID, e.Owner.Host, e.Owner.Since.Format(time.RFC3339))
}

// DefaultLease is how long a lock outlives a holder that is silent: long enough
// for a machine that swaps, short enough for a person who waits.
const DefaultLease = 30 * time.Second

const lockPoll = 200 * time.Millisecond

// Lock is the right to write a graph: a key with an owner and a lease, renewed in
// the background, and a fencing token that grows with every holder and that every
// statement checks.
type Lock struct {
	store    *Store
	lockKey  string
	fenceKey string
	value    string // what the key holds while it is ours
	token    int64
	lease    time.Duration
	prepared bool // the graph knows the token; guarded by Store.writing
	building bool // range indexes are left for later; guarded by Store.writing

	lost     chan struct{}
	loseOnce sync.Once
	stop     chan struct{}
	done     chan struct{}
}

// Acquire takes the graph's lock, waiting as long as wait says, and returns a
// *[HeldError] when another holds it still. A holder on this machine that died
// is taken over at once, one elsewhere when its lease has run out. A lease of 0
// means DefaultLease.
func (s *Store) Acquire(ctx context.Context, owner LockOwner, lease, wait time.Duration) (*Lock, error) {
	if s.held() != nil {
		return nil, fmt.Errorf("lock graph %s: this process holds it already", s.options.Graph)
	}
	if lease <= 0 {
		lease = DefaultLease
	}
	if owner.Since.IsZero() {
		owner.Since = time.Now().UTC()
	}
	value, err := json.Marshal(struct {
		LockOwner
		Nonce string `json:"nonce"`
	}{owner, rand.Text()})
	if err != nil {
		return nil, err
	}
	l := &Lock{
		store: s, value: string(value), lease: lease,
		// The braces put all keys of a graph where the graph itself is in a cluster.
		lockKey:  "graphmill:{" + s.options.Graph + "}:lock",
		fenceKey: "graphmill:{" + s.options.Graph + "}:fence",
		lost:     make(chan struct{}), stop: make(chan struct{}), done: make(chan struct{}),
	}
	for deadline := time.Now().Add(wait); ; {
		err := l.try(ctx)
		if err == nil {
			break
		}
		var held *HeldError
		if !errors.As(err, &held) || !time.Now().Before(deadline) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(min(lockPoll, time.Until(deadline))):
		}
	}
	s.mu.Lock()
	s.lock = l
	s.mu.Unlock()
	go l.renew()
	return l, nil
}

// try takes a free lock or a dead holder's.
//
// Dies between the two writes: the lock stands without a new token and is taken
// over or runs out; the former holder's token is good until the next holder, who
// reads the graph only after raising it.
func (l *Lock) try(ctx context.Context) error {
	db := l.store.client.Redis()
	free, err := db.SetNX(ctx, l.lockKey, l.value, l.lease).Result()
	if err == nil && !free {
		err = l.takeOver(ctx)
	}
	if err == nil {
		l.token, err = db.Incr(ctx, l.fenceKey).Result()
	}
	if held := (*HeldError)(nil); errors.As(err, &held) {
		return held
	}
	return l.store.client.Wrap("use the lock of graph "+l.store.options.Graph, err)
}

// takeOver replaces a dead local holder's value, unless somebody else was faster.
func (l *Lock) takeOver(ctx context.Context) error {
	err := l.store.client.Redis().Watch(ctx, func(tx *redis.Tx) error {
		text, err := tx.Get(ctx, l.lockKey).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		var owner LockOwner
		if err == nil {
			if json.Unmarshal([]byte(text), &owner) != nil || !owner.dead() {
				return &HeldError{Graph: l.store.options.Graph, Owner: owner}
			}
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, l.lockKey, l.value, l.lease)
			return nil
		})
		return err
	}, l.lockKey)
	if errors.Is(err, redis.TxFailedErr) {
		return &HeldError{Graph: l.store.options.Graph, Owner: LockOwner{Verb: "run", Host: "another process", Since: time.Now()}}
	}
	return err
}

// check asks whether another holder raised the token since.
func (l *Lock) check(ctx context.Context) error {
	select {
	case <-l.lost:
		return ErrLockLost
	default:
	}
	token, err := l.store.client.Redis().Get(ctx, l.fenceKey).Int64()
	if err == nil && token != l.token || errors.Is(err, redis.Nil) {
		l.lose()
		return ErrLockLost
	}
	return err
}

// fence writes the token into the graph, making the meta node where there is
// none, unless a later holder's stands there.
//
// Dies before: a former holder may still write, and this one has read nothing.
// Dies after: only this holder may.
func (l *Lock) fence(ctx context.Context) error {
	s := l.store
	if err := l.check(ctx); err != nil {
		return s.explain("lock", err)
	}
	err := s.send(ctx, s.options.Graph, cypher.Chain(
		cypher.New(`MERGE (m:__Meta__ {id: 'default'}) ON CREATE SET m.schema = $schema, m.finalize = 'pending', m.fence = $token`,
			cypher.Params{"schema": shape.Schema, "token": l.token}),
		cypher.New(`OPTIONAL MATCH (m:__Meta__ {id: 'default'})
WITH range(0, 1, CASE WHEN coalesce(m.fence, 0) <= $token THEN 1 ELSE 0 END) AS fence`, cypher.Params{"token": l.token}),
		cypher.New(`MATCH (m:__Meta__ {id: 'default'}) SET m.fence = $token`, cypher.Params{"token": l.token}),
	))
	if err != nil && strings.Contains(err.Error(), "step argument to range()") {
		l.lose()
		err = ErrLockLost
	}
	return s.explain("lock", err)
}

// Lost is closed when the lock is not ours any more.
func (l *Lock) Lost() <-chan struct{} { return l.lost }

func (l *Lock) lose() { l.loseOnce.Do(func() { close(l.lost) }) }

// Release gives the lock back, if it is still ours.
func (l *Lock) Release(ctx context.Context) error {
	l.store.mu.Lock()
	if l.store.lock != l {
		l.store.mu.Unlock()
		return nil
	}
	l.store.lock = nil
	l.store.mu.Unlock()
	close(l.stop)
	<-l.done
	_, err := l.ifOurs(ctx, func(p redis.Pipeliner) { p.Del(ctx, l.lockKey) })
	return l.store.client.Wrap("release lock of graph "+l.store.options.Graph, err)
}

// renew keeps the lease up. An engine that does not answer is asked again until
// the lease has run out.
func (l *Lock) renew() {
	defer close(l.done)
	ticker := time.NewTicker(l.lease / 3)
	defer ticker.Stop()
	good := time.Now()
	for {
		select {
		case <-l.stop:
			return
		case <-ticker.C:
		}
		asked := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), l.lease/3)
		ours, err := l.ifOurs(ctx, func(p redis.Pipeliner) { p.PExpire(ctx, l.lockKey, l.lease) })
		cancel()
		switch {
		case err == nil && ours:
			good = asked
		case err == nil:
			l.lose()
			return
		}
		// A lease that ran out unseen is lost only when somebody took the lock: a long
		// transaction keeps the engine from answering, and the fence decides.
		if time.Since(good) > l.lease && err != nil && conn.KindOf(l.store.client.Wrap("", err)) == conn.Unreachable {
			l.lose()
			return
		}
	}
}

// ifOurs does something to the lock key in a transaction if the key still holds
// our value. A key that ran out while the engine was busy is ours again unless
// the token was raised.
func (l *Lock) ifOurs(ctx context.Context, do func(redis.Pipeliner)) (bool, error) {
	ours := false
	err := l.store.client.Redis().Watch(ctx, func(tx *redis.Tx) error {
		value, err := tx.Get(ctx, l.lockKey).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		expired := errors.Is(err, redis.Nil)
		if !expired && value != l.value {
			return nil
		}
		if expired {
			token, err := tx.Get(ctx, l.fenceKey).Int64()
			if err != nil && !errors.Is(err, redis.Nil) {
				return err
			}
			if token != l.token {
				return nil
			}
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			if expired {
				p.Set(ctx, l.lockKey, l.value, l.lease)
			}
			do(p)
			return nil
		})
		ours = err == nil
		return err
	}, l.lockKey, l.fenceKey)
	if errors.Is(err, redis.TxFailedErr) {
		return false, nil
	}
	return ours, err
}
