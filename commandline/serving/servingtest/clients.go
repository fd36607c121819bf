package servingtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Clients is where `make clients` put other people's MCP clients, which need a
// program to run; without either the test is skipped.
func Clients(t *testing.T, depsDir, name, program string) string {
	t.Helper()
	place := filepath.Join(depsDir, "clients", name)
	if _, err := os.Stat(place); err != nil {
		t.Skipf("SKIPPED: %s is not installed; make clients", place)
	}
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("SKIPPED: there is no %s on the PATH", program)
	}
	return place
}
