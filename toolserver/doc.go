// Package toolserver offers tools to agents: it checks arguments against the
// schema that is advertised, runs a tool, bounds its reply, and says what went
// wrong and what to do about it. A [Set] is the tools of one session; a [Service]
// opens one for each client and speaks MCP over standard input and output or the
// network, with tokens, limits, metrics and an audit. It knows no graph and no
// tool; queryd and ingestd hand theirs in.
package toolserver
