package engine_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"graphmill/pipeline/engine"
	"graphmill/pipeline/engine/enginetest"
)

func TestTheReaderReadsAndDoesNothingElse(t *testing.T) {
	t.Parallel()
	f := enginetest.Start(t)
	login := func(c engine.Credentials) *redis.Client {
		client := redis.NewClient(&redis.Options{
			Network: "unix", Addr: f.Address, Username: c.User, Password: c.Secret, ClientName: "test", MaxRetries: -1,
		})
		t.Cleanup(func() { client.Close() })
		return client
	}
	writer, reader := login(f.Writer), login(f.Reader)
	if err := writer.Do(t.Context(), "GRAPH.QUERY", "g", "CREATE (:A {secret: 1})").Err(); err != nil {
		t.Fatal(err)
	}
	if err := writer.Set(t.Context(), "lock", "owner", 0).Err(); err != nil {
		t.Fatal(err)
	}
	for _, allowed := range [][]any{{"PING"}, {"GRAPH.RO_QUERY", "g", "MATCH (n) RETURN n"}, {"CLIENT", "SETNAME", "x"}} {
		if err := reader.Do(t.Context(), allowed...).Err(); err != nil {
			t.Errorf("%v: %v", allowed, err)
		}
	}
	for _, refused := range [][]any{
		{"GRAPH.RO_QUERY", "g", "CREATE (:B)"}, {"GRAPH.RO_QUERY", "g", "MATCH (n) SET n.x = 1"},
		{"GRAPH.RO_QUERY", "g", "MATCH (n) DELETE n"}, {"GRAPH.RO_QUERY", "g", "CREATE INDEX FOR (n:A) ON (n.x)"},
		{"GRAPH.QUERY", "g", "RETURN 1"}, {"GRAPH.QUERY", "g", "LOAD CSV FROM 'file:///etc/passwd' AS r RETURN r"},
		{"GRAPH.RO_QUERY", "g", "LOAD CSV FROM 'file:///etc/passwd' AS r RETURN r"},
		{"GRAPH.PROFILE", "g", "CREATE (:B)"}, {"GRAPH.DELETE", "g"}, {"GRAPH.COPY", "g", "h"}, {"GRAPH.LIST"},
		{"GRAPH.CONFIG", "GET", "*"}, {"GRAPH.CONFIG", "SET", "RESULTSET_SIZE", "1"}, {"GRAPH.EXPLAIN", "g", "RETURN 1"},
		{"GET", "lock"}, {"SET", "x", "1"}, {"DEL", "g"}, {"KEYS", "*"}, {"SCAN", "0"}, {"RENAME", "g", "h"}, {"DUMP", "g"},
		{"INFO"}, {"CONFIG", "GET", "*"}, {"ACL", "LIST"}, {"ACL", "WHOAMI"}, {"SHUTDOWN"}, {"FLUSHALL"}, {"DEBUG", "SLEEP", "0"},
		{"EVAL", "return 1", "0"}, {"SUBSCRIBE", "x"}, {"PUBLISH", "x", "y"}, {"CLIENT", "LIST"}, {"CLIENT", "KILL", "ID", "1"},
		{"MONITOR"}, {"MODULE", "LIST"}, {"MULTI"}, {"SELECT", "1"}, {"COMMAND"}, {"WAIT", "0", "0"},
	} {
		t.Run(fmt.Sprint(refused[0], " ", refused[len(refused)-1]), func(t *testing.T) {
			if reply, err := reader.Do(t.Context(), refused...).Result(); err == nil {
				t.Errorf("%v answered %v, want a refusal", refused, reply)
			}
		})
	}
	reply, err := writer.Do(t.Context(), "GRAPH.RO_QUERY", "g", "MATCH (n) RETURN count(n)").Result()
	if err != nil || !strings.Contains(fmt.Sprint(reply), "[[1]]") {
		t.Errorf("after all that: %v, %v; want one node", reply, err)
	}
}

