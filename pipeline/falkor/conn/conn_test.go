package conn_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
)

func open(t testing.TB, o conn.Options) *conn.Client {
	t.Helper()
	client, err := conn.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func writer(t testing.TB, f *enginetest.Fixture) *conn.Client {
	t.Helper()
	client := open(t, conn.Options{Socket: f.Address, Username: f.Writer.User, Password: f.Writer.Secret, ClientName: "test"})
	if err := client.Redis().Do(t.Context(), "GRAPH.QUERY", "g", "CREATE (:A {x: 1})-[:R]->(:A)").Err(); err != nil {
		t.Fatal(err)
	}
	return client
}

func TestValuesAreDecodedWithTheirTypes(t *testing.T) {
	client := writer(t, enginetest.Start(t))
	rows, err := client.Read(t.Context(), "g", cypher.New(`RETURN 'a, b' AS s, 7 AS i, 1.0 AS f, true AS b, null AS n,
['a, b', ']', 1, 2.5, false, null, ['x']] AS l, {k: 'v', m: [1]} AS m, '7' AS digits, '0.5' AS number, 'true' AS word, ['p', 'q'] AS strings, [1, 0.5] AS floats`, nil), 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []any{"a, b", int64(7), 1.0, true, nil, []any{"a, b", "]", int64(1), 2.5, false, nil, []any{"x"}},
		map[string]any{"k": "v", "m": []any{int64(1)}}, "7", "0.5", "true", []any{"p", "q"}, []any{int64(1), 0.5}}
	if got := rows.Row(0); !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %#v\nwant    %#v", got, want)
	}
	if rows.String(0, "s") != "a, b" || rows.Int(0, "i") != 7 || rows.Float(0, "f") != 1 || rows.Float(0, "i") != 7 || !rows.Bool(0, "b") || rows.String(0, "n") != "" ||
		!reflect.DeepEqual(rows.Strings(0, "strings"), []string{"p", "q"}) || !reflect.DeepEqual(rows.Floats(0, "floats"), []float64{1, 0.5}) || rows.Err() != nil {
		t.Errorf("accessors: %v", rows.Err())
	}
	if rows.Int(0, "s") != 0 || rows.Err() == nil {
		t.Error("a string read as an integer is no error")
	}
}

func TestMissingColumnIsAnError(t *testing.T) {
	client := writer(t, enginetest.Start(t))
	rows, err := client.Read(t.Context(), "g", cypher.New(`RETURN 1 AS one`, nil), 0)
	if err != nil || rows.Int(0, "two") != 0 || rows.Err() == nil {
		t.Errorf("%v, %v", err, rows.Err())
	}
}

func TestErrorsAreClassedAndSayWhatToDo(t *testing.T) {
	f := enginetest.Start(t)
	client := writer(t, f)
	read := func(client *conn.Client, graph string, statement cypher.Statement, timeout time.Duration) error {
		_, err := client.Read(t.Context(), graph, statement, timeout)
		return err
	}
	reader := open(t, conn.Options{Socket: f.Address, Username: f.Reader.User, Password: f.Reader.Secret})
	const secret = "hunter2-secret"
	for name, c := range map[string]struct {
		err  error
		want conn.Kind
	}{
		"nothing there":          {open(t, conn.Options{Socket: filepath.Join(t.TempDir(), "s")}).Ping(t.Context()), conn.Unreachable},
		"nobody listens":         {open(t, conn.Options{Host: "127.0.0.1", Port: closedPort(t), Password: secret}).Ping(t.Context()), conn.Unreachable},
		"no such host":           {open(t, conn.Options{Host: "no.such.host.invalid", DialTimeout: time.Second}).Ping(t.Context()), conn.Unreachable},
		"wrong password":         {open(t, conn.Options{Socket: f.Address, Username: f.Writer.User, Password: secret}).Ping(t.Context()), conn.Auth},
		"no password":            {open(t, conn.Options{Socket: f.Address}).Ping(t.Context()), conn.Auth},
		"a user without a right": {reader.Wrap("write", reader.Redis().Do(t.Context(), "GRAPH.QUERY", "g", "CREATE (:A)").Err()), conn.Auth},
		"no such graph":          {read(client, "never", cypher.New(`RETURN 1 AS x`, nil), 0), conn.NoGraph},
		"a write":                {read(client, "g", cypher.New(`CREATE (:A)`, nil), 0), conn.ReadOnly},
		"a typo":                 {read(client, "g", cypher.New(`RETUR 1`, nil), 0), conn.Syntax},
		"an unknown name":        {read(client, "g", cypher.New(`RETURN x`, nil), 0), conn.Syntax},
		"too slow":               {read(client, "g", cypher.New(`UNWIND range(1, 3000) AS a UNWIND range(1, 3000) AS b UNWIND range(1, 1000) AS c RETURN count(c) AS x`, nil), 20*time.Millisecond), conn.Timeout},
		"a node":                 {read(client, "g", cypher.New(`MATCH (n:A) RETURN n`, nil), 0), conn.Reply},
		"an edge in a list":      {read(client, "g", cypher.New(`MATCH ()-[r]->() RETURN collect(r) AS r`, nil), 0), conn.Reply},
		"a date":                 {read(client, "g", cypher.New(`RETURN date('2020-01-01') AS d`, nil), 0), conn.Reply},
	} {
		t.Run(name, func(t *testing.T) {
			if got := conn.KindOf(c.err); got != c.want {
				t.Errorf("kind %q, want %q: %v", got, c.want, c.err)
			}
			if c.err != nil && strings.Contains(c.err.Error(), secret) {
				t.Errorf("the password is in %q", c.err)
			}
		})
	}
	if keys := client.Redis().Keys(t.Context(), "*").Val(); len(keys) != 1 {
		t.Errorf("reading made keys: %q", keys)
	}
}

func TestErrorDoesNotQuoteTheStatement(t *testing.T) {
	client := writer(t, enginetest.Start(t))
	_, err := client.Read(t.Context(), "g", cypher.New(`RETURN $x +`, cypher.Params{"x": "text of a document"}), 0)
	if err == nil || strings.Contains(err.Error(), "text of a document") {
		t.Errorf("error %v", err)
	}
}

func TestCancelledReadReturnsAtOnce(t *testing.T) {
	client := writer(t, enginetest.Start(t))
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err := client.Read(ctx, "g", cypher.New(`UNWIND range(1, 3000) AS a UNWIND range(1, 3000) AS b UNWIND range(1, 1000) AS c RETURN count(c) AS x`, nil), time.Second)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Read() = %v", err)
	}
}

