// Package conn talks to FalkorDB: it opens the connection, decodes replies into
// Go values and says what went wrong and what to do about it.
package conn

// Client is a connection pool to one server.
type Client struct{}
