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
	"graphmill/pipeline/faultpoint"
)

// ErrLockLost says that another process took the graph over: what was about to
// be written was not.
var ErrLockLost = errors.New("the graph's lock was taken over by another process; nothing of this was written, run again")

// HeldError says who holds the graph.
type HeldError struct {
	Graph  string
	Owner  LockOwner
	Others int // that share it with him
}

func (e *HeldError) Error() string {
	others, holds := "", "holds"
	if e.Others > 0 {
		others, holds = fmt.Sprintf(" and %d more", e.Others), "hold"
	}
	return fmt.Sprintf("lock graph %s: `ingestd %s` (pid %d on %s)%s %s it since %s; wait for it, or give --wait",
		e.Graph, e.Owner.Verb, e.Owner.PID, e.Owner.Host, others, holds, e.Owner.Since.Format(time.RFC3339))
}

// DefaultLease is how long a lock outlives a holder that is silent: long enough
// for a machine that swaps, short enough for a person who waits.
const DefaultLease = 30 * time.Second

const lockPoll = 200 * time.Millisecond

// Lock is the right to write a graph: a key with an owner and a lease, renewed in
// the background, and a fencing token that grows with every holder and that every
// statement checks.
type Lock struct {
	store     *Store
	shared    bool   // beside others that add, too
	lockKey   string // who has the lock alone
	sharedKey string // who share it
	intentKey string // who waits to have it alone
	turnKey   string // which of those who share it commits
	fenceKey  string // how often it was taken alone
	value     string // names this holder
	count     int64  // of fenceKey, when it became ours
	lease     time.Duration
	patient   bool // it waits to have the lock alone
	prepared  bool // the graph knows the token; guarded by Store.writing
	building  bool // range indexes are left for later; guarded by Store.writing
	read      *int // of a shared lock: commits when a commit under way began to read; guarded by Store.writing

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
	return s.acquire(ctx, owner, lease, wait, false)
}

func (s *Store) acquire(ctx context.Context, owner LockOwner, lease, wait time.Duration, shared bool) (*Lock, error) {
	if s.held() != nil {
		return nil, fmt.Errorf("lock graph %s: this process holds it already", s.options.Graph)
	}
	if lease <= 0 {
		lease = DefaultLease
	}
	if owner.Since.IsZero() {
		owner.Since = faultpoint.Now().UTC()
	}
	value, err := json.Marshal(struct {
		LockOwner
		Nonce string `json:"nonce"`
	}{owner, rand.Text()})
	if err != nil {
		return nil, err
	}
	key := "graphmill:{" + s.options.Graph + "}:" // the braces put all keys of a graph where it is itself in a cluster
	l := &Lock{
		store: s, value: string(value), lease: lease, shared: shared, patient: wait > 0 && !shared,
		lockKey: key + "lock", sharedKey: key + "shared", intentKey: key + "waiting", turnKey: key + "turn", fenceKey: key + "fence",
		lost: make(chan struct{}), stop: make(chan struct{}), done: make(chan struct{}),
	}
	if err := l.await(ctx, wait); err != nil {
		if l.patient {
			l.giveUp(ctx)
		}
		return nil, err
	}
	s.mu.Lock()
	s.lock = l
	s.mu.Unlock()
	go l.renew()
	return l, nil
}

// await tries to take the lock until that works, or for as long as wait says.
func (l *Lock) await(ctx context.Context, wait time.Duration) error {
	for deadline := time.Now().Add(wait); ; {
		err := l.try(ctx)
		var held *HeldError
		if err == nil || !errors.As(err, &held) || !time.Now().Before(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(lockPoll, time.Until(deadline))):
		}
	}
}

// try takes a free lock or a dead holder's.
func (l *Lock) try(ctx context.Context) error {
	faultpoint.Reach("before", "lock")
	err := l.take(ctx)
	if err == nil && !l.shared {
		faultpoint.Reach("without token in", "lock")
		l.count, err = l.store.client.Redis().Incr(ctx, l.fenceKey).Result()
		faultpoint.Reach("after", "lock")
	}
	if held := (*HeldError)(nil); errors.As(err, &held) {
		return held
	}
	return l.store.client.Wrap("use the lock of graph "+l.store.options.Graph, err)
}

// token is what every statement of this holder compares with the graph's.
func (l *Lock) token() int64 { return tokenOf(l.count, l.shared) }

// check asks whether another holder raised the token since.
func (l *Lock) check(ctx context.Context) error {
	select {
	case <-l.lost:
		return ErrLockLost
	default:
	}
	count, err := countOf(l.store.client.Redis().Get(ctx, l.fenceKey))
	if err == nil && count != l.count {
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
	faultpoint.Reach("before", "fence")
	err := s.send(ctx, s.options.Graph, cypher.Chain(
		cypher.New(`MERGE (m:__Meta__ {id: 'default'}) ON CREATE SET m.schema = $schema, m.finalize = 'pending', m.fence = $token`,
			cypher.Params{"schema": shape.Schema, "token": l.token()}),
		cypher.New(`OPTIONAL MATCH (m:__Meta__ {id: 'default'})
WITH range(0, 1, CASE WHEN coalesce(m.fence, 0) <= $token THEN 1 ELSE 0 END) AS fence`, cypher.Params{"token": l.token()}),
		cypher.New(`MATCH (m:__Meta__ {id: 'default'}) SET m.fence = $token`, cypher.Params{"token": l.token()}),
	))
	if err != nil && strings.Contains(err.Error(), "step argument to range()") {
		l.lose()
		err = ErrLockLost
	}
	faultpoint.Reach("after", "fence")
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
	faultpoint.Reach("before", "release")
	var err error
	if l.shared {
		err = l.store.client.Redis().ZRem(ctx, l.sharedKey, l.value).Err()
	} else {
		_, err = l.ifOurs(ctx, func(p redis.Pipeliner) { p.Del(ctx, l.lockKey) })
	}
	faultpoint.Reach("after", "release")
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
		ours, err := l.renewOnce(ctx)
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

func (l *Lock) renewOnce(ctx context.Context) (ours bool, err error) {
	if l.shared {
		return l.renewShare(ctx)
	}
	return l.ifOurs(ctx, func(p redis.Pipeliner) { p.PExpire(ctx, l.lockKey, l.lease) })
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
			count, err := countOf(tx.Get(ctx, l.fenceKey))
			if err != nil || count != l.count {
				return err
			}
			if _, sharing, _, err := l.sharers(ctx, tx); err != nil || sharing > 0 {
				return err
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
	}, l.lockKey, l.fenceKey, l.sharedKey)
	if errors.Is(err, redis.TxFailedErr) {
		return false, nil
	}
	return ours, err
}
