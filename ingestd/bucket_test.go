package main

import (
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"graphmill/commandline"
	"graphmill/pipeline"
	"graphmill/pipeline/corpus"
	"graphmill/pipeline/corpus/bucket/s3test"
	"graphmill/pipeline/engine/enginetest"
)

// bucketWorld is a world with a bucket beside its folder.
func bucketWorld(t *testing.T) (*world, *s3test.Server) {
	t.Helper()
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.env = s3test.Env()
	return w, s3test.New(t)
}

// upload puts all that is in the folder under a prefix, and takes out what is gone.
func (w *world) upload(server *s3test.Server, prefix string, gone ...string) {
	w.t.Helper()
	err := filepath.WalkDir(w.corpus, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(w.corpus, path)
		server.Put(prefix+"/"+filepath.ToSlash(name), string(data))
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, name := range gone {
		server.Delete(prefix + "/" + name)
	}
}

// One corpus is read from a folder and from a bucket, edited, and read again: what
// each run says of it, and the graphs, are the same.
func TestABucketGivesTheGraphThatItsFolderGives(t *testing.T) {
	inFull(t)
	w, server := bucketWorld(t)
	w.fill(9, 41)
	w.write("a[1].txt", "Ada Lovelace met Charles Babbage.")
	w.write("long.md", strings.Repeat("# A part\n\nGrace Hopper knew Ada Lovelace. And a sentence more.\n\n", 60))
	w.write("drafts/x.txt", "Alan Turing met nobody.")
	w.write(".graphmillignore", "drafts/\n")
	w.write(".hidden/y.txt", "Alan Turing met nobody.")
	w.write("picture.png", "no text")
	w.write("damaged.txt", "\x00\x01\x02")
	root := server.Root("team/docs")

	// both runs a verb over each, and wants one outcome.
	both := func(code int, want string, args ...string) (folder, bucket *pipeline.Report) {
		t.Helper()
		folder = w.report(code, append(args, "--graph", "folder", "--root", w.corpus)...)
		bucket = w.report(code, append(args, "--graph", "bucket", "--root", root)...)
		if one, other := statuses(folder), statuses(bucket); one != want || other != want {
			t.Errorf("%v: want %s, the folder gives %s, the bucket %s", args, want, one, other)
		}
		for i, d := range folder.Documents {
			if got := bucket.Documents[i]; got.Path != d.Path || got.Status != d.Status || got.Reason != d.Reason || got.Kind != d.Kind || got.Chunks != d.Chunks {
				t.Errorf("%v: want %+v, got %+v", args, d, got)
			}
		}
		if w.digest("--graph", "folder") != w.digest("--graph", "bucket") {
			t.Errorf("%v: two graphs", args)
		}
		return folder, bucket
	}
	w.upload(server, "team/docs")
	both(3, "11 ingested, 1 skipped, 1 failed", "run")
	both(3, "11 unchanged, 1 skipped, 1 failed", "run")

	w.write("a[1].txt", "Ada Lovelace met Charles Babbage and Mary Somerville.")
	w.write("damaged.txt", "Mary Somerville wrote it again.")
	w.upload(server, "team/docs")
	both(0, "1 ingested, 1 updated, 10 unchanged, 1 skipped", "run")
	both(0, "4 reextracted", "reextract", "notes", "file:a[1].txt")

	if err := os.Rename(filepath.Join(w.corpus, "long.md"), filepath.Join(w.corpus, "moved.md")); err != nil {
		t.Fatal(err)
	}
	w.remove("a[1].txt")
	w.upload(server, "team/docs", "long.md", "a[1].txt")
	both(0, "1 moved, 10 unchanged, 1 skipped, 1 forgotten", "run", "--mirror")

	for _, verb := range [][]string{{"status", "--files"}, {"plan"}, {"preview"}, {"preview", "moved.md", "--chars", "100"}} {
		folder := w.must(append(verb, "--graph", "folder", "--root", w.corpus)...)
		bucket := w.must(append(verb, "--graph", "bucket", "--root", root)...)
		folder = strings.NewReplacer(w.corpus, "ROOT", "folder", "GRAPH").Replace(folder)
		bucket = strings.NewReplacer(root, "ROOT", "bucket", "GRAPH").Replace(bucket)
		if folder != bucket {
			t.Errorf("%v:\n%s\nfrom the bucket:\n%s", verb, folder, bucket)
		}
	}
	e := w.run("run", "--graph", "folder", "--root", "file://"+w.corpus)
	if e.code != 0 || !strings.Contains(e.stdout, "11 unchanged") {
		t.Errorf("the folder by its address: %v", e)
	}
}

func TestAnotherPrefixIsAnotherRoot(t *testing.T) {
	inFull(t)
	w, server := bucketWorld(t)
	server.Put("one/a.txt", "Ada Lovelace met Charles Babbage.")
	server.Put("two/x.txt", "Grace Hopper met Ada Lovelace.")
	w.report(0, "run", "--root", server.Root("one"))
	// How a root is reached does not make it another.
	w.report(0, "run", "--root", server.Root("one")+"&region=eu-central-1&use_path_style=true")
	before := w.digest()
	for _, root := range []string{server.Root("two"), server.Root(""), w.corpus} {
		e := w.run("run", "--root", root)
		if e.code != commandline.ExitUsage {
			t.Errorf("%s: %v", root, e)
		}
		contains(t, e.stderr, server.Root("one"), "--source NAME", "--moved")
	}
	if w.digest() != before {
		t.Error("a refused root changed the graph")
	}
	w.report(0, "run", "--root", server.Root("two"), "--source", "second")
	server.Put("three/x.txt", "Grace Hopper met Ada Lovelace.")
	report := w.report(0, "run", "--root", server.Root("three"), "--source", "second", "--moved")
	if statuses(report) != "1 unchanged" || report.MissingCount != 0 {
		t.Errorf("the moved root: %+v", report)
	}
	if got := statuses(w.report(0, "run", "--root", server.Root("one"), "--mirror")); got != "1 unchanged" {
		t.Errorf("the first root: %s", got)
	}
}

func TestWhatFailsWithABucket(t *testing.T) {
	inFull(t)
	w, server := bucketWorld(t)
	server.Put("docs/a.txt", "Ada Lovelace met Charles Babbage.")
	server.Put("docs/b.txt", "Grace Hopper met Ada Lovelace.")
	root := server.Root("docs")
	w.report(0, "run", "--root", root)
	before := w.digest()

	get := func(key string, do func(w http.ResponseWriter) bool) {
		server.Fault(func(w http.ResponseWriter, r *http.Request) bool { return strings.HasSuffix(r.URL.Path, key) && do(w) })
	}
	for kind, do := range map[corpus.Kind]func(w http.ResponseWriter) bool{
		corpus.KindPermission: func(w http.ResponseWriter) bool { return s3test.Refuse(w, 403, "AccessDenied") },
		corpus.KindRead:       func(w http.ResponseWriter) bool { return s3test.Cut(w, 33, "Ada Love") },
	} {
		get("a.txt", do)
		report := w.report(commandline.ExitSomeFailed, "run", "--root", root, "--mirror", "--max-delete", "100%")
		if d := row(t, report, "a.txt"); statuses(report) != "1 unchanged, 1 failed" || d.Kind != string(kind) {
			t.Errorf("%s: %s, %+v", kind, statuses(report), d)
		}
	}
	for _, c := range []struct {
		name, root, hint string
		env              []string
		code             int
	}{
		{"a missing bucket", strings.Replace(root, "documents", "nowhere", 1), "no such bucket", nil, commandline.ExitUsage},
		{"a wrong secret", root, "credentials are refused", []string{"AWS_SECRET_ACCESS_KEY=hushhush"}, commandline.ExitUsage},
		{"a secret in the address", strings.Replace(root, "documents", "AKIA:hushhush@documents", 1), "AWS_ACCESS_KEY_ID", nil, commandline.ExitUsage},
		{"another store", "gs://documents", "s3://BUCKET", nil, commandline.ExitUsage},
		{"nobody there", "s3://documents/docs?endpoint=" + url.QueryEscape("http://127.0.0.1:1"), "check the endpoint", nil, commandline.ExitFailed},
	} {
		server.Fault(nil)
		w.env = append(s3test.Env(), c.env...)
		for _, verb := range [][]string{{"run", "--mirror"}, {"plan"}, {"preview"}, {"status"}} {
			e := w.run(append(verb, "--root", c.root)...)
			if e.code != c.code || !strings.Contains(e.stderr, c.hint) {
				t.Errorf("%s: %v: %v", c.name, verb, e)
			}
			if all := e.stdout + e.stderr; strings.Contains(all, "hushhush") || strings.Contains(all, s3test.SecretKey) {
				t.Errorf("%s: %v tells a secret: %s", c.name, verb, all)
			}
		}
	}
	w.env = s3test.Env()
	if e := w.run("doctor", "--root", root); !strings.Contains(e.stdout, root) || strings.Contains(e.String(), s3test.SecretKey) {
		t.Errorf("doctor: %v", e)
	}
	// Nothing is gone because it could not be seen, or is gone all at once.
	page := 0
	server.Fault(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Has("list-type") {
			page++
		}
		return page > 1 && s3test.Refuse(w, 403, "AccessDenied")
	})
	if e := w.run("run", "--root", root, "--mirror", "--max-delete", "100%"); e.code != commandline.ExitFailed || !strings.Contains(e.stderr, "s3:ListBucket") {
		t.Errorf("a listing that is denied meanwhile: %v", e)
	}
	server.Fault(nil)
	if e := w.run("run", "--root", server.Root("docs-that-are-not-there"), "--moved", "--mirror"); e.code != commandline.ExitFailed {
		t.Errorf("an empty prefix: %v", e)
	}
	w.report(0, "run", "--root", root, "--moved")
	if w.digest() != before {
		t.Error("a failed run changed the graph")
	}
}

