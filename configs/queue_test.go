package configs

import (
	"fmt"
	"strings"
	"testing"
)

func TestTheQueuesPasswordIsTakenOutOfItsAddress(t *testing.T) {
	for _, c := range []struct{ given, address, password string }{
		{"redis://host", "redis://host", ""},
		{"redis://:s3cr%40et@host:7000/2", "redis://host:7000/2", "s3cr@et"},
		{"rediss://ada:s3cret@[::1]:7000", "rediss://ada@[::1]:7000", "s3cret"},
		{"redis-socket://:s3cret@/run/redis.sock?db=3", "redis-socket:///run/redis.sock?db=3", "s3cret"},
		{"unix:///run/redis.sock", "unix:///run/redis.sock", ""},
	} {
		cfg := load(t, Source{Env: home("GRAPHMILL_QUEUE_URL=" + c.given)})
		if cfg.Queue.URL != c.address || cfg.Queue.Password.Reveal() != c.password {
			t.Errorf("%s: %s %q", c.given, cfg.Queue.URL, cfg.Queue.Password.Reveal())
		}
		if shown := fmt.Sprintf("%+v %v", cfg.Queue, cfg.Effective()); strings.Contains(shown, "s3cr") {
			t.Errorf("%s: the password is shown", c.given)
		}
	}
}

func TestAQueuesAddressThatIsNoneIsNotRepeated(t *testing.T) {
	for _, given := range []string{"http://:s3cret@host", "redis://:s3cret@", "redis://:s3cret@host/x", "redis-socket://s3cret.sock", "redis://:s3c%ret@host", "s3cret"} {
		_, err := Load(Source{Env: home("GRAPHMILL_QUEUE_URL=" + given)})
		if err == nil || strings.Contains(err.Error(), "s3c") || !strings.Contains(err.Error(), "queue.url") {
			t.Errorf("%s: %v", given, err)
		}
	}
}

func TestAQueueIsCalledAsItsGraphUnlessItHasAName(t *testing.T) {
	if got := load(t, Source{Env: home("GRAPHMILL_TENANT=acme")}).QueueName(); got != "knowledge_graph__acme" {
		t.Error(got)
	}
	if got := load(t, Source{Env: home("GRAPHMILL_QUEUE_NAME=pool")}).QueueName(); got != "pool" {
		t.Error(got)
	}
}
