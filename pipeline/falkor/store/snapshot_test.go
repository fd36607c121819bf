package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/store"
)

func snapshot(t testing.TB, s *store.Store) []byte {
	t.Helper()
	var file bytes.Buffer
	if _, err := s.Snapshot(t.Context(), &file); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func opening(file []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(file)), nil }
}

// everything is each node and edge with all its properties, vectors included, but
// for the fencing token.
func everything(t testing.TB, client *conn.Client, name string) []string {
	t.Helper()
	var all []string
	for _, statement := range []cypher.Statement{
		cypher.New(`MATCH (n) RETURN labels(n), properties(n)`, nil),
		cypher.New(`MATCH (a)-[r]->(b) RETURN labels(a), a.id, a.label, type(r), properties(r), labels(b), b.id, b.label`, nil),
	} {
		rows, err := client.Read(t.Context(), name, statement, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows.Len() {
			for _, value := range rows.Row(i) {
				if properties, ok := value.(map[string]any); ok {
					delete(properties, "fence")
				}
			}
			all = append(all, fmt.Sprintf("%#v", rows.Row(i)))
		}
	}
	slices.Sort(all)
	return all
}

func TestASnapshotHoldsEverything(t *testing.T) {
	f := enginetest.Start(t)
	client := connect(t, f)
	s := whole(t, client, "g")
	// Gaps among the internal ids, what only other programs write, and odd values.
	commit(t, s, document("a.txt", "Ada Lovelace knows Zed."))
	write(t, client, "g",
		cypher.New(`CREATE (n:Odd:`+"`Other Kind`"+` {s: $s, i: 1, f: 1.0, big: 9007199254740993, tiny: 1e-9, t: true, list: [1, 2.5, 'x', [true]], empty: []})`,
			cypher.Params{"s": "\"\\\n\t\u2028<é>😀"}),
		cypher.New(`MATCH (n:Odd) MATCH (c:Chunk) CREATE (n)-[:`+"`points at`"+` {w: 0.25, v: vecf32([0.1, 0.2])}]->(c)`, nil))
	// Other machines have other fences.
	write(t, client, "g", cypher.New(`MATCH (m:__Meta__) SET m.sources = ['["","/elsewhere"]']`, nil))
	want, file := digest(t, s), snapshot(t, s)
	if again := snapshot(t, s); len(again) != len(file) {
		t.Errorf("two snapshots of one graph have %d and %d bytes", len(file), len(again))
	}
	r := locked(t, client, "r")
	if _, err := r.Restore(t.Context(), opening(file), false); err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]string{{"g", "r"}, {"g__ontology", "r__ontology"}} {
		if got, want := everything(t, client, pair[1]), everything(t, client, pair[0]); !slices.Equal(got, want) {
			t.Errorf("%s:\n got %.3000q\nwant %.3000q", pair[1], got, want)
		}
	}
	if digest(t, r) != want {
		t.Error("it has another digest")
	}
	// It is written to as any other, and is there after the engine's end.
	commit(t, r, document("b.txt", "Charles Babbage knows Zed."))
	commit(t, s, document("b.txt", "Charles Babbage knows Zed."))
	finalize(t, r, hashModel)
	finalize(t, s, hashModel)
	want = digest(t, s)
	f.Kill()
	f.Restart()
	client = connect(t, f)
	if digest(t, opened(t, client, "r")) != want {
		t.Error("after a kill it is another graph")
	}
	keys := client.Redis().Keys(t.Context(), "*").Val()
	if slices.ContainsFunc(keys, func(key string) bool { return bytes.Contains([]byte(key), []byte("restoring")) }) {
		t.Errorf("left over: %v", keys)
	}
}

func TestARestoreReplacesOnlyWhenToldTo(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	file := snapshot(t, whole(t, client, "g"))
	other := locked(t, client, "other")
	commit(t, other, document("mine.txt", "Mary Somerville knows Zed."))
	before := digest(t, other)
	if _, err := other.Restore(t.Context(), opening(file), false); !errors.Is(err, store.ErrNotEmpty) {
		t.Errorf("Restore() = %v", err)
	}
	if digest(t, other) != before {
		t.Error("a refused restore changed the graph")
	}
	if _, err := other.Restore(t.Context(), opening(file), true); err != nil {
		t.Fatal(err)
	}
	if got := digest(t, other); got != digest(t, opened(t, client, "g")) {
		t.Error("it is not the snapshot's graph")
	}
	if result := check(t, other); !result.Clean {
		t.Errorf("%+v", result.Findings)
	}
	// And a lock that was lost restores nothing.
	if err := client.Redis().Incr(t.Context(), "graphmill:{other}:fence").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Restore(t.Context(), opening(file), true); !errors.Is(err, store.ErrLockLost) {
		t.Errorf("Restore() without the lock = %v", err)
	}
}

func TestADamagedSnapshotIsRefusedBeforeAnythingChanges(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := whole(t, client, "g")
	file := snapshot(t, s)
	before := digest(t, s)
	r := locked(t, client, "r")
	damaged := map[string][]byte{"empty": nil, "another file": []byte("hello"), "cut": file[:len(file)-9], "cut in half": file[:len(file)/2], "longer": append(slices.Clone(file), file...)}
	for i := 10; i < len(file); i += len(file) / 40 {
		flipped := slices.Clone(file)
		flipped[i] ^= 0x10
		damaged[fmt.Sprint("a bit at ", i)] = flipped
	}
	for name, file := range damaged {
		for _, target := range []*store.Store{s, r} {
			if _, err := target.Restore(t.Context(), opening(file), true); !errors.Is(err, store.ErrSnapshot) {
				t.Errorf("%s: Restore() = %v", name, err)
			}
		}
	}
	if digest(t, s) != before {
		t.Error("the graph was changed")
	}
	for _, key := range client.Redis().Keys(t.Context(), "*").Val() {
		if key != "g" && key != "g__ontology" && !bytes.HasPrefix([]byte(key), []byte("graphmill:{")) {
			t.Errorf("a refused restore made %s", key)
		}
	}
}
