// Package toolserver offers tools to agents: it checks arguments against the
// schema that is advertised, runs a tool, bounds its reply, says what went wrong
// and what to do about it, and speaks MCP. It knows no graph and no tool; queryd
// and ingestd hand theirs in.
package toolserver
