package main

import (
	"context"
	"strings"
	"testing"

	"graphmill/pipeline/engine"
	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/store"
)

// A server that was started too early, or whose engine died, works without being
// started again.
func TestServerHeals(t *testing.T) {
	f := &enginetest.Fixture{DataDir: enginetest.DataDir(t)}
	session := dial(t, program(t, f, "serve"))
	if result := ask(t, session, "status", nil); !result.IsError || !strings.Contains(textOf(result), "There is no graph yet") {
		t.Errorf("before anything was ingested: %s", textOf(result))
	}
	options := enginetest.Options(t, f.DataDir)
	lease, err := engine.Acquire(t.Context(), options)
	must(t, err)
	client, err := conn.Open(conn.Options{Socket: lease.Address(), Username: lease.Credentials().User, Password: lease.Credentials().Secret})
	must(t, err)
	write(t, client, "knowledge_graph", func(s *store.Store) { commit(t, s, notes[0]) })
	must(t, client.Close())
	if text := textOf(ask(t, session, "status", nil)); !strings.HasPrefix(text, "[1] Graph knowledge_graph: 1 documents, 3 chunks") {
		t.Errorf("after: %s", text)
	}
	must(t, lease.Release())
	if _, err := engine.Stop(context.Background(), options, true); err != nil {
		t.Fatal(err)
	}
	if text := textOf(ask(t, session, "status", nil)); !strings.HasPrefix(text, "[2] Graph knowledge_graph: 1 documents") {
		t.Errorf("after the engine was stopped: %s", text)
	}
	must(t, session.Close())
	report, err := engine.Status(options)
	must(t, err)
	if report.Running || len(report.Users) > 0 {
		t.Errorf("the last one out left the engine: %+v", report)
	}
}
