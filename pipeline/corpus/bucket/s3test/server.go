// Package s3test is an S3 server on the loopback for tests: the operations that
// reading a bucket takes, as Amazon's documentation has them, with signatures
// checked and faults on demand.
package s3test

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// The only account.
const (
	AccessKey = "AKIATESTTESTTESTTEST"
	SecretKey = "s3test/secret+that/is+never/printed"
)

// Bucket is the only bucket.
const Bucket = "documents"

// Server holds the bucket. It is safe for concurrent use.
type Server struct {
	URL string
	// Unconditional makes it one that does not know If-Match. It is set before use.
	Unconditional bool

	mu      sync.Mutex
	objects map[string]object
	clock   time.Time
	fault   func(w http.ResponseWriter, r *http.Request) bool
	lists   int
}

type object struct {
	data []byte
	time time.Time
}

func (o object) etag() string {
	sum := md5.Sum(o.data)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

// New starts a server with an empty bucket.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{objects: map[string]object{}, clock: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Root is the address of what is under a prefix.
func (s *Server) Root(prefix string) string {
	return "s3://" + Bucket + "/" + prefix + "?endpoint=" + url.QueryEscape(s.URL)
}

// Env is what the AWS SDK finds the account by, and nothing of this machine's.
func Env() []string {
	return []string{
		"AWS_ACCESS_KEY_ID=" + AccessKey, "AWS_SECRET_ACCESS_KEY=" + SecretKey, "AWS_EC2_METADATA_DISABLED=true",
		"AWS_CONFIG_FILE=/nonexistent", "AWS_SHARED_CREDENTIALS_FILE=/nonexistent",
	}
}

// Put stores an object, at a later time than all before.
func (s *Server) Put(key, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock = s.clock.Add(time.Second)
	s.objects[key] = object{[]byte(text), s.clock}
}

// Delete removes an object.
func (s *Server) Delete(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, key)
}

// Fault has requests go to do first, which returns whether it answered; nil ends
// that.
func (s *Server) Fault(do func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = do
}

// Lists is how many pages of listings were asked for.
func (s *Server) Lists() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists
}

// Refuse answers with an error of S3's.
func Refuse(w http.ResponseWriter, status int, code string) bool {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>as the test wants it</Message></Error>", code)
	return true
}

// Cut answers with an object's first bytes and cuts the connection.
func Cut(w http.ResponseWriter, said int, data string) bool {
	w.Header().Set("Content-Length", strconv.Itoa(said))
	fmt.Fprint(w, data)
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	fault := s.fault
	s.mu.Unlock()
	if fault != nil && fault(w, r) {
		return
	}
	if code := signed(r); code != "" {
		Refuse(w, http.StatusForbidden, code)
		return
	}
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case bucket != Bucket:
		Refuse(w, http.StatusNotFound, "NoSuchBucket")
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		Refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed")
	case key != "":
		s.get(w, r, key)
	case r.URL.Query().Get("list-type") == "2":
		s.list(w, r.URL.Query())
	default:
		Refuse(w, http.StatusNotImplemented, "NotImplemented")
	}
}

func (s *Server) get(w http.ResponseWriter, r *http.Request, key string) {
	s.mu.Lock()
	o, there := s.objects[key]
	s.mu.Unlock()
	if !there {
		Refuse(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	if s.Unconditional {
		r.Header.Del("If-Match")
	}
	w.Header().Set("ETag", o.etag())
	w.Header().Set("Content-Type", "binary/octet-stream")
	http.ServeContent(w, r, "", o.time, bytes.NewReader(o.data)) // knows Range and If-Match
}

type listing struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	Name, Prefix          string
	EncodingType          string `xml:",omitempty"`
	KeyCount, MaxKeys     int
	IsTruncated           bool
	NextContinuationToken string `xml:",omitempty"`
	Contents              []listed
}

type listed struct {
	Key, LastModified, ETag string
	Size                    int
	StorageClass            string
}

func (s *Server) list(w http.ResponseWriter, query url.Values) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists++
	after, err := base64.StdEncoding.DecodeString(query.Get("continuation-token"))
	most, wrong := strconv.Atoi(query.Get("max-keys"))
	if err != nil || wrong != nil {
		Refuse(w, http.StatusBadRequest, "InvalidArgument")
		return
	}
	var keys []string
	for key := range s.objects {
		if strings.HasPrefix(key, query.Get("prefix")) && key > string(after) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	out := listing{Name: Bucket, Prefix: query.Get("prefix"), EncodingType: query.Get("encoding-type"), MaxKeys: min(most, 1000)}
	if len(keys) > out.MaxKeys {
		keys = keys[:out.MaxKeys]
		out.IsTruncated, out.NextContinuationToken = true, base64.StdEncoding.EncodeToString([]byte(keys[len(keys)-1]))
	}
	out.KeyCount = len(keys)
	for _, key := range keys {
		o := s.objects[key]
		if out.EncodingType == "url" {
			key = url.QueryEscape(key)
		}
		out.Contents = append(out.Contents, listed{key, o.time.Format("2006-01-02T15:04:05.000Z"), o.etag(), len(o.data), "STANDARD"})
	}
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(out)
}

// signed checks a request's signature by making it again; the code of what is
// wrong, or "".
func signed(r *http.Request) (code string) {
	fields := strings.NewReplacer("AWS4-HMAC-SHA256 ", "", " ", "").Replace(r.Header.Get("Authorization"))
	parts := map[string]string{}
	for field := range strings.SplitSeq(fields, ",") {
		name, value, _ := strings.Cut(field, "=")
		parts[name] = value
	}
	scope := strings.Split(parts["Credential"], "/")
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	switch {
	case len(scope) != 5 || err != nil:
		return "AccessDenied"
	case scope[0] != AccessKey:
		return "InvalidAccessKeyId"
	}
	again := &http.Request{Method: r.Method, Host: r.Host, Header: http.Header{}}
	again.URL, _ = url.Parse("http://" + r.Host + r.URL.RequestURI())
	for name := range strings.SplitSeq(parts["SignedHeaders"], ";") {
		if value := r.Header.Values(name); name != "host" && len(value) > 0 {
			again.Header[http.CanonicalHeaderKey(name)] = value
		}
	}
	account := aws.Credentials{AccessKeyID: AccessKey, SecretAccessKey: SecretKey}
	err = v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }).
		SignHTTP(r.Context(), account, again, r.Header.Get("X-Amz-Content-Sha256"), "s3", scope[2], at)
	if err != nil || !strings.HasSuffix(again.Header.Get("Authorization"), "Signature="+parts["Signature"]) {
		return "SignatureDoesNotMatch"
	}
	return ""
}