func TestWrongOptionsAreRefused(t *testing.T) {
	for name, o := range map[string]conn.Options{
		"nowhere":                   {},
		"two places":                {Socket: "/s", Host: "h"},
		"port":                      {Host: "h", Port: 70000},
		"TLS on a socket":           {Socket: "/s", TLS: true},
		"authority without TLS":     {Host: "h", CAFile: "x"},
		"authority and no check":    {Host: "h", TLS: true, CAFile: "x", Insecure: true},
		"authority that is missing": {Host: "h", TLS: true, CAFile: "/does/not/exist"},
	} {
		if _, err := conn.Open(o); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// TestTLSChecksTheServer puts TLS in front of the engine's socket.
func TestTLSChecksTheServer(t *testing.T) {
	f := enginetest.Start(t)
	writer(t, f)
	certificate, authority := selfSigned(t)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go forward(listener, f.Address)
	address := listener.Addr().(*net.TCPAddr)
	o := conn.Options{Host: "127.0.0.1", Port: address.Port, TLS: true, Username: f.Writer.User, Password: f.Writer.Secret}
	if err := open(t, o).Ping(t.Context()); conn.KindOf(err) != conn.Unreachable {
		t.Errorf("a certificate that nobody signed: %v", err)
	}
	o.CAFile = authority
	if err := open(t, o).Ping(t.Context()); err != nil {
		t.Errorf("with its authority: %v", err)
	}
	o.CAFile, o.Insecure = "", true
	if err := open(t, o).Ping(t.Context()); err != nil {
		t.Errorf("unchecked: %v", err)
	}
}

func forward(listener net.Listener, socket string) {
	for {
		in, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer in.Close()
			out, err := net.Dial("unix", socket)
			if err != nil {
				return
			}
			defer out.Close()
			go io.Copy(out, in)
			io.Copy(in, out)
		}()
	}
}

func selfSigned(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, path
}

func closedPort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}
