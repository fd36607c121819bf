package toolserver

import (
	"testing"
	"time"

	"golang.org/x/time/rate"
)

// Who is refused and tries again at once must not be put off further each time.
func TestARefusedRequestTakesNoShareOfTheRate(t *testing.T) {
	n := &network{Service: &Service{limits: Limits{PerMinute: 4}}, limiters: map[string]*rate.Limiter{}}
	if wait := n.overRate("a", 1); wait != 0 {
		t.Fatalf("the first waits %s", wait)
	}
	for range 10 {
		if wait := n.overRate("a", 1); wait <= 0 || wait > 15*time.Second {
			t.Fatalf("one of 4 a minute waits %s", wait)
		}
	}
	if wait := n.overRate("b", 1); wait != 0 {
		t.Errorf("another token waits %s", wait)
	}
}
