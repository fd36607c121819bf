package configs

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

func servingKeys() []Key {
	return slices.Concat(readingKeys(), mcpKeys(), writingKeys())
}

func readingKeys() []Key {
	return []Key{
		{Name: "queryd.top_k", Kind: KindInt, Default: 10, Min: 1, Max: 100,
			Description: "Passages that retrieve returns when the call does not say."},
		{Name: "queryd.query_timeout", Kind: KindDuration, Default: 10 * time.Second, Min: float64(100 * time.Millisecond), Max: float64(10 * time.Minute),
			Description: "How long one query may take."},
		{Name: "queryd.max_reply_chars", Kind: KindInt, Default: 40_000, Min: 1000, Max: 10_000_000,
			Description: "Longest reply of a tool, in characters; a longer one is shortened and says so."},
		{Name: "queryd.require_read_only_login", Kind: KindBool, Default: false, Flag: "require-read-only-login",
			Description: "Answer no call with a database login that could write, instead of warning of it."},
	}
}

func mcpKeys() []Key {
	return []Key{
		{Name: "mcp.transport", Kind: KindText, Default: TransportStdio, Allowed: []string{TransportStdio, TransportHTTP}, Flag: "transport",
			Description: "How the tools are served: to the process that starts the program, or over the network."},
		{Name: "mcp.include", Kind: KindList, Default: []string{}, Flag: "tools", check: checkToolName, rule: "tool names", DefaultNote: "every tool",
			Description: "Only these tools are served."},
		{Name: "mcp.listen", Kind: KindText, Default: "127.0.0.1:8765", Flag: "listen", check: checkListen, rule: ruleListen,
			Description: "Address of the network server. Beyond loopback it needs a token."},
		{Name: "mcp.token", Kind: KindSecret, Default: Secret(""), Aliases: []string{"GRAPHRAG_MCP_TOKEN"}, DefaultNote: "none",
			Description: "Bearer tokens that clients must send, each as NAME:TOKEN or TOKEN, separated by commas. The audit names their holders."},
		{Name: "mcp.token_file", Kind: KindPath, Default: "", DefaultNote: "none",
			Description: "File of further tokens, one a line; read again when it changes."},
		{Name: "mcp.tls_cert", Kind: KindPath, Default: "", DefaultNote: "no TLS",
			Description: "Certificate chain (PEM) of the network server; read again when it changes."},
		{Name: "mcp.tls_key", Kind: KindPath, Default: "", DefaultNote: "no TLS",
			Description: "The certificate's private key (PEM)."},
		{Name: "mcp.allowed_hosts", Kind: KindList, Default: []string{}, check: checkHostName, rule: "host names without port", DefaultNote: "the names of loopback there, any elsewhere",
			Description: "Further names that requests may give in Host and Origin: those of a proxy in front."},
		{Name: "mcp.max_calls", Kind: KindInt, Default: 0, Max: 1024, DefaultNote: "two a core",
			Description: "Calls that are worked on at once, those that nobody waits for any more included."},
		{Name: "mcp.max_queue", Kind: KindInt, Default: 256, Min: 1, Max: 100_000,
			Description: "Calls that wait for a place; further ones are told to come back."},
		{Name: "mcp.queue_timeout", Kind: KindDuration, Default: 10 * time.Second, Min: float64(10 * time.Millisecond), Max: float64(10 * time.Minute),
			Description: "How long a call waits for a place."},
		{Name: "mcp.call_timeout", Kind: KindDuration, Default: 30 * time.Second, Min: float64(100 * time.Millisecond), Max: float64(time.Hour),
			Description: "How long a call may take once it has a place."},
		{Name: "mcp.max_requests_per_minute", Kind: KindInt, Default: 600, Min: 1, Max: 10_000_000,
			Description: "Requests of one token, or of all clients without one, over the network; a quarter of them may come at once."},
		{Name: "mcp.max_body_bytes", Kind: KindSize, Default: int64(4 * mib), Min: kib, Max: gib,
			Description: "Largest message of a client."},
		{Name: "mcp.max_sessions", Kind: KindInt, Default: 256, Min: 1, Max: 100_000,
			Description: "Sessions of one token; at the limit the one that was quiet longest makes room."},
		{Name: "mcp.session_timeout", Kind: KindDuration, Default: 30 * time.Minute, Min: float64(100 * time.Millisecond), Max: float64(7 * day),
			Description: "How long a session may be quiet before it ends."},
		{Name: "mcp.max_connections", Kind: KindInt, Default: 1024, Min: 1, Max: 1_000_000,
			Description: "Open connections of the network server; further ones wait."},
		{Name: "mcp.header_timeout", Kind: KindDuration, Default: 10 * time.Second, Min: float64(100 * time.Millisecond), Max: float64(10 * time.Minute),
			Description: "How long a request's head may take, and once more its body."},
		{Name: "mcp.idle_timeout", Kind: KindDuration, Default: 2 * time.Minute, Min: float64(time.Second), Max: float64(day),
			Description: "How long a connection stays open between requests."},
		{Name: "mcp.drain_timeout", Kind: KindDuration, Default: 20 * time.Second, Min: float64(100 * time.Millisecond), Max: float64(time.Hour),
			Description: "How long calls under way may take to end when the program is stopped."},
		{Name: "mcp.metrics_listen", Kind: KindText, Default: "", Flag: "metrics-listen", check: checkListen, rule: ruleListen, DefaultNote: "no metrics",
			Description: "Address of /metrics, for Prometheus."},
		{Name: "mcp.audit_file", Kind: KindPath, Default: "", DefaultNote: "standard error with transport http, none with stdio",
			Description: "File that gets one JSON line for each call: who, tool, sizes, time, outcome."},
		{Name: "mcp.audit_arguments", Kind: KindBool, Default: false,
			Description: "Put the arguments of calls into the audit, questions and draft answers among them."},
	}
}

// writingKeys are those of the tools that write.
func writingKeys() []Key {
	return []Key{
		{Name: "mcp.read_only", Kind: KindBool, Default: false, Aliases: []string{"GRAPHRAG_MCP_READ_ONLY"}, Flag: "read-only",
			Description: "ingestd serves no tool: all of its tools write, or prepare writing. queryd never writes."},
		{Name: "mcp.finalize_policy", Kind: KindText, Default: FinalizeManual, Flag: "finalize-policy",
			Allowed:     []string{FinalizeManual, FinalizeOnWrite, FinalizeNever},
			Description: "When the graph is finalized: by the tool finalize, after every ingest that changed something, or never by the server."},
		{Name: "mcp.ingest_timeout", Kind: KindDuration, Default: time.Hour, Min: float64(time.Second), Max: float64(7 * day),
			Description: "How long a call of ingest, set_ontology or finalize may take; it then stops at a document boundary."},
		{Name: "mcp.lock_timeout", Kind: KindDuration, Default: 2 * time.Minute, Max: float64(day),
			Description: "How long a tool that writes waits for others that write the graph."},
	}
}

const ruleListen = "host:port; port 0 takes a free one"

func checkListen(v string) error {
	if _, _, err := net.SplitHostPort(v); err != nil {
		return fmt.Errorf("is no host:port")
	}
	return nil
}

func checkHostName(v string) error {
	if strings.ContainsAny(v, "/: @") || v != strings.ToLower(v) {
		return fmt.Errorf("is no host name in lower case without port")
	}
	return nil
}