func TestTheWriterDoesItsWorkAndNothingToTheServer(t *testing.T) {
	t.Parallel()
	f := enginetest.Start(t)
	writer := redis.NewClient(&redis.Options{Network: "unix", Addr: f.Address, Username: f.Writer.User, Password: f.Writer.Secret, MaxRetries: -1})
	defer writer.Close()
	for _, allowed := range [][]any{
		{"GRAPH.QUERY", "g", "CREATE (:A)"}, {"GRAPH.COPY", "g", "h"}, {"RENAME", "h", "g"}, {"GRAPH.EXPLAIN", "g", "RETURN 1"},
		{"GRAPH.LIST"}, {"GRAPH.CONFIG", "GET", "*"}, {"SET", "lock", "me", "NX", "PX", "10000"}, {"PEXPIRE", "lock", "5000"}, {"INCR", "token"},
		{"EVAL", "return redis.call('GET', KEYS[1])", "1", "lock"}, {"WAITAOF", "1", "0", "1000"}, {"INFO"}, {"CONFIG", "GET", "appendonly"},
		{"MEMORY", "USAGE", "g"}, {"DBSIZE"}, {"SCAN", "0"}, {"ACL", "WHOAMI"}, {"EXISTS", "g"}, {"TYPE", "g"}, {"DEL", "lock"}, {"GRAPH.DELETE", "g"},
		{"BGREWRITEAOF"}, {"TIME"}, {"SELECT", "0"},
	} {
		if err := writer.Do(t.Context(), allowed...).Err(); err != nil {
			t.Errorf("%v: %v", allowed, err)
		}
	}
	_, err := writer.TxPipelined(t.Context(), func(pipe redis.Pipeliner) error {
		pipe.Do(t.Context(), "GRAPH.QUERY", "g", "CREATE (:A)")
		pipe.Do(t.Context(), "GRAPH.QUERY", "g", "CREATE (:A)")
		return nil
	})
	if err != nil {
		t.Errorf("transaction: %v", err)
	}
	for _, refused := range [][]any{
		{"SHUTDOWN"}, {"FLUSHALL"}, {"FLUSHDB"}, {"SWAPDB", "0", "1"}, {"CONFIG", "SET", "dir", "/tmp"}, {"CONFIG", "SET", "appendonly", "no"},
		{"DEBUG", "SEGFAULT"}, {"MODULE", "LOAD", "/x"}, {"ACL", "SETUSER", "x"}, {"ACL", "LIST"}, {"REPLICAOF", "x", "1"}, {"SAVE"},
		{"MONITOR"}, {"RESTORE", "x", "0", "y"},
	} {
		err := writer.Do(t.Context(), refused...).Err()
		if err == nil || !strings.HasPrefix(err.Error(), "NOPERM") && !strings.Contains(err.Error(), "command not allowed") {
			t.Errorf("%v: %v, want a refusal", refused, err)
		}
	}
	if err := redis.NewClient(&redis.Options{Network: "unix", Addr: f.Address, MaxRetries: -1}).Ping(t.Context()).Err(); err == nil {
		t.Error("somebody without a login got an answer")
	}
}

func TestWhatTheEngineKeepsIsPrivate(t *testing.T) {
	t.Parallel()
	f := enginetest.Start(t)
	dir := filepath.Join(f.DataDir, "engine")
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		// Redis gives its own files mode 644; the directory keeps others out.
		ownedByRedis := strings.HasPrefix(path, filepath.Join(dir, "appendonlydir"))
		if info.Mode().Perm()&0o077 != 0 && !ownedByRedis {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	acl, err := os.ReadFile(filepath.Join(dir, "users.acl"))
	if err != nil {
		t.Fatal(err)
	}
	arguments, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", f.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{f.Writer.Secret, f.Reader.Secret} {
		if len(secret) < 64 {
			t.Errorf("a secret of %d characters", len(secret))
		}
		if strings.Contains(string(acl), secret) || strings.Contains(string(arguments), secret) {
			t.Error("a secret stands in the aclfile or in the server's arguments")
		}
	}
	if text := fmt.Sprintf("%v %+v %#v %s", f.Writer, f.Writer, f.Writer, f.Writer); strings.Contains(text, f.Writer.Secret) {
		t.Errorf("a formatted login shows its secret: %s", text)
	}
}

