// Command queryd serves a knowledge graph that ingestd built to agents. It can
// only read; see `queryd --help`.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// A reader that closes its end early must not kill the process before it has
	// given the engine back; writing then fails with an error.
	signal.Ignore(syscall.SIGPIPE)
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
