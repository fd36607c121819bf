package toolserver

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// certificate is a server's certificate and key, read again when a file changes,
// so that a renewed one needs no restart.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu     sync.Mutex
	pair   *tls.Certificate
	stamps [2]fileStamp
	looked time.Time
}

func readCertificate(certFile, keyFile string, log *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log}
	return c, c.refresh()
}

// CheckCertificate reports whether the files hold a certificate with its key.
func CheckCertificate(certFile, keyFile string) error {
	_, err := readCertificate(certFile, keyFile, slog.Default())
	return err
}

func (c *certificate) refresh() error {
	var stamps [2]fileStamp
	for i, name := range []string{c.certFile, c.keyFile} {
		stamp, err := stampOf(name)
		if err != nil {
			return fmt.Errorf("read certificate: %w", err)
		}
		stamps[i] = stamp
	}
	if c.pair != nil && stamps == c.stamps {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("read certificate %s with key %s: %w", c.certFile, c.keyFile, err)
	}
	c.pair, c.stamps = &pair, stamps
	return nil
}

func (c *certificate) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		const often = 10 * time.Second
		c.mu.Lock()
		defer c.mu.Unlock()
		if time.Since(c.looked) >= often {
			c.looked = time.Now()
			if err := c.refresh(); err != nil {
				c.log.Error("the certificate cannot be read; it stays as it was", "error", err)
			}
		}
		return c.pair, nil
	}}
}