func TestTheServerDoesNotGetTheEnvironmentsSecrets(t *testing.T) {
	t.Setenv("FALKOR_PASSWORD", "hunter2")
	options := enginetest.Options(t, enginetest.DataDir(t))
	found, err := engine.Find(options)
	if err != nil {
		t.Fatal(err)
	}
	// A server overwrites what the system shows of its environment, so that it is
	// asked before.
	seen := filepath.Join(options.DataDir, "environment")
	options.RedisServer = filepath.Join(options.DataDir, "redis-server")
	overwrite(t, options.RedisServer, fmt.Sprintf("#!/bin/sh\nenv >%s\nexec %s \"$@\"\n", seen, found.RedisServer))
	acquire(t, options)
	environment, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(environment), "PATH=") || strings.Contains(string(environment), "hunter2") {
		t.Errorf("the server's environment: %s", environment)
	}
}

func TestAReaderNeedsNothingOfTheWriters(t *testing.T) {
	t.Parallel()
	dir := enginetest.DataDir(t)
	options := enginetest.Options(t, dir)
	_, err := engine.AcquireReader(t.Context(), options)
	if !errors.Is(err, engine.ErrNoGraph) {
		t.Errorf("before any ingestion: %v, want ErrNoGraph", err)
	}
	mustFail(t, err, "ingestd run", "--data-dir")
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("a reader made %v", entries)
	}

	lease := acquire(t, options)
	write(t, lease, "CREATE (:A)")
	release(t, lease)
	if err := os.Remove(filepath.Join(dir, "engine", "writer.secret")); err != nil {
		t.Fatal(err)
	}
	reader, err := engine.AcquireReader(t.Context(), options)
	if err != nil {
		t.Fatalf("start the engine without the writer's secret: %v", err)
	}
	if n := countNodes(t, reader); n != 1 {
		t.Errorf("%d nodes, want 1", n)
	}
	if reader.Credentials().User != "reader" {
		t.Errorf("logged in as %s", reader.Credentials().User)
	}
	_, err = engine.Acquire(t.Context(), options)
	mustFail(t, err, "writer's secret is missing while the engine runs", "ingestd db stop")
	release(t, reader)
	if exists(reader.PID()) {
		t.Error("the reader was the last one out and left the server running")
	}
	// The writer makes itself a new secret; the reader's stays.
	again := acquire(t, options)
	write(t, again, "CREATE (:A)")
	other, err := engine.AcquireReader(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if other.Credentials() != reader.Credentials() {
		t.Error("the reader's secret changed")
	}
	release(t, other)
}

func TestASecretThatOthersMayReadIsRefused(t *testing.T) {
	t.Parallel()
	dir := enginetest.DataDir(t)
	options := enginetest.Options(t, dir)
	release(t, acquire(t, options))
	path := filepath.Join(dir, "engine", "writer.secret")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := engine.Acquire(t.Context(), options)
	mustFail(t, err, "writer.secret", "may be read by others", "chmod 600")
}

func TestUsersThatSomebodyAddedStay(t *testing.T) {
	t.Parallel()
	dir := enginetest.DataDir(t)
	options := enginetest.Options(t, dir)
	release(t, acquire(t, options))
	path := filepath.Join(dir, "engine", "users.acl")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// An older version's rules, and a user of the operator's.
	old := strings.ReplaceAll(string(text), "+graph.ro_query", "+graph.query") + "user backup on nopass ~* -@all +ping\n"
	if err := os.WriteFile(path, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	lease := acquire(t, options)
	if err := redis.NewClient(&redis.Options{Network: "unix", Addr: lease.Address(), Username: "backup", Password: "x", MaxRetries: -1}).Ping(t.Context()).Err(); err != nil {
		t.Errorf("the operator's user: %v", err)
	}
	if text, _ := os.ReadFile(path); strings.Contains(string(text), "+graph.query") {
		t.Error("the reader kept rights that this version does not give it")
	}
}
