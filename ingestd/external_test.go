package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"graphmill/commandline"
	"graphmill/pipeline/engine"
	"graphmill/pipeline/engine/enginetest"
)

const externalSecret = "correct-horse-battery-staple"

// external starts a FalkorDB server that ingestd knows nothing of but its
// address. Its default user has a password; "loader" is another user.
func external(t *testing.T, arguments ...string) (host, port string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ = net.SplitHostPort(listener.Addr().String())
	listener.Close()
	binaries, err := engine.Find(enginetest.Options(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var log bytes.Buffer
	command := exec.Command(binaries.RedisServer, append([]string{"--bind", "127.0.0.1", "--port", port, "--dir", dir, "--save", "",
		"--loadmodule", binaries.Module, "--requirepass", externalSecret,
		"--user", "loader", "on", ">loader-" + externalSecret, "~*", "&*", "+@all"}, arguments...)...)
	command.Stdout, command.Stderr = &log, &log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { command.Wait(); close(ended) }()
	t.Cleanup(func() { command.Process.Kill(); <-ended })
	eventually(t, "the server listens", func() bool {
		select {
		case <-ended:
			t.Fatalf("the server ended: %s", &log)
		default:
		}
		c, err := net.Dial("tcp", net.JoinHostPort(host, port))
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return host, port
}

func TestExternalServerByUserAndPassword(t *testing.T) {
	inFull(t)
	host, port := external(t, "--appendonly", "yes", "--appendfsync", "always")
	w := newWorld(t)
	w.fill(6, 1)
	w.env = []string{"FALKOR_HOST=" + host, "FALKOR_PORT=" + port, "FALKOR_PASSWORD=" + externalSecret}
	report := w.ingest(0)
	if statuses(report) != "6 ingested" || len(report.Warnings) != 0 {
		t.Errorf("%s, warnings %v", statuses(report), report.Warnings)
	}
	digest := w.digest()
	w.env = []string{"FALKOR_HOST=redis://loader:loader-" + externalSecret + "@" + net.JoinHostPort(host, port)}
	if got := statuses(w.ingest(0)); got != "6 unchanged" {
		t.Errorf("as another user: %s", got)
	}
	local := newWorld(t)
	local.fill(6, 1)
	local.ingest(0)
	if local.digest() != digest {
		t.Error("an external server holds another graph than the local engine")
	}
	if entries, _ := os.ReadDir(filepath.Join(w.data, "engine")); len(entries) != 0 {
		t.Errorf("a local engine was made: %v", entries)
	}
	for _, wrong := range [][]string{
		{"FALKOR_HOST=" + host, "FALKOR_PORT=" + port, "FALKOR_PASSWORD=wrong-" + externalSecret},
		{"FALKOR_HOST=" + host, "FALKOR_PORT=" + port},
	} {
		w.env = wrong
		e := w.run("status")
		if e.code != commandline.ExitFailed || strings.Contains(e.String(), externalSecret) {
			t.Errorf("%v: %v", wrong, e)
		}
		contains(t, e.stderr, "FALKOR_USERNAME", "FALKOR_PASSWORD")
	}
	w.env = []string{"FALKOR_HOST=" + host, "FALKOR_PORT=1"}
	if e := w.run("status"); e.code != commandline.ExitFailed || !strings.Contains(e.stderr, "FALKOR_HOST") {
		t.Errorf("a server that is not there: %v", e)
	}
	for _, verb := range []string{"start", "stop", "status"} {
		if e := w.run("db", verb); e.code != commandline.ExitUsage || !strings.Contains(e.stderr, "FALKOR_HOST") {
			t.Errorf("db %s: %v", verb, e)
		}
	}
}

func TestServerWithoutAppendOnlyFileIsReported(t *testing.T) {
	inFull(t)
	host, port := external(t, "--appendonly", "no")
	w := newWorld(t)
	w.fill(2, 1)
	w.env = []string{"FALKOR_HOST=" + host, "FALKOR_PORT=" + port, "FALKOR_PASSWORD=" + externalSecret}
	report := w.ingest(0)
	contains(t, strings.Join(report.Warnings, "\n"), "durability unconfirmed", "appendonly no")
	e := w.run("run", "--root", w.corpus, "--quiet")
	contains(t, e.stdout, "2 unchanged")
	if strings.Contains(e.stdout, "durability") {
		t.Errorf("a run that wrote nothing warns: %v", e)
	}
}

func TestExternalServerByTLS(t *testing.T) {
	t.Parallel()
	host, port := external(t, "--appendonly", "yes")
	authority, certificate := certificates(t)
	tlsPort := terminateTLS(t, certificate, net.JoinHostPort(host, port))
	w := newWorld(t)
	w.fill(3, 1)
	w.env = []string{"FALKOR_HOST=rediss://127.0.0.1:" + tlsPort, "FALKOR_PASSWORD=" + externalSecret, "GRAPHMILL_FALKOR_CA_FILE=" + authority}
	if got := statuses(w.ingest(0)); got != "3 ingested" {
		t.Errorf("got %s", got)
	}
	w.env = []string{"FALKOR_HOST=127.0.0.1", "FALKOR_PORT=" + tlsPort, "FALKOR_PASSWORD=" + externalSecret,
		"GRAPHMILL_FALKOR_TLS=true", "GRAPHMILL_FALKOR_TLS_INSECURE=true"}
	if got := statuses(w.ingest(0)); got != "3 unchanged" {
		t.Errorf("got %s", got)
	}
	w.env = []string{"FALKOR_HOST=rediss://127.0.0.1:" + tlsPort, "FALKOR_PASSWORD=" + externalSecret}
	e := w.run("status")
	if e.code != commandline.ExitFailed || strings.Contains(e.stderr, externalSecret) {
		t.Errorf("an authority that nobody knows: %v", e)
	}
	contains(t, e.stderr, "certificate", "TLS")
	// Without TLS, to a port that wants it: an error, and no waiting for ever.
	w.env = []string{"FALKOR_HOST=127.0.0.1", "FALKOR_PORT=" + tlsPort, "FALKOR_PASSWORD=" + externalSecret}
	if e := w.run("status"); e.code != commandline.ExitFailed || !strings.Contains(e.stderr, "TLS") {
		t.Errorf("without TLS: %v", e)
	}
}

// certificates makes an authority's certificate file and a server's certificate.
func certificates(t *testing.T) (authorityFile string, server tls.Certificate) {
	t.Helper()
	make := func(template, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey, []byte) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if parent == nil {
			parent, parentKey = template, key
		}
		der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
		if err != nil {
			t.Fatal(err)
		}
		certificate, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		return certificate, key, der
	}
	valid := func(serial int64, name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		}
	}
	template := valid(1, "test authority")
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	authority, authorityKey, der := make(template, nil, nil)
	authorityFile = filepath.Join(t.TempDir(), "ca.pem")
	writeFile(t, authorityFile, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	template = valid(2, "test server")
	template.IPAddresses, template.KeyUsage = []net.IP{net.IPv4(127, 0, 0, 1)}, x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	_, key, der := make(template, authority, authorityKey)
	return authorityFile, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// terminateTLS stands in front of a server, as the fetched one has no TLS of its
// own, and returns its port.
func terminateTLS(t *testing.T, certificate tls.Certificate, backend string) string {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	var open sync.WaitGroup
	t.Cleanup(func() { listener.Close(); open.Wait() })
	open.Go(func() {
		for {
			outer, err := listener.Accept()
			if err != nil {
				return
			}
			open.Go(func() {
				defer outer.Close()
				inner, err := net.Dial("tcp", backend)
				if err != nil {
					return
				}
				defer inner.Close()
				go func() { io.Copy(inner, outer); inner.Close() }()
				io.Copy(outer, inner)
			})
		}
	})
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port
}
