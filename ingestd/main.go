// Command ingestd turns a folder of documents into a cited knowledge graph in
// FalkorDB. It is the only program that writes the graph; see `ingestd --help`.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// A reader that closes its end early (`| head`) must not kill the process
	// between two documents, with the engine left running.
	signal.Ignore(syscall.SIGPIPE)
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}
