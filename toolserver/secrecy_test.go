package toolserver

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// issue writes a certificate for loopback that signs itself.
func issue(t *testing.T, dir, name string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: encoded}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

func TestTLSByFilesThatAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := issue(t, dir, "first")
	if err := CheckCertificate(certFile, keyFile); err != nil {
		t.Fatal(err)
	}
	if err := CheckCertificate(keyFile, keyFile); err == nil {
		t.Error("a key passes for a certificate")
	}
	s := run(t, "", Limits{}, func(n *Network) { n.CertFile, n.KeyFile = certFile, keyFile })
	name := ""
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		InsecureSkipVerify: true,
		VerifyConnection: func(c tls.ConnectionState) error {
			name = c.PeerCertificates[0].Subject.CommonName
			return nil
		},
	}}
	defer transport.CloseIdleConnections()
	reply, err := (&http.Client{Transport: transport}).Get(strings.Replace(s.url, "http:", "https:", 1) + "/health")
	if err != nil || name != "first" {
		t.Fatalf("%q, %v", name, err)
	}
	reply.Body.Close()
	c, err := readCertificate(certFile, keyFile, slog.Default())
	if err != nil {
		t.Fatal(err)
	}
	issue(t, dir, "second")
	pair, err := c.config().GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := x509.ParseCertificate(pair.Certificate[0]); err != nil || got.Subject.CommonName != "second" {
		t.Errorf("after a renewal: %v, %v", got, err)
	}
	if err := os.WriteFile(certFile, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.looked = time.Time{}
	if kept, err := c.config().GetCertificate(nil); err != nil || kept != pair {
		t.Error("a broken file takes the certificate away")
	}
}

func TestLogsAreMasked(t *testing.T) {
	const secret = "hunter2-hunter2"
	var out bytes.Buffer
	log := slog.New(MaskLog(slog.NewTextHandler(&out, nil), func() []string { return []string{secret} }))
	log.With("with", secret).WithGroup("g").Error("message "+secret, "text", "x "+secret, "error", errors.New("redis://u:"+secret+"@h"),
		slog.Group("inner", "deep", secret), "header", "Bearer abcdefghijklmn", "number", 7)
	if text := out.String(); strings.Contains(text, secret) || strings.Contains(text, "abcdefghijklmn") || strings.Count(text, masked) < 6 || !strings.Contains(text, "number=7") {
		t.Error(text)
	}
}
