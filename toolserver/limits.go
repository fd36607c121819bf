package toolserver

import (
	"runtime"
	"time"
)

// Limits bound what clients can ask of a program; zero values are defaults.
type Limits struct {
	// CallsAtOnce is how many calls are worked on. 0 means two a core: a search
	// waits for the engine about as long as it computes.
	CallsAtOnce int
	// Queue is how many further calls wait for a place, QueueWait how long one
	// does. Defaults: 256, 10 s.
	Queue     int
	QueueWait time.Duration
	// CallTime is how long one call may take once it has a place; 0 means 30 s.
	CallTime time.Duration
	// PerMinute is how many requests a token may send a minute; 0 means 600.
	PerMinute int
	// BodyBytes bounds one message; 0 means 4 MiB: a draft answer is some kilobytes.
	BodyBytes int64
	// Sessions is how many sessions one token may have at once; 0 means 256. At
	// the limit, the one that has been quiet longest makes room.
	Sessions int
	// SessionIdle ends a session that sends nothing; 0 means 30 minutes.
	SessionIdle time.Duration
	// Connections bounds a network server's open connections; 0 means 1024.
	Connections int
	// HeaderTime bounds reading a request's head and, once more, its body;
	// IdleTime how long a connection stays open between requests. Defaults: 10 s,
	// 2 minutes.
	HeaderTime, IdleTime time.Duration
	// DrainTime is how long calls may take to end when the program stops; 0
	// means 20 s.
	DrainTime time.Duration
}

func (l Limits) withDefaults() Limits {
	orDefault(&l.CallsAtOnce, 2*runtime.GOMAXPROCS(0))
	orDefault(&l.Queue, 256)
	orDefault(&l.PerMinute, 600)
	orDefault(&l.Sessions, 256)
	orDefault(&l.Connections, 1024)
	orDefault(&l.BodyBytes, 4<<20)
	orDefault(&l.QueueWait, 10*time.Second)
	orDefault(&l.CallTime, 30*time.Second)
	orDefault(&l.SessionIdle, 30*time.Minute)
	orDefault(&l.HeaderTime, 10*time.Second)
	orDefault(&l.IdleTime, 2*time.Minute)
	orDefault(&l.DrainTime, 20*time.Second)
	return l
}

func orDefault[T ~int | ~int64](value *T, otherwise T) {
	if *value <= 0 {
		*value = otherwise
	}
}
