package serving

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"

	"graphmill/commandline"
	"graphmill/configs"
	"graphmill/toolserver"
)

// limits are the configuration's, by the names that toolserver has for them.
func (p *Program) limits() toolserver.Limits {
	m := p.Config.MCP
	return toolserver.Limits{
		CallsAtOnce: m.MaxCalls, Queue: m.MaxQueue, QueueWait: m.QueueTimeout, CallTime: m.CallTimeout,
		PerMinute: m.MaxRequestsPerMinute, BodyBytes: m.MaxBodyBytes, Sessions: m.MaxSessions, SessionIdle: m.SessionTimeout,
		Connections: m.MaxConnections, HeaderTime: m.HeaderTimeout, IdleTime: m.IdleTimeout, DrainTime: m.DrainTimeout,
	}
}

// tokens are those of the network server; none over stdio.
func (p *Program) tokens(overHTTP bool) (*toolserver.Tokens, error) {
	text, path := p.Config.MCP.Token.Reveal(), p.Config.MCP.TokenFile
	if !overHTTP {
		text, path = "", ""
	}
	tokens, err := toolserver.NewTokens(text, path, p.Log)
	if err != nil {
		return nil, commandline.Usage("mcp.token, mcp.token_file: %v", err)
	}
	return tokens, nil
}

// openAudit opens where calls are recorded: a file, standard error of a network
// server, or nowhere.
func (p *Program) openAudit() (slog.Handler, func(), error) {
	switch {
	case p.Config.MCP.AuditFile != "":
		file, err := os.OpenFile(p.Config.MCP.AuditFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, nil, commandline.Usage("mcp.audit_file: %v", err)
		}
		return slog.NewJSONHandler(file, nil), func() { file.Close() }, nil
	case p.Config.MCP.Transport == configs.TransportHTTP:
		return slog.NewJSONHandler(p.Stderr, nil), func() {}, nil
	}
	return nil, func() {}, nil
}

func (p *Program) serveNetwork(ctx context.Context, service *toolserver.Service, d desk, tokens *toolserver.Tokens) error {
	m := p.Config.MCP
	scheme := "http"
	if m.TLSCert != "" {
		scheme = "https"
	}
	err := service.ListenAndServe(ctx, toolserver.Network{
		Listen: m.Listen, MetricsListen: m.MetricsListen, CertFile: m.TLSCert, KeyFile: m.TLSKey,
		Tokens: tokens, Hosts: m.AllowedHosts, Degraded: d.degraded,
		Ready: func(address, metrics string) {
			p.Say(fmt.Sprintf("serving MCP at %s://%s/mcp", scheme, address))
			if metrics != "" {
				p.Say(fmt.Sprintf("metrics at %s://%s/metrics", scheme, metrics))
			}
		},
	})
	if errors.Is(err, toolserver.ErrNoToken) {
		return commandline.Usage("%v; give one in GRAPHMILL_MCP_TOKEN or mcp.token_file, or listen on 127.0.0.1", err)
	}
	return err
}

// Check is doctor's look at what a network server would need.
func (p *Program) Check(d *commandline.Diagnosis) {
	m := p.Config.MCP
	if m.Transport != configs.TransportHTTP {
		return
	}
	tokens, err := p.tokens(true)
	if err != nil {
		d.Add("tokens", "", err)
		return
	}
	host, _, _ := net.SplitHostPort(m.Listen)
	ip := net.ParseIP(host)
	loopback := host == "localhost" || ip != nil && ip.IsLoopback()
	switch {
	case !tokens.Any() && !loopback:
		d.Add("tokens", "", fmt.Errorf("%w: give one in GRAPHMILL_MCP_TOKEN or mcp.token_file, or listen on 127.0.0.1", toolserver.ErrNoToken))
	case !tokens.Any():
		d.Warn("tokens", "none: every program on this machine may call the tools")
	case !loopback && m.TLSCert == "":
		d.Warn("tokens", "they pass unencrypted to %s: give mcp.tls_cert and mcp.tls_key, or put a proxy with TLS in front", m.Listen)
	default:
		d.Add("tokens", "asked of every client", nil)
	}
	if m.TLSCert != "" {
		d.Add("certificate", m.TLSCert, toolserver.CheckCertificate(m.TLSCert, m.TLSKey))
	}
}
