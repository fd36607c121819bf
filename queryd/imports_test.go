package main

import (
	"os/exec"
	"strings"
	"testing"
)

// What a program that can only read has no use for.
var forbidden = []string{
	"graphmill/pipeline",
	"graphmill/pipeline/falkor/store",
	"graphmill/pipeline/assemble",
	"graphmill/pipeline/corpus",
	"graphmill/pipeline/ontology",
	"graphmill/extractors",
	"graphmill/chunkers",
	"graphmill/planner",
	"graphmill/resolvers",
	"graphmill/ingestd",
}

// allowed lie below something forbidden and are not. The catalogue of the
// planner is names that the configuration is checked against.
var allowed = []string{"graphmill/planner/catalogue"}

func TestQuerydCannotReachWhatWrites(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "graphmill/queryd/...", "graphmill/toolserver/...").Output()
	if err != nil {
		t.Fatalf("list dependencies: %v", err)
	}
	packages := strings.Fields(string(out))
	if len(packages) < 50 {
		t.Fatalf("only %d packages listed", len(packages))
	}
	for _, p := range packages {
		if met := meets(p); met != "" {
			t.Errorf("queryd depends on %s", p)
		}
	}
}

func TestTheWriterWouldBeNoticed(t *testing.T) {
	for _, p := range []string{"graphmill/pipeline", "graphmill/pipeline/falkor/store", "graphmill/pipeline/corpus/pdf", "graphmill/planner"} {
		if meets(p) == "" {
			t.Errorf("%s passes", p)
		}
	}
	for _, p := range []string{"graphmill/pipeline/falkor/reader", "graphmill/pipeline/graph", "graphmill/pipeline/models", "graphmill/planner/catalogue"} {
		if meets(p) != "" {
			t.Errorf("%s does not pass", p)
		}
	}
}

// meets returns the forbidden package that p is or lies in, or "".
func meets(p string) string {
	for _, a := range allowed {
		if p == a {
			return ""
		}
	}
	for _, f := range forbidden {
		if p == f || f != "graphmill/pipeline" && strings.HasPrefix(p, f+"/") {
			return f
		}
	}
	return ""
}
