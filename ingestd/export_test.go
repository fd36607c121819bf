package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"graphmill/commandline"
	"graphmill/pipeline/engine/enginetest"
)

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// One graph is written alike whatever the way to it, and everything that is
// written is what a reader of the format understands.
func TestExportsAreTheSameForTheSameGraph(t *testing.T) {
	inFull(t)
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.fill(9, 1)
	w.write("odd.txt", "A \"quoted\", <tagged> & \u2028 title\n\nZada Zovelace, \"so\" <they> say; met\tAada Aovelace é 😀.\n")
	w.ingest(0, "--graph", "a")
	w.fill(4, 2)
	w.ingest(0, "--graph", "b", "--jobs", "3")
	w.fill(9, 1)
	w.ingest(0, "--graph", "b")
	dir := t.TempDir()
	for format, check := range map[string]func(t *testing.T, name string) (nodes, edges int){"jsonl": readLines, "graphml": readGraphML, "csv": readTables} {
		var made struct{ Nodes, Edges int }
		files := map[string]string{}
		for _, graphName := range []string{"a", "b"} {
			files[graphName] = filepath.Join(dir, graphName+"."+format)
			for range 2 { // again, in the place of the first
				out := w.must("export", "--graph", graphName, "--format", format, files[graphName], "--output", "json")
				if err := json.Unmarshal([]byte(out), &made); err != nil {
					t.Fatal(err)
				}
			}
		}
		nodes, edges := check(t, files["a"])
		if nodes != made.Nodes || edges != made.Edges || nodes < 50 || edges < 100 {
			t.Errorf("%s: %d nodes and %d edges, said %+v", format, nodes, edges, made)
		}
		if format == "csv" {
			names, err := filepath.Glob(filepath.Join(files["a"], "*"))
			if err != nil || len(names) != 11 {
				t.Errorf("tables: %v, %v", names, err)
			}
			for _, name := range names {
				if !bytes.Equal(readFile(t, name), readFile(t, filepath.Join(files["b"], filepath.Base(name)))) {
					t.Errorf("%s differs", filepath.Base(name))
				}
			}
		} else if !bytes.Equal(readFile(t, files["a"]), readFile(t, files["b"])) {
			t.Errorf("%s: two graphs of one digest are written differently", format)
		}
	}
	if w.digest("--graph", "a") != w.digest("--graph", "b") {
		t.Error("they were not of one digest")
	}
	writeFile(t, filepath.Join(dir, "kept", "mine.txt"), "x")
	for _, args := range [][]string{
		{"export", "--format", "xls", filepath.Join(dir, "x")}, {"export", filepath.Join(dir, "x")},
		{"export", "--graph", "a", "--format", "csv", filepath.Join(dir, "kept")}, {"export", "--graph", "a", "--format", "csv", filepath.Join(dir, "a.jsonl")},
	} {
		if e := w.run(args...); e.code != commandline.ExitUsage {
			t.Errorf("%v: %v", args, e)
		}
	}
	readFile(t, filepath.Join(dir, "kept", "mine.txt"))
	// Tables of somebody's own are no export's, and the working directory stays.
	writeFile(t, filepath.Join(dir, "own", "salaries.csv"), "name,salary\n")
	if e := w.run("export", "--graph", "a", "--format", "csv", filepath.Join(dir, "own")); e.code != commandline.ExitUsage || !strings.Contains(e.stderr, "salaries.csv") {
		t.Errorf("over other tables: %v", e)
	}
	readFile(t, filepath.Join(dir, "own", "salaries.csv"))
	writeFile(t, filepath.Join(dir, "a.csv", "former.csv"), "id,labels\n")
	command := w.command("export", "--graph", "a", "--format", "csv", ".")
	command.Dir = filepath.Join(dir, "a.csv")
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("into the working directory: %v, %s", err, out)
	}
	if names, err := filepath.Glob(filepath.Join(dir, "a.csv", "*")); err != nil || len(names) != 11 {
		t.Errorf("in the place of an older export: %v, %v", names, err)
	}
	for _, format := range []string{"jsonl", "csv"} {
		if e := w.run("export", "--graph", "a", "--format", format, ""); e.code != commandline.ExitUsage {
			t.Errorf("%s without a name: %v", format, e)
		}
	}
}

func readLines(t *testing.T, name string) (nodes, edges int) {
	known := map[string]bool{}
	for line := range bytes.Lines(readFile(t, name)) {
		var row struct {
			Node, ID, Edge, From, To string
			FromLabel                string `json:"from_label"`
			ToLabel                  string `json:"to_label"`
			Properties               map[string]any
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		switch {
		case row.Node != "":
			nodes++
			known[row.Node+row.ID] = true
			if row.Properties["embedding"] != nil || row.Properties["id"] != row.ID {
				t.Errorf("properties of %s: %v", row.ID, row.Properties)
			}
		default:
			edges++
			if !known[row.FromLabel+row.From] || !known[row.ToLabel+row.To] {
				t.Errorf("an edge to nowhere: %s", line)
			}
		}
	}
	return nodes, edges
}

func readGraphML(t *testing.T, name string) (nodes, edges int) {
	var file struct {
		Keys []struct {
			ID string `xml:"id,attr"`
		} `xml:"key"`
		Graph struct {
			Nodes []struct {
				ID   string `xml:"id,attr"`
				Data []struct {
					Key  string `xml:"key,attr"`
					Text string `xml:",chardata"`
				} `xml:"data"`
			} `xml:"node"`
			Edges []struct {
				Source string `xml:"source,attr"`
				Target string `xml:"target,attr"`
			} `xml:"edge"`
		} `xml:"graph"`
	}
	if err := xml.Unmarshal(readFile(t, name), &file); err != nil {
		t.Fatal(err)
	}
	keys, known, text := map[string]bool{}, map[string]bool{}, ""
	for _, key := range file.Keys {
		keys[key.ID] = true
	}
	for _, node := range file.Graph.Nodes {
		if known[node.ID] {
			t.Errorf("node %s stands twice", node.ID)
		}
		known[node.ID] = true
		for _, data := range node.Data {
			if text += data.Text; !keys[data.Key] {
				t.Errorf("key %s is not declared", data.Key)
			}
		}
	}
	if !strings.Contains(text, "\"so\" <they> say; met\tAada Aovelace é 😀.") {
		t.Error("a text did not survive")
	}
	for _, edge := range file.Graph.Edges {
		if !known[edge.Source] || !known[edge.Target] {
			t.Errorf("an edge to nowhere: %+v", edge)
		}
	}
	return len(file.Graph.Nodes), len(file.Graph.Edges)
}

func readTables(t *testing.T, name string) (nodes, edges int) {
	for _, table := range []string{"document", "section", "chunk", "entity", "part_of", "has_section", "parent", "covers", "next_chunk", "mentioned_in", "relates"} {
		rows, err := csv.NewReader(bytes.NewReader(readFile(t, filepath.Join(name, table+".csv")))).ReadAll()
		if err != nil || len(rows) == 0 {
			t.Fatalf("%s: %v", table, err)
		}
		if rows[0][0] == "id" {
			nodes += len(rows) - 1
		} else {
			edges += len(rows) - 1
		}
	}
	return nodes, edges
}
