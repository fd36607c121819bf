package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"graphmill/pipeline/falkor/store"
)

// Three ways to write what a graph holds for other tools.

// jsonLines writes one object a line: nodes {"node": label, "id", "labels", …} and
// edges {"edge": kind, "from", "to", …}.
type jsonLines struct {
	out   *bufio.Writer
	class store.ExportClass
}

type jsonNode struct {
	Node       string         `json:"node"`
	ID         string         `json:"id"`
	Labels     []string       `json:"labels"`
	Properties map[string]any `json:"properties"`
}

type jsonEdge struct {
	Edge       string         `json:"edge"`
	From       string         `json:"from"`
	To         string         `json:"to"`
	FromLabel  string         `json:"from_label"`
	ToLabel    string         `json:"to_label"`
	Properties map[string]any `json:"properties"`
}

func (j *jsonLines) Begin([]store.ExportClass) error { return nil }

func (j *jsonLines) Class(c store.ExportClass) error { j.class = c; return nil }

func (j *jsonLines) Node(id string, labels []string, properties map[string]any) error {
	return j.line(jsonNode{j.class.Name, id, labels, properties})
}

func (j *jsonLines) Edge(from, to string, properties map[string]any) error {
	return j.line(jsonEdge{j.class.Name, from, to, j.class.From, j.class.To, properties})
}

func (j *jsonLines) line(value any) error {
	encoder := json.NewEncoder(j.out) // keys of maps come sorted
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// graphML writes the XML that Gephi, yEd, NetworkX and igraph read. Ids are unique
// within a label only, so that the label stands before them; lists are JSON.
type graphML struct {
	out   *bufio.Writer
	class store.ExportClass
	edges int
}

func (g *graphML) Begin(classes []store.ExportClass) error {
	fmt.Fprint(g.out, xml.Header, `<graphml xmlns="http://graphml.graphdrawing.org/xmlns">`, "\n")
	fmt.Fprint(g.out, `  <key id="label" for="all" attr.name="label" attr.type="string"/>`, "\n", `  <key id="labels" for="node" attr.name="labels" attr.type="string"/>`, "\n")
	for _, c := range classes {
		domain := "node"
		if c.From != "" {
			domain = "edge"
		}
		for _, p := range c.Properties {
			fmt.Fprintf(g.out, `  <key id="%s" for="%s" attr.name="%s" attr.type="%s"/>`+"\n", attribute(c.Name+"."+p.Name), domain, attribute(p.Name), graphMLType(p.Types))
		}
	}
	_, err := fmt.Fprint(g.out, `  <graph edgedefault="directed">`, "\n")
	return err
}

func (g *graphML) Class(c store.ExportClass) error { g.class = c; return nil }

func graphMLType(types []string) string {
	switch {
	case slices.Equal(types, []string{"Integer"}):
		return "long"
	case slices.Equal(types, []string{"Float"}), slices.Equal(types, []string{"Float", "Integer"}):
		return "double"
	case slices.Equal(types, []string{"Boolean"}):
		return "boolean"
	}
	return "string"
}

func (g *graphML) Node(id string, labels []string, properties map[string]any) error {
	fmt.Fprintf(g.out, `    <node id="%s"><data key="label">%s</data><data key="labels">%s</data>`, attribute(g.class.Name+"/"+id), attribute(g.class.Name), attribute(strings.Join(labels, " ")))
	g.data(properties)
	_, err := fmt.Fprintln(g.out, "</node>")
	return err
}

func (g *graphML) Edge(from, to string, properties map[string]any) error {
	g.edges++
	fmt.Fprintf(g.out, `    <edge id="e%d" source="%s" target="%s"><data key="label">%s</data>`, g.edges, attribute(g.class.From+"/"+from), attribute(g.class.To+"/"+to), attribute(g.class.Name))
	g.data(properties)
	_, err := fmt.Fprintln(g.out, "</edge>")
	return err
}

func (g *graphML) data(properties map[string]any) {
	for _, p := range g.class.Properties {
		if value, ok := properties[p.Name]; ok && value != nil {
			fmt.Fprintf(g.out, `<data key="%s">%s</data>`, attribute(g.class.Name+"."+p.Name), attribute(cell(value)))
		}
	}
}

func (g *graphML) end() error {
	_, err := fmt.Fprint(g.out, "  </graph>\n</graphml>\n")
	return err
}

// attribute escapes text for XML. What XML cannot hold at all, a few control
// characters, becomes U+FFFD.
func attribute(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a strings.Builder takes everything
	return b.String()
}

// cell is a value as text; a list is JSON.
func cell(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// csvFolder writes a file for each label and kind of edge: id and labels, or from
// and to, and then the properties.
type csvFolder struct {
	dir     string
	written []string // names of files
	class   store.ExportClass
	file    *os.File
	out     *csv.Writer
}

func (c *csvFolder) Begin([]store.ExportClass) error { return nil }

func (c *csvFolder) Class(class store.ExportClass) error {
	if err := c.end(); err != nil {
		return err
	}
	c.class = class
	name, header := strings.ToLower(strings.Trim(class.Name, "_")), []string{"id", "labels"}
	if class.From != "" {
		header = []string{"from", "to"}
	}
	for _, p := range class.Properties {
		if p.Name != "id" {
			header = append(header, p.Name)
		}
	}
	var err error
	if c.file, err = os.OpenFile(filepath.Join(c.dir, name+".csv"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return err
	}
	c.written = append(c.written, name+".csv")
	c.out = csv.NewWriter(c.file)
	return c.out.Write(header)
}

func (c *csvFolder) Node(id string, labels []string, properties map[string]any) error {
	return c.row([]string{id, strings.Join(labels, " ")}, properties)
}

func (c *csvFolder) Edge(from, to string, properties map[string]any) error {
	return c.row([]string{from, to}, properties)
}

func (c *csvFolder) row(cells []string, properties map[string]any) error {
	for _, p := range c.class.Properties {
		if p.Name != "id" {
			cells = append(cells, cell(properties[p.Name]))
		}
	}
	return c.out.Write(cells)
}

// end closes the last file.
func (c *csvFolder) end() error {
	if c.file == nil {
		return nil
	}
	c.out.Flush()
	err := errors.Join(c.out.Error(), c.file.Sync(), c.file.Close())
	c.file = nil
	return err
}

// counting counts what passes.
type counting struct {
	store.Exported
	nodes, edges int
}

func (c *counting) Node(id string, labels []string, properties map[string]any) error {
	c.nodes++
	return c.Exported.Node(id, labels, properties)
}

func (c *counting) Edge(from, to string, properties map[string]any) error {
	c.edges++
	return c.Exported.Edge(from, to, properties)
}
