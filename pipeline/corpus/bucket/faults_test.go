package bucket_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/corpus/bucket"
	"graphmill/pipeline/corpus/bucket/s3test"
)

// isGet reports whether a request is for an object's content.
func isGet(r *http.Request, key string) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/"+key)
}

// fileError wants err to be a file's own, of that kind and with its path.
func fileError(t *testing.T, err error, kind corpus.Kind, path string) {
	t.Helper()
	own, ok := errors.AsType[*corpus.FileError](err)
	if !ok || own.Kind != kind || own.Path != path {
		t.Errorf("want the %s of %s, got %v", kind, path, err)
	}
}

func one(t *testing.T, server *s3test.Server, text string, options corpus.Options) (*corpus.Bucket, corpus.File) {
	t.Helper()
	server.Put("docs/a.txt", text)
	root := open(t, server.Root("docs"), options)
	file, err := root.Resolve("a.txt")
	if err != nil {
		t.Fatal(err)
	}
	return root, file
}

func TestAnObjectThatChangedAfterItWasListed(t *testing.T) {
	for name, change := range map[string]func(s *s3test.Server){
		"another content of the same size": func(s *s3test.Server) { s.Put("docs/a.txt", "fresh") },
		"another size":                     func(s *s3test.Server) { s.Put("docs/a.txt", "fresh and longer") },
		"a store that ignores If-Match": func(s *s3test.Server) {
			s.Unconditional = true
			s.Put("docs/a.txt", "fresh")
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := s3test.New(t)
			root, file := one(t, server, "stale", corpus.Options{})
			change(server)
			_, _, err := root.Read(t.Context(), file)
			fileError(t, err, corpus.KindChanged, "a.txt")
			_, err = root.ReadWindow(t.Context(), file, 1, 2)
			fileError(t, err, corpus.KindChanged, "a.txt")
			if file, err = root.Resolve("a.txt"); err != nil {
				t.Fatal(err)
			}
			if data, _, err := root.Read(t.Context(), file); err != nil || !strings.HasPrefix(string(data), "fresh") {
				t.Errorf("listed again: %q, %v", data, err)
			}
		})
	}
	server := s3test.New(t)
	root, file := one(t, server, "x", corpus.Options{})
	server.Delete("docs/a.txt")
	_, err := root.Hash(t.Context(), file)
	fileError(t, err, corpus.KindVanished, "a.txt")
	if root.Exists("a.txt") {
		t.Error("a deleted object exists")
	}
}

func TestAConnectionThatBreaksInTheMidstIsTriedAgain(t *testing.T) {
	text := strings.Repeat("All of it, and once. ", 100_000)
	for _, breaks := range []int32{1, 2, 1000} {
		server := s3test.New(t)
		root, file := one(t, server, text, corpus.Options{})
		var tries atomic.Int32
		server.Fault(func(w http.ResponseWriter, r *http.Request) bool {
			return isGet(r, "a.txt") && tries.Add(1) <= breaks && s3test.Cut(w, len(text), text[:1_500_000])
		})
		data, _, err := root.Read(t.Context(), file)
		if breaks < 3 {
			if err != nil || string(data) != text {
				t.Errorf("after %d breaks: %d bytes, %v", breaks, len(data), err)
			}
			continue
		}
		fileError(t, err, corpus.KindRead, "a.txt")
		if got := tries.Load(); got != 3 {
			t.Errorf("it was tried %d times", got)
		}
	}
}

func TestWhatAnObjectMayBeRefusedFor(t *testing.T) {
	for code, want := range map[string]struct {
		status int
		kind   corpus.Kind
		hint   string
	}{
		"AccessDenied":       {403, corpus.KindPermission, "s3:GetObject"},
		"ExpiredToken":       {400, corpus.KindPermission, "AWS_PROFILE"},
		"NoSuchKey":          {404, corpus.KindVanished, ""},
		"InvalidObjectState": {403, corpus.KindRead, "archived"},
		"InternalError":      {500, corpus.KindRead, "InternalError"},
	} {
		server := s3test.New(t)
		root, file := one(t, server, "x", corpus.Options{})
		server.Put("docs/b.txt", "y")
		server.Fault(func(w http.ResponseWriter, r *http.Request) bool {
			return isGet(r, "a.txt") && s3test.Refuse(w, want.status, code)
		})
		_, _, err := root.Read(t.Context(), file)
		fileError(t, err, want.kind, "a.txt")
		if err != nil && !strings.Contains(err.Error(), want.hint) {
			t.Errorf("%s: %v lacks %q", code, err, want.hint)
		}
		if other, err := root.Resolve("b.txt"); err != nil {
			t.Error(err)
		} else if _, _, err := root.Read(t.Context(), other); err != nil {
			t.Errorf("%s: another object: %v", code, err)
		}
	}
	server := s3test.New(t)
	root, file := one(t, server, strings.Repeat("x", 100), corpus.Options{MaxFileBytes: 99})
	_, _, err := root.Read(t.Context(), file)
	fileError(t, err, corpus.KindTooLarge, "a.txt")
	file.Size, file.ModTime, file.Version = 0, time.Time{}, "" // of what stands there, nothing is known
	_, _, err = root.Read(t.Context(), file)
	fileError(t, err, corpus.KindTooLarge, "a.txt")
}

