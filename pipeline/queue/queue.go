// Package queue has documents extracted and texts embedded by other processes, on
// asynq over Redis. It owns the kinds of task, how they and their results are
// packed, who works and who has died. It knows neither the graph nor how anything
// is extracted: a run asks through [Run], and a worker answers with its [Hands].
//
// A run keeps the graph's lock and is its only writer; nothing that stands in Redis
// is of any use without it. So Redis may lose everything: the run sends again what
// is not answered. What a dead run left is dropped by whoever meets it, and expires.
package queue

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"graphmill/pipeline/falkor/conn"
)

// Options say which queue.
type Options struct {
	// URL is redis://, rediss://, redis-socket:// or unix://, without a password.
	URL      string
	Password string
	CAFile   string // PEM, for rediss; "" = the system's authorities
	// Name keeps apart what shares a Redis: workers of one name do the tasks of
	// its runs.
	Name string
	// Tries is how often a document may take its worker with it, or fail there for
	// no reason that is known, before it is parked. 0 means 3.
	Tries int
	// MaxBytes bounds one task and one result, packed. 0 means 64 MiB.
	MaxBytes int64
}

// Queue is a connection to a queue.
type Queue struct {
	Options
	redis     redis.UniversalClient
	inspector *asynq.Inspector
	address   string
}

const (
	defaultTries    = 3
	defaultMaxBytes = 64 << 20
	// Large results on a slow network take longer than the client's own 3 s.
	readTimeout = 30 * time.Second
	dialTimeout = 5 * time.Second
)

// Open connects. The error says how to go on and holds no password.
func Open(ctx context.Context, o Options) (*Queue, error) {
	o.Tries = cmp.Or(o.Tries, defaultTries)
	o.MaxBytes = cmp.Or(o.MaxBytes, defaultMaxBytes)
	options, err := o.connection()
	if err != nil {
		return nil, err
	}
	conn.Quiet()
	client := options.MakeRedisClient().(redis.UniversalClient)
	q := &Queue{Options: o, redis: client, inspector: asynq.NewInspectorFromRedisClient(client), address: o.URL}
	ctx, cancel := context.WithTimeout(ctx, 2*dialTimeout)
	defer cancel()
	if err := client.Ping(ctx).Err(); err != nil {
		return nil, errors.Join(fmt.Errorf("connect to queue %s: %w; next: start Redis there, or correct queue.url and queue.password", q.address, err), client.Close())
	}
	return q, nil
}

// Close closes the connection.
func (q *Queue) Close() error { return q.redis.Close() }

// Address is where the queue is, for messages.
func (q *Queue) Address() string { return q.address }

func (o Options) connection() (asynq.RedisClientOpt, error) {
	text := o.URL
	if rest, ok := strings.CutPrefix(text, "unix://"); ok {
		text = "redis-socket://" + rest
	}
	parsed, err := asynq.ParseRedisURI(text)
	options, ok := parsed.(asynq.RedisClientOpt)
	if err != nil || !ok {
		return options, fmt.Errorf("queue.url %s is no address of a Redis; next: write redis://HOST:PORT/DB, rediss://… or redis-socket:///PATH", o.URL)
	}
	if u, err := url.Parse(o.URL); err == nil {
		options.Username = u.User.Username()
		if options.Network == "" && u.Port() == "" {
			options.Addr = net.JoinHostPort(u.Hostname(), "6379")
		}
	}
	options.Password = cmp.Or(o.Password, options.Password)
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = dialTimeout, readTimeout, readTimeout
	if options.TLSConfig != nil && o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return options, fmt.Errorf("read queue.ca_file: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return options, fmt.Errorf("queue.ca_file %s holds no certificate", o.CAFile)
		}
		options.TLSConfig = &tls.Config{ServerName: options.TLSConfig.ServerName, RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return options, nil
}

// queuePrefix tells our queues from others' on the same Redis.
const queuePrefix = "graphmill:"

func (q *Queue) name() string { return queuePrefix + q.Name }

// The keys beside asynq's. The braces keep a queue on one node of a cluster.
func (q *Queue) key(kind, id string) string {
	return "graphmill:queue:{" + q.Name + "}:" + kind + ":" + id
}

func (q *Queue) runKey(run string) string     { return q.key("run", run) }     // a run that is alive
func (q *Queue) taskKey(id string) string     { return q.key("task", id) }     // what a task is about; how often it was tried
func (q *Queue) resultsKey(run string) string { return q.key("results", run) } // a list

// How long what nobody takes stays in Redis. A run says that it is alive every
// second; a machine that swaps may need longer.
const (
	runTTL     = time.Minute
	taskTTL    = 24 * time.Hour
	resultsTTL = time.Hour
)
