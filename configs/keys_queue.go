package configs

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Queue is where workers on other machines get their tasks. URL "" means that a run
// extracts by itself, and then nothing else here has a meaning.
type Queue struct {
	URL          string        `key:"url"`      // without a password; see Password
	Password     Secret        `key:"password"` // the content of PasswordFile, or the URL's, when that was given
	PasswordFile string        `key:"password_file"`
	CAFile       string        `key:"ca_file"` // PEM, for rediss; "" = the system's authorities
	Name         string        `key:"name"`    // "" = the graph's; see QueueName
	Tries        int           `key:"tries"`
	MaxBytes     int64         `key:"max_bytes"` // of one task or result
	Drain        time.Duration `key:"drain"`
}

// QueueName keeps apart what shares a Redis.
func (c *Config) QueueName() string {
	if c.Queue.Name != "" {
		return c.Queue.Name
	}
	return c.GraphName()
}

const ruleQueue = "redis://HOST:PORT/DB, rediss://HOST:PORT/DB or redis-socket:///PATH?db=DB; user and password may stand before the host"

func queueKeys() []Key {
	return []Key{
		{Name: "queue.url", Kind: KindText, Default: "", Flag: "queue", DefaultNote: "none: everything is done by the run itself", rule: ruleQueue, mayHoldSecret: true,
			Description: "Redis through which `ingestd worker`, on this machine or others, extracts and embeds for a run."},
		{Name: "queue.password", Kind: KindSecret, Default: Secret(""), DefaultNote: "none",
			Description: "Its password."},
		{Name: "queue.password_file", Kind: KindPath, Default: "", DefaultNote: "none",
			Description: "File that holds the password, instead of queue.password."},
		{Name: "queue.ca_file", Kind: KindPath, Default: "", DefaultNote: "the system's authorities",
			Description: "Certificates (PEM) of the authorities that may vouch for a rediss:// server."},
		{Name: "queue.name", Kind: KindText, Default: "", DefaultNote: "the graph's name", check: checkGraph, rule: ruleGraph,
			Description: "Which tasks a worker takes; runs of several graphs share workers when it is the same for them, and root and configuration are."},
		{Name: "queue.tries", Kind: KindInt, Default: 3, Min: 1, Max: 100,
			Description: "How often a document may take its worker with it, or fail there for no reason that is known; then it is parked and the run reports it as failed."},
		{Name: "queue.max_bytes", Kind: KindSize, Default: int64(64 * mib), Min: mib, Max: 512 * mib,
			Description: "Most bytes of one document's task or result in Redis, compressed; a document with more fails."},
		{Name: "queue.drain", Kind: KindDuration, Default: 20 * time.Second, Min: float64(time.Second), Max: float64(day),
			Description: "How long a worker that is told to end finishes its documents; then it hands the rest back."},
	}
}

// queueURL takes the password out of the address, so that the address may be shown.
func (l *loader) queueURL(cfg *Config) {
	o := cfg.origins["queue.url"]
	if cfg.Queue.URL == "" {
		return
	}
	address, password, err := splitQueue(cfg.Queue.URL)
	if err != nil {
		// The text may hold a password, so it is not repeated.
		l.problem(o, "queue.url", "%v; allowed is %s", err, ruleQueue)
		cfg.Queue.URL = ""
		return
	}
	cfg.Queue.URL = address
	if password != "" {
		l.bring(cfg, o, "queue.password", Secret(password))
	}
}

func splitQueue(text string) (address, password string, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", "", errors.New("is no valid URL (write %40 for @, %2F for / in user and password)")
	}
	switch u.Scheme {
	case "redis", "rediss":
		if u.Hostname() == "" {
			return "", "", errors.New("names no host")
		}
		if db := strings.Trim(u.Path, "/"); db != "" {
			if _, err := strconv.ParseUint(db, 10, 8); err != nil {
				return "", "", errors.New("has a path that is no number of a database")
			}
		}
	case "redis-socket", "unix":
		if u.Host != "" || u.Path == "" {
			return "", "", errors.New("needs the absolute path of a socket, with three slashes before it")
		}
	default:
		return "", "", errors.New("is no address of a Redis")
	}
	password, _ = u.User.Password()
	if user := u.User.Username(); user != "" {
		u.User = url.User(user)
	} else {
		u.User = nil
	}
	return u.String(), password, nil
}
