package store

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Several holders may share a graph's lock to add to it side by side. They stand
// with the end of their lease in a sorted set beside the key of the one who has
// the lock alone; whoever takes it either way looks at both in one transaction
// that fails when one changed. Their fencing token is that of the last who had
// the lock alone, raised by a half (tokens count in halves), so that theirs is
// above his and below the next one's: a lone holder who comes fences off all of
// them at once, and they fence off the one before.
//
// Whoever waits to have the lock alone says so in a key that nobody joins past,
// else it would wait for as long as others come.

// AcquireShared takes the graph's lock beside others that share it, as Acquire does
// for one alone. While it is held, commits take turns; see [Store.serially].
func (s *Store) AcquireShared(ctx context.Context, owner LockOwner, lease, wait time.Duration) (*Lock, error) {
	return s.acquire(ctx, owner, lease, wait, true)
}

// tokenOf is the fencing token of who holds the lock after it was held alone so
// many times.
func tokenOf(count int64, shared bool) int64 {
	if shared {
		return 2*count + 1
	}
	return 2 * count
}

// intentTime is how long a wish to have the lock alone outlives who has it: some
// of the intervals in which it is asked for again.
const intentTime = 15 * lockPoll

// sharer is one entry of the sorted set.
type sharer struct {
	value string
	owner LockOwner
	live  bool
}

// sharers reads who shares the lock, and tells who is dead or has outlived his
// lease.
func (l *Lock) sharers(ctx context.Context, tx *redis.Tx) (all []sharer, live int, now time.Time, err error) {
	if now, err = tx.Time(ctx).Result(); err != nil {
		return nil, 0, now, err
	}
	members, err := tx.ZRangeWithScores(ctx, l.sharedKey, 0, -1).Result()
	if err != nil {
		return nil, 0, now, err
	}
	for _, m := range members {
		value, _ := m.Member.(string)
		one := sharer{value: value}
		known := json.Unmarshal([]byte(value), &one.owner) == nil
		one.live = known && int64(m.Score) > now.UnixMilli() && !one.owner.dead()
		if one.live {
			live++
		}
		all = append(all, one)
	}
	return all, live, now, nil
}

// take takes the lock, alone or shared, from nobody or from the dead.
//
// Dies before: nothing is taken. Dies after: the lock stands and is taken over or
// runs out. Of one alone the count is raised after this; until then the former
// holder's token is good, and this one has read nothing.
func (l *Lock) take(ctx context.Context) error {
	held := func(owner LockOwner, others int) error {
		return &HeldError{Graph: l.store.options.Graph, Owner: owner, Others: others}
	}
	var refused error
	err := l.store.client.Redis().Watch(ctx, func(tx *redis.Tx) error {
		refused = nil
		if owner, ok, err := l.holder(ctx, tx, l.lockKey); err != nil || ok {
			if err == nil {
				refused = held(owner, 0)
			}
			return err
		}
		all, live, now, err := l.sharers(ctx, tx)
		if err != nil {
			return err
		}
		waiting, somebody, err := l.holder(ctx, tx, l.intentKey)
		if err != nil {
			return err
		}
		switch {
		case !l.shared && live > 0:
			for _, s := range all {
				if s.live && refused == nil {
					refused = held(s.owner, live-1)
				}
			}
			if somebody || !l.patient {
				return nil
			}
			return tx.Set(ctx, l.intentKey, l.value, intentTime).Err()
		case l.shared && somebody:
			refused = held(waiting, 0)
			return nil
		}
		return l.enter(ctx, tx, all, now)
	}, l.lockKey, l.sharedKey, l.intentKey, l.fenceKey)
	if errors.Is(err, redis.TxFailedErr) {
		return held(LockOwner{Verb: "run", Host: "another process", Since: time.Now()}, 0)
	}
	return errors.Join(refused, err)
}

// enter writes that the lock is ours, and takes out who is dead.
func (l *Lock) enter(ctx context.Context, tx *redis.Tx, all []sharer, now time.Time) (err error) {
	if l.shared {
		if l.count, err = countOf(tx.Get(ctx, l.fenceKey)); err != nil {
			return err
		}
	}
	_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for _, s := range all {
			if !s.live {
				p.ZRem(ctx, l.sharedKey, s.value)
			}
		}
		p.Del(ctx, l.lockKey)
		if l.shared {
			p.ZAdd(ctx, l.sharedKey, redis.Z{Score: l.until(now), Member: l.value})
			return nil
		}
		p.Set(ctx, l.lockKey, l.value, l.lease)
		p.Del(ctx, l.intentKey)
		return nil
	})
	return err
}

