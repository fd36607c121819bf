package toolserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"
)

// The transports, as the audit and the metrics name them.
const (
	overStdio     = "stdio"
	overHTTP      = "http"
	overSSE       = "sse"
	overStateless = "stateless"
)

// session is one client's numbering of evidence: a connection, a stream, or for
// clients that have neither what they name in the argument `session`.
type session struct {
	id    string
	owner string // the token's name; "" for none
	over  string
	// end takes the connection down; nil when there is none.
	end func()
	// gone ends when the client has left; nil when that is not known.
	gone context.Context

	mu  sync.Mutex
	set *Set

	// Guarded by the registry.
	used time.Time
	busy int // requests under way
}

// tools opens the session's tools when they are first needed: making them may
// fail now and work later.
func (s *session) tools(open func() (*Set, error)) (*Set, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set == nil {
		set, err := open()
		if err != nil {
			return nil, err
		}
		if s.over == overStateless {
			set = set.withSession()
		}
		s.set = set
	}
	return s.set, nil
}

// registry holds the sessions by what identifies them: the connection, or for a
// stateless client its token and what it names. It is safe for concurrent use.
type registry struct {
	limit int // of one owner
	now   func() time.Time

	mu       sync.Mutex
	sessions map[any]*session
}

// named identifies a stateless client's session. Another token's is another key,
// so that it cannot even be told from one that does not exist.
type named struct{ owner, id string }

func newRegistry(limit int) *registry {
	return &registry{limit: limit, now: time.Now, sessions: map[any]*session{}}
}

// newSessionID is short enough for a model to copy: 80 random bits.
func newSessionID() string { return rand.Text()[:16] }

// begin returns the session of a key while a request uses it; done gives it back.
// nil means there is none.
func (r *registry) begin(key any) (s *session, done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s = r.sessions[key]
	if s == nil {
		return nil, nil
	}
	return s, r.use(s)
}

// open is begin for a key whose session begin makes when there is none yet. It
// returns nil when the owner has as many as it may, all of them in use.
func (r *registry) open(key any, owner string, begin func() *session) (s *session, done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s = r.sessions[key]
	if s == nil {
		if !r.makeRoom(owner) {
			return nil, nil
		}
		s = begin()
		r.sessions[key] = s
	}
	return s, r.use(s)
}

func (r *registry) use(s *session) (done func()) {
	s.busy++
	s.used = r.now()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		s.busy--
		s.used = r.now()
	}
}

func (r *registry) makeRoom(owner string) bool {
	type entry struct {
		key any
		s   *session
	}
	var own []entry
	for key, s := range r.sessions {
		if s.owner == owner {
			own = append(own, entry{key, s})
		}
	}
	if len(own) < r.limit {
		return true
	}
	own = slices.DeleteFunc(own, func(e entry) bool { return e.s.busy > 0 })
	if len(own) == 0 {
		return false
	}
	quietest := slices.MinFunc(own, func(a, b entry) int { return cmp.Compare(a.s.used.UnixNano(), b.s.used.UnixNano()) })
	r.drop(quietest.key, quietest.s)
	return true
}

// drop forgets a session. Its connection is ended in the background, because that
// waits for what still runs on it.
func (r *registry) drop(key any, s *session) {
	delete(r.sessions, key)
	if s.end != nil {
		go s.end()
	}
}

// remove forgets a session whose connection has ended.
func (r *registry) remove(key any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sessions, key)
}

// sweep ends the sessions that were quiet for so long, and those that gone names.
func (r *registry) sweep(idle time.Duration, gone func(*session) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, s := range r.sessions {
		if s.busy == 0 && r.now().Sub(s.used) >= idle || gone(s) {
			r.drop(key, s)
		}
	}
}

// counts are the sessions by transport.
func (r *registry) counts() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := map[string]int{}
	for _, s := range r.sessions {
		counts[s.over]++
	}
	return counts
}
