// Command ingestd turns a folder of documents into a cited knowledge graph in
// FalkorDB. It is the only program that writes the graph; see `ingestd --help`.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}
