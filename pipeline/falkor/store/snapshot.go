package store

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
)

// # The snapshot
//
// A snapshot is one gzip file of JSON lines: a header, the nodes and the edges of
// the graph, those of its ontology, and an end with their number, the digest, and
// the sum of all lines before. It holds every node, label, edge and property
// whatever they mean, by the engine's internal ids; indexes are made anew.
//
//	{"graphmill_snapshot":1,"graph":"knowledge_graph","schema":1,"by":"graphmill v1","created":"…"}
//	{"part":"graph"}
//	{"n":7,"l":["Chunk"],"p":{"id":"c12","index":3,"score":0.5,"embedding":{"f32":"…"}}}
//	{"e":[4,7],"t":"PART_OF","p":{"index":3}}
//	{"part":"ontology"}
//	…
//	{"end":{"nodes":9,"edges":12,"digest":"…","digest_of":"…","sha256":"…"}}
//
// An integer has no point and a float has one or an exponent. A vector is the
// base64 of its little-endian floats.

// snapshotFormat is the version of the format.
const snapshotFormat = 1

// maxSnapshotLine bounds a line: a chunk's text is bounded, and so are the lists of
// an edge that is shared by very many documents.
const maxSnapshotLine = 256 << 20

// SnapshotHeader is a snapshot's first line.
type SnapshotHeader struct {
	Format  int    `json:"graphmill_snapshot"`
	Graph   string `json:"graph"`
	Schema  int    `json:"schema"`
	By      string `json:"by"`
	Created string `json:"created"`
}

// SnapshotEnd is its last.
type SnapshotEnd struct {
	Nodes    int    `json:"nodes"`
	Edges    int    `json:"edges"`
	Digest   string `json:"digest"`
	DigestOf string `json:"digest_of"` // what the digest covers; another program's may cover more
	SHA256   string `json:"sha256"`
}

// snapshotLine is any line.
type snapshotLine struct {
	SnapshotHeader
	Part   string         `json:"part"`
	Node   *int64         `json:"n"`
	Labels []string       `json:"l"`
	Edge   *[2]int64      `json:"e"`
	Type   string         `json:"t"`
	P      map[string]any `json:"p"`
	End    *SnapshotEnd   `json:"end"`
}

// ErrSnapshot says that a file is no whole snapshot.
var ErrSnapshot = errors.New("it is no whole snapshot; take another copy of it")

// ErrSnapshotVersion says that another version of the program wrote a snapshot.
var ErrSnapshotVersion = errors.New("another version wrote the snapshot")

// digestOf names what the digest covers.
func digestOf() string {
	sum := sha256.New()
	for _, section := range digestSections {
		io.WriteString(sum, section.name+section.page(nil).Text())
	}
	return hex.EncodeToString(sum.Sum(nil))[:16]
}

// snapshotWriter writes lines and sums them up.
type snapshotWriter struct {
	packed *gzip.Writer
	out    *bufio.Writer
	sum    hash.Hash
	line   []byte
	end    SnapshotEnd
}

func newSnapshotWriter(w io.Writer) (*snapshotWriter, error) {
	packed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	s := &snapshotWriter{packed: packed, sum: sha256.New()}
	s.out = bufio.NewWriterSize(packed, 1<<20)
	return s, nil
}

func (w *snapshotWriter) write(line []byte) error {
	line = append(line, '\n')
	w.line = line[:0]
	w.sum.Write(line)
	_, err := w.out.Write(line)
	return err
}

func (w *snapshotWriter) json(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return w.write(text)
}

func (w *snapshotWriter) node(id int64, labels []string, properties map[string]any) error {
	w.end.Nodes++
	b := append(w.line[:0], `{"n":`...)
	b = strconv.AppendInt(b, id, 10)
	b = append(b, `,"l":`...)
	b = appendJSON(b, labels)
	b, err := appendProperties(append(b, `,"p":`...), properties)
	if err != nil {
		return fmt.Errorf("node %d (%s): %w", id, strings.Join(labels, ", "), err)
	}
	return w.write(append(b, '}'))
}

func (w *snapshotWriter) edge(from, to int64, kind string, properties map[string]any) error {
	w.end.Edges++
	b := append(w.line[:0], `{"e":[`...)
	b = strconv.AppendInt(b, from, 10)
	b = strconv.AppendInt(append(b, ','), to, 10)
	b = appendJSON(append(b, `],"t":`...), kind)
	b, err := appendProperties(append(b, `,"p":`...), properties)
	if err != nil {
		return fmt.Errorf("edge %s from node %d: %w", kind, from, err)
	}
	return w.write(append(b, '}'))
}

// finish writes the last line, whose sum is of all before.
func (w *snapshotWriter) finish(digest string) error {
	w.end.Digest, w.end.DigestOf, w.end.SHA256 = digest, digestOf(), hex.EncodeToString(w.sum.Sum(nil))
	return errors.Join(w.json(struct {
		End SnapshotEnd `json:"end"`
	}{w.end}), w.out.Flush(), w.packed.Close())
}

func appendJSON(b []byte, value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		return append(b, "null"...) // strings and lists of them always marshal
	}
	return append(b, text...)
}