func TestWhatABucketMayBeRefusedFor(t *testing.T) {
	server := s3test.New(t)
	server.Put("docs/a.txt", "x")
	at := "?endpoint=" + url.QueryEscape(server.URL)
	for _, c := range []struct {
		name, address, hint string
		env                 map[string]string
		status              int
		code                string
		passes              bool
	}{
		{name: "no bucket", address: "s3://another/docs" + at, hint: "no such bucket"},
		{name: "another account", address: "s3://documents/docs" + at, env: map[string]string{"AWS_ACCESS_KEY_ID": "AKIANOBODY"}, hint: "AWS_ACCESS_KEY_ID"},
		{name: "a wrong secret", address: "s3://documents/docs" + at, env: map[string]string{"AWS_SECRET_ACCESS_KEY": "hushhush"}, hint: "credentials are refused"},
		{name: "no credentials", address: "s3://documents/docs" + at, env: map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, hint: "there are no credentials"},
		{name: "nobody", address: "s3://documents/docs" + at + "&anonymous=true", hint: "s3:ListBucket"},
		{name: "no region", address: "s3://documents/docs", hint: "region="},
		{name: "denied", address: "s3://documents/docs" + at, status: 403, code: "AccessDenied", hint: "s3:ListBucket"},
		{name: "elsewhere", address: "s3://documents/docs" + at, status: 301, code: "PermanentRedirect", hint: "region="},
		{name: "out of order", address: "s3://documents/docs" + at, status: 503, code: "ServiceUnavailable", hint: "ServiceUnavailable", passes: true},
		{name: "nobody there", address: "s3://documents/docs?endpoint=http://127.0.0.1:1", hint: "check the endpoint", passes: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			server.Fault(func(w http.ResponseWriter, _ *http.Request) bool {
				return c.code != "" && s3test.Refuse(w, c.status, c.code)
			})
			_, err := bucket.Open(t.Context(), c.address, corpus.Options{})
			if err == nil || !strings.Contains(err.Error(), c.hint) || errors.Is(err, bucket.ErrUnreachable) != c.passes {
				t.Errorf("%v lacks %q", err, c.hint)
			}
			if err != nil && (strings.Contains(err.Error(), s3test.SecretKey) || strings.Contains(err.Error(), "hushhush")) {
				t.Errorf("a secret is told: %v", err)
			}
		})
	}
}

// A store that stops answering ends a listing with an error, and takes nothing for
// gone.
func TestAListingThatFailsInItsMidst(t *testing.T) {
	server := s3test.New(t)
	for _, name := range []string{"a", "b", "c"} {
		server.Put("docs/"+name+".txt", "x")
	}
	root := open(t, server.Root("docs"), corpus.Options{})
	server.Fault(func(w http.ResponseWriter, r *http.Request) bool { return s3test.Refuse(w, 403, "AccessDenied") })
	var last error
	for entry, err := range root.List(t.Context()) {
		if err == nil {
			t.Errorf("listed: %v", entry)
		}
		last = err
	}
	if last == nil || !strings.Contains(last.Error(), "s3:ListBucket") || !strings.Contains(last.Error(), root.Dir()) {
		t.Errorf("the listing ended with %v", last)
	}
	if !root.Exists("a.txt") || !root.Exists("unknown.txt") {
		t.Error("what cannot be seen was taken for gone")
	}
}

func TestADoneContextEndsRequests(t *testing.T) {
	server := s3test.New(t)
	root, file := one(t, server, "x", corpus.Options{})
	server.Fault(func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true })
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, _, err := root.Read(ctx, file); !errors.Is(err, context.Canceled) {
		t.Errorf("read: %v", err)
	}
	for _, err := range root.List(ctx) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("list: %v", err)
		}
	}
}