func TestToolsOverABucket(t *testing.T) {
	inFull(t)
	w, server := bucketWorld(t)
	server.Put("docs/a.txt", "Ada Lovelace met Charles Babbage.")
	server.Put("docs/b.txt", "Grace Hopper met Ada Lovelace.")
	contains(t, w.must("call", "preview_files", "--files-root", server.Root("docs")), "a.txt", "b.txt", "Ada Lovelace")
	contains(t, w.must("call", "ingest", `{"files": ["a*.txt"]}`, "--files-root", server.Root("docs")), "a.txt")
	if got := statuses(w.report(0, "run", "--root", server.Root("docs"))); got != "1 ingested, 1 unchanged" {
		t.Errorf("after a call of ingest: %s", got)
	}
	for _, path := range []string{"../docs-old/x.txt", "/a.txt", "c.txt"} {
		if e := w.run("call", "ingest", `{"files": ["`+path+`"]}`, "--files-root", server.Root("docs")); e.code == 0 {
			t.Errorf("%s: %v", path, e)
		}
	}
}

// A run and its workers share a bucket where they share no disk.
func TestWorkersReadFromTheBucket(t *testing.T) {
	inFull(t)
	w, server := bucketWorld(t)
	w.fill(6, 7)
	w.write("odd\nname.txt", "Ada Lovelace met Charles Babbage.")
	w.upload(server, "docs")
	q := newQueued(t, w)
	want := q.alone("folder")
	root := server.Root("docs")
	first, second := q.worker("bucket", "--root", root), q.worker("bucket", "--root", root)
	report := q.report(0, "run", "--graph", "bucket", "--root", root)
	if got := statuses(report); got != "7 ingested" || q.digest("--graph", "bucket") != want {
		t.Errorf("workers over a bucket: %s, and another graph than the folder's", got)
	}
	for _, p := range []*process{first, second} {
		p.end(t, syscall.SIGTERM, 0)
		contains(t, p.text.String(), "with the files of "+root)
	}
}