// giveUp takes back the wish to have the lock alone.
func (l *Lock) giveUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), intentTime)
	defer cancel()
	_ = l.drop(ctx, l.intentKey, l.value) // it runs out by itself
}

// drop deletes a key if it holds a value.
func (l *Lock) drop(ctx context.Context, key, value string) error {
	return l.store.client.Redis().Watch(ctx, func(tx *redis.Tx) error {
		have, err := tx.Get(ctx, key).Result()
		if err != nil || have != value {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error { p.Del(ctx, key); return nil })
		return err
	}, key)
}

func (l *Lock) until(now time.Time) float64 { return float64(now.Add(l.lease).UnixMilli()) }

func countOf(reply *redis.StringCmd) (int64, error) {
	count, err := reply.Int64()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return count, err
}

// holder reads a key that names an owner; ok says that another lives and has it.
func (l *Lock) holder(ctx context.Context, tx *redis.Tx, key string) (owner LockOwner, ok bool, err error) {
	text, err := tx.Get(ctx, key).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return owner, false, nil
	case err != nil:
		return owner, false, err
	case text == l.value:
		return owner, false, nil
	}
	return owner, json.Unmarshal([]byte(text), &owner) != nil || !owner.dead(), nil
}

// renewShare puts the end of a share further away. One that ran out is ours again
// unless somebody had the lock alone since.
func (l *Lock) renewShare(ctx context.Context) (ours bool, err error) {
	err = l.store.client.Redis().Watch(ctx, func(tx *redis.Tx) error {
		count, err := countOf(tx.Get(ctx, l.fenceKey))
		if err != nil || count != l.count {
			return err
		}
		if _, alone, err := l.holder(ctx, tx, l.lockKey); err != nil || alone {
			return err
		}
		now, err := tx.Time(ctx).Result()
		if err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.ZAdd(ctx, l.sharedKey, redis.Z{Score: l.until(now), Member: l.value})
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

// overtaken says of a statement that others committed since what it rests on was
// read: nothing of it was written.
var errOvertaken = errors.New("another commit came first")

// maxOvertaken is how often a commit is begun again. Turns make even one rare.
const maxOvertaken = 100

// serially does a commit: what reads the graph and writes what follows from it.
// Of those who share the lock one does so at a time; and should a turn be lost (a
// process was stopped for longer than turns last), the statement itself finds that
// another commit came since it was read, writes nothing, and all is done again.
func (s *Store) serially(ctx context.Context, commit func() error) error {
	lock := s.held()
	if lock == nil || !lock.shared {
		return commit()
	}
	defer func() { lock.read = nil }()
	for tries := 1; ; tries++ {
		done, err := lock.turn(ctx)
		if err != nil {
			return s.explain("commit", err)
		}
		meta, err := s.Meta(ctx)
		if err == nil {
			lock.read = &meta.Commits
			err = commit()
		}
		done()
		if !errors.Is(err, errOvertaken) || tries == maxOvertaken {
			return err
		}
	}
}

const (
	// turnTime is how long a turn lasts at most: longer than a commit of a large
	// document takes. A turn that a dead process left behind is waited for.
	turnTime = 20 * time.Second
	turnPoll = 10 * time.Millisecond
)

// turn waits for a turn to commit. It is a courtesy, not what keeps commits right:
// who waited for as long as a turn lasts goes on without.
func (l *Lock) turn(ctx context.Context) (done func(), err error) {
	db := l.store.client.Redis()
	value := l.value + strconv.FormatInt(time.Now().UnixNano(), 36)
	for deadline := time.Now().Add(turnTime); ; {
		free, err := db.SetNX(ctx, l.turnKey, value, turnTime).Result()
		if err != nil {
			return nil, err
		}
		if free || time.Now().After(deadline) {
			break
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-l.lost:
			return nil, ErrLockLost
		case <-time.After(turnPoll):
		}
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), turnTime)
		defer cancel()
		_ = l.drop(ctx, l.turnKey, value) // a turn that stays ends by itself
	}, nil
}