// appendProperties writes properties sorted by name.
func appendProperties(b []byte, properties map[string]any) ([]byte, error) {
	b = append(b, '{')
	for i, name := range sortedKeys(properties) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendJSON(b, name), ':')
		var err error
		if b, err = appendProperty(b, properties[name]); err != nil {
			return b, fmt.Errorf("property %s: %w", name, err)
		}
	}
	return append(b, '}'), nil
}

func appendProperty(b []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil, string, bool:
		return appendJSON(b, v), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return b, fmt.Errorf("%v cannot be kept", v)
		}
		start := len(b)
		if b = strconv.AppendFloat(b, v, 'g', -1, 64); !bytes.ContainsAny(b[start:], ".e") {
			b = append(b, ".0"...)
		}
		return b, nil
	case conn.Vector:
		raw := make([]byte, 0, 4*len(v))
		for _, f := range v {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
		}
		b = append(b, `{"f32":"`...)
		return append(base64.StdEncoding.AppendEncode(b, raw), `"}`...), nil
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			var err error
			if b, err = appendProperty(b, item); err != nil {
				return b, err
			}
		}
		return append(b, ']'), nil
	}
	return b, fmt.Errorf("a value of type %T cannot be kept", value)
}

// readSnapshot reads a snapshot to its end, calling do for every line between,
// and is an error, which wraps ErrSnapshot, unless all of it is there as it was
// written.
func readSnapshot(r io.Reader, do func(part string, line *snapshotLine) error) (header SnapshotHeader, end SnapshotEnd, err error) {
	packed, err := gzip.NewReader(bufio.NewReaderSize(r, 1<<20))
	if err != nil {
		return header, end, fmt.Errorf("%w (%v)", ErrSnapshot, err)
	}
	lines := bufio.NewReaderSize(packed, 1<<20)
	sum := sha256.New()
	part := ""
	for n := 1; ; n++ {
		text, err := readLine(lines)
		if err != nil {
			return header, end, fmt.Errorf("%w (line %d: %v)", ErrSnapshot, n, err)
		}
		line, err := decodeLine(text)
		switch {
		case err != nil:
			return header, end, fmt.Errorf("%w (line %d: %v)", ErrSnapshot, n, err)
		case n == 1:
			if header = line.SnapshotHeader; header.Format == 0 {
				return header, end, fmt.Errorf("%w (its first line is another)", ErrSnapshot)
			} else if header.Format > snapshotFormat {
				return header, end, fmt.Errorf("%w: it has format %d, this program knows up to %d; use a newer ingestd", ErrSnapshotVersion, header.Format, snapshotFormat)
			}
		case line.End != nil:
			return header, *line.End, closeSnapshot(*line.End, sum, end, lines)
		case line.Part != "":
			part = line.Part
		default:
			if line.Node != nil {
				end.Nodes++
			} else {
				end.Edges++
			}
			if err := do(part, line); err != nil {
				return header, end, err
			}
		}
		sum.Write(text)
	}
}

// closeSnapshot compares the end with what was read.
func closeSnapshot(end SnapshotEnd, sum hash.Hash, read SnapshotEnd, rest *bufio.Reader) error {
	if end.SHA256 != hex.EncodeToString(sum.Sum(nil)) || end.Nodes != read.Nodes || end.Edges != read.Edges {
		return fmt.Errorf("%w (its sum is another)", ErrSnapshot)
	}
	// The packed stream has a sum of its own, which is checked at its end.
	if _, err := rest.ReadByte(); err != io.EOF {
		return fmt.Errorf("%w (something follows its end)", ErrSnapshot)
	}
	return nil
}

func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case err != bufio.ErrBufferFull:
			return line, err
		case len(line) > maxSnapshotLine:
			return line, fmt.Errorf("it is longer than %d bytes", maxSnapshotLine)
		}
	}
}

func decodeLine(text []byte) (*snapshotLine, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	line := new(snapshotLine)
	if err := decoder.Decode(line); err != nil {
		return nil, err
	}
	for name, value := range line.P {
		decoded, err := decodeProperty(value)
		if err != nil {
			return nil, fmt.Errorf("property %s: %w", name, err)
		}
		line.P[name] = decoded
	}
	return line, nil
}

func decodeProperty(value any) (any, error) {
	switch v := value.(type) {
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return v.Float64()
		}
		return v.Int64()
	case map[string]any:
		text, _ := v["f32"].(string)
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(raw)%4 != 0 || len(v) != 1 {
			return nil, fmt.Errorf("it is no vector")
		}
		vector := make(conn.Vector, len(raw)/4)
		for i := range vector {
			vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
		return vector, nil
	case []any:
		for i, item := range v {
			decoded, err := decodeProperty(item)
			if err != nil {
				return nil, err
			}
			v[i] = decoded
		}
	}
	return value, nil
}

// record is properties without their vectors, sorted by name, and the vectors.
func record(properties map[string]any) (cypher.Record, map[string]conn.Vector) {
	vectors := map[string]conn.Vector{}
	row := make(cypher.Record, 0, len(properties))
	for _, name := range sortedKeys(properties) {
		if v, ok := properties[name].(conn.Vector); ok {
			vectors[name] = v
			continue
		}
		row = append(row, cypher.Field{Name: name, Value: properties[name]})
	}
	return slices.Clip(row), vectors
}
