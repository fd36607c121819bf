package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"graphmill/pipeline/engine"
	"graphmill/pipeline/engine/enginetest"
)

// filled is a stopped engine with one node in it, and its directory.
func filled(t *testing.T) (engine.Options, string) {
	t.Helper()
	options := enginetest.Options(t, enginetest.DataDir(t))
	lease := acquire(t, options)
	write(t, lease, "CREATE (:A)")
	release(t, lease)
	return options, filepath.Join(options.DataDir, "engine")
}

func TestAStartThatFailsSaysWhyAndWhatToDo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil func(t *testing.T, options *engine.Options, dir string)
		words []string
	}{
		"the append-only file is damaged": {
			func(t *testing.T, _ *engine.Options, dir string) {
				overwrite(t, filepath.Join(dir, "appendonlydir", "appendonly.aof.1.incr.aof"), "*1\r\n$4\r\nPING\r\nnonsense, not the end of a command\r\n")
			},
			[]string{"ended by itself", "last lines of its log", "append-only file is damaged", "backup"},
		},
		"the manifest is gone": {
			func(t *testing.T, _ *engine.Options, dir string) {
				os.Remove(filepath.Join(dir, "appendonlydir", "appendonly.aof.manifest"))
			},
			[]string{"appendonly.aof.manifest", "would come up empty"},
		},
		"the program is not one": {
			func(t *testing.T, options *engine.Options, dir string) {
				options.RedisServer = filepath.Join(dir, "text")
				overwrite(t, options.RedisServer, "no program")
			},
			[]string{"run ", "make deps"},
		},
		"the module is not one": {
			func(t *testing.T, options *engine.Options, dir string) {
				options.Module = filepath.Join(dir, "text.so")
				overwrite(t, options.Module, "no module")
			},
			[]string{"ended by itself", "text.so", "make deps"},
		},
		"a setting names a file that is not there": {
			func(t *testing.T, options *engine.Options, dir string) {
				options.Module = filepath.Join(dir, "none.so")
			},
			[]string{"engine.module", "none.so", "not there"},
		},
		"a file stands where the directory should": {
			func(t *testing.T, options *engine.Options, dir string) {
				options.DataDir = filepath.Join(dir, "a-file")
				overwrite(t, options.DataDir, "")
			},
			[]string{"a-file", "no directory", "--data-dir"},
		},
		"no directory at all": {
			func(_ *testing.T, options *engine.Options, _ string) { options.DataDir = "" },
			[]string{"--data-dir", "GRAPHMILL_DATA_DIR"},
		},
		"the users' file is not one": {
			func(t *testing.T, _ *engine.Options, dir string) {
				overwrite(t, filepath.Join(dir, "users.acl"), "user operator on >x nonsense\n")
			},
			[]string{"ended by itself", "users.acl"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			options, dir := filled(t)
			test.spoil(t, &options, dir)
			_, err := engine.Acquire(t.Context(), options)
			mustFail(t, err, test.words...)
			if report, err := engine.Status(options); err == nil && report.Running {
				t.Error("a server was left running")
			}
		})
	}
}

func overwrite(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestADirectoryWithOnlyADumpIsNotTakenForEmpty(t *testing.T) {
	t.Parallel()
	options, dir := filled(t)
	lease := acquire(t, options)
	if err := client(t, lease).BgRewriteAOF(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(dir, "appendonlydir", "appendonly.aof.2.base.rdb")
	eventually(t, "the rewrite is done", func() bool {
		info, err := client(t, lease).Info(t.Context(), "persistence").Result()
		_, statErr := os.Stat(base)
		return err == nil && statErr == nil && strings.Contains(info, "aof_rewrite_in_progress:0")
	})
	release(t, lease)
	if err := os.Rename(base, filepath.Join(dir, "dump.rdb")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "appendonlydir")); err != nil {
		t.Fatal(err)
	}
	_, err := engine.Acquire(t.Context(), options)
	mustFail(t, err, "dump.rdb", "come up empty", "mv ", "appendonly.aof")
	// The remedy that the error names.
	if err := os.Rename(filepath.Join(dir, "dump.rdb"), filepath.Join(dir, "appendonly.aof")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		lease := acquire(t, options)
		if n := countNodes(t, lease); n != 1 {
			t.Fatalf("%d nodes after the remedy, want 1", n)
		}
		release(t, lease)
	}
}

func TestTheIndexesAnswerAtOnceAfterACleanStop(t *testing.T) {
	t.Parallel()
	options := enginetest.Options(t, enginetest.DataDir(t))
	lease := acquire(t, options)
	write(t, lease, "CALL db.idx.fulltext.createNodeIndex('Chunk', 'text')")
	write(t, lease, "CREATE VECTOR INDEX FOR (c:Chunk) ON (c.v) OPTIONS {dimension: 32, similarityFunction: 'cosine'}")
	write(t, lease, "UNWIND range(1, 3000) AS i CREATE (c:Chunk {text: 'word' + i + ' and others, to fill a line of text'}) "+
		"SET c.v = vecf32([x IN range(1, 32) | toFloat((x * i) % 17) + 0.5])")
	release(t, lease)

	// A reader is the next to come: it could not have made the snapshot.
	reader, err := engine.AcquireReader(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Release()
	reply, err := client(t, reader).Do(t.Context(), "GRAPH.RO_QUERY", "g",
		"CALL db.idx.fulltext.queryNodes('Chunk', 'word2999') YIELD node RETURN count(node)").Slice()
	if err != nil || reply[1].([]any)[0].([]any)[0] != int64(1) {
		t.Errorf("full text right after the start: %v, %v; want one chunk", reply, err)
	}
}

func TestALargeLogIsSetAside(t *testing.T) {
	t.Parallel()
	options, dir := filled(t)
	if err := os.Truncate(filepath.Join(dir, "engine.log"), 9<<20); err != nil {
		t.Fatal(err)
	}
	release(t, acquire(t, options))
	now, err := os.Stat(filepath.Join(dir, "engine.log"))
	if err != nil || now.Size() > 1<<20 {
		t.Errorf("engine.log: %v, %v", now, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "engine.log.1")); err != nil {
		t.Error(err)
	}
}

func TestAMemoryLimitIsKept(t *testing.T) {
	t.Parallel()
	options := enginetest.Options(t, enginetest.DataDir(t))
	options.MaxMemory = 32 << 20
	lease := acquire(t, options)
	redis := client(t, lease)
	var err error
	for i := 0; i < 100 && err == nil; i++ {
		err = redis.Do(context.Background(), "GRAPH.QUERY", "g",
			"UNWIND range(1, 100) AS i CREATE (:A {x: toString(i) + '"+strings.Repeat("x", 20000)+"'})").Err()
	}
	if err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("filling 32 MB: %v, want the server's OOM error", err)
	}
	if err := lease.Check(); err != nil {
		t.Errorf("the server did not survive: %v", err)
	}
}
