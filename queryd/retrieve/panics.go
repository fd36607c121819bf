package retrieve

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// panicked is a panic on a goroutine of a search. The search's caller meets it
// again on its own, where it can be held to the one call: a panic that nobody
// catches ends the program with everybody's.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("%v, at\n%s", p.value, p.stack) }

// contained runs f on a goroutine; its panic is an error.
func contained(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &panicked{value, debug.Stack()}
		}
	}()
	return f()
}

// throw panics anew where err is of a panic.
func throw(err error) {
	if p := (*panicked)(nil); errors.As(err, &p) {
		panic(p)
	}
}
