package models

import (
	"fmt"
	"os"
	"testing"
)

// engine is shared by the package's tests: the library allows one a process.
var engine Engine

func TestMain(m *testing.M) {
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	library, err := FindLibrary("", Places{DepsDir: os.Getenv("GRAPHMILL_DEPS_DIR")})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if engine, err = NewONNXRuntime(library); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := engine.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
