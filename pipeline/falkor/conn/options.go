package conn

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Options say which server to talk to and as whom. Either Socket or Host is
// given.
type Options struct {
	Socket   string // path of a unix socket
	Host     string
	Port     int // 0 means 6379
	Username string
	Password string
	// TLS encrypts the connection (rediss). The server's certificate is checked
	// against the system's authorities, or CAFile's alone when given.
	TLS      bool
	CAFile   string
	Insecure bool // take any certificate
	// DialTimeout bounds connecting; 0 means 5 s.
	DialTimeout time.Duration
	// PoolSize bounds connections; 0 means 8: writes are serial per graph, reads
	// gain nothing beyond the server's own threads.
	PoolSize int
	// ClientName is shown by CLIENT LIST; "" for none.
	ClientName string
}

const (
	defaultPort        = 6379
	defaultDialTimeout = 5 * time.Second
	defaultPoolSize    = 8
)

// Address is where the server is, as messages show it. It holds no secret.
func (o Options) Address() string {
	if o.Socket != "" {
		return o.Socket
	}
	port := o.Port
	if port == 0 {
		port = defaultPort
	}
	return net.JoinHostPort(o.Host, strconv.Itoa(port))
}

func (o Options) validate() error {
	switch {
	case o.Socket == "" && o.Host == "":
		return fmt.Errorf("connect to FalkorDB: neither a socket nor a host is given; set FALKOR_HOST, or leave it to the local engine")
	case o.Socket != "" && o.Host != "":
		return fmt.Errorf("connect to FalkorDB: both socket %s and host %s are given; leave one out", o.Socket, o.Host)
	case o.Port < 0 || o.Port > 65535:
		return fmt.Errorf("connect to FalkorDB: port %d is not between 1 and 65535; set FALKOR_PORT", o.Port)
	case o.TLS && o.Socket != "":
		return fmt.Errorf("connect to FalkorDB: TLS over the unix socket %s makes no sense; switch one off", o.Socket)
	case !o.TLS && (o.CAFile != "" || o.Insecure):
		return fmt.Errorf("connect to FalkorDB: a certificate option is set, but TLS is off; switch it on or take the option out")
	case o.CAFile != "" && o.Insecure:
		return fmt.Errorf("connect to FalkorDB: an authority file and the insecure option exclude each other; leave one out")
	}
	return nil
}

// redisOptions are go-redis's. It must neither repeat a command (a timed-out
// write would be done twice) nor give up on an answer by itself: reads get their
// deadline from their context, writes have none.
func (o Options) redisOptions() (*redis.Options, error) {
	r := &redis.Options{
		Network:               "tcp",
		Addr:                  o.Address(),
		Username:              o.Username,
		Password:              o.Password,
		ClientName:            o.ClientName,
		Protocol:              2,
		DisableIdentity:       true,
		MaxRetries:            -1,
		DialTimeout:           o.DialTimeout,
		DialerRetries:         1,
		ReadTimeout:           -1,
		WriteTimeout:          -1,
		ContextTimeoutEnabled: true,
		PoolSize:              o.PoolSize,
	}
	if o.Socket != "" {
		r.Network = "unix"
	}
	if r.DialTimeout == 0 {
		r.DialTimeout = defaultDialTimeout
	}
	if r.PoolSize == 0 {
		r.PoolSize = defaultPoolSize
	}
	if !o.TLS {
		return r, nil
	}
	r.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: o.Host, InsecureSkipVerify: o.Insecure}
	if o.CAFile == "" {
		return r, nil
	}
	pem, err := os.ReadFile(o.CAFile)
	if err != nil {
		return nil, fmt.Errorf("read certificate authorities: %w", err)
	}
	r.TLSConfig.RootCAs = x509.NewCertPool()
	if !r.TLSConfig.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read certificate authorities %s: it holds no PEM certificate", o.CAFile)
	}
	return r, nil
}
