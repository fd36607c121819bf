// Command entitytext measures what text should be embedded for an entity. It
// reads a finalized graph and asks, for entities that several passages describe,
// whether vector search over each candidate text finds the entity again:
//
//	go run ./bench/entitytext -data-dir DIR [-graph knowledge_graph] [-pool 1500]
//
// Questions are of three kinds: "Who or what is NAME?"; a sentence about the
// entity that is not the one its description was taken from; and that sentence
// without the name, as in a question whose answer the entity is. It prints the
// share of entities found among the first 1 and the first 10.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"sort"
	"strings"

	"graphmill/pipeline/engine"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/reader"
	"graphmill/pipeline/models"
	"graphmill/pipeline/models/local"
)

type entity struct{ name, kind, about, other string }

// candidates are the texts compared; of several the mean vector is taken.
var candidates = []struct {
	label string
	texts func(e entity) []string
}{
	{"name", func(e entity) []string { return []string{e.name} }},
	{"name (type)", func(e entity) []string { return []string{e.name + " (" + e.kind + ")"} }},
	{"description", func(e entity) []string { return []string{e.about} }},
	{"name: description", func(e entity) []string { return []string{e.name + ": " + e.about} }},
	{"name (type): description", func(e entity) []string { return []string{e.name + " (" + e.kind + "): " + e.about} }},
	{"name: 80 of description", func(e entity) []string { return []string{e.name + ": " + e.about[:min(80, len(e.about))]} }},
	{"mean of name, description", func(e entity) []string { return []string{e.name, e.about} }},
}

func main() {
	dataDir := flag.String("data-dir", "", "data directory with a finalized graph")
	graphName := flag.String("graph", "knowledge_graph", "graph")
	pool := flag.Int("pool", 1500, "entities to search among")
	flag.Parse()
	if err := measure(context.Background(), *dataDir, *graphName, *pool); err != nil {
		log.Fatal(err)
	}
}

func measure(ctx context.Context, dataDir, graphName string, pool int) error {
	all, err := readEntities(ctx, dataDir, graphName, pool)
	if err != nil {
		return err
	}
	options := local.Options{Places: models.Places{DataDir: dataDir}}
	embedder, err := options.OpenAlone()
	if err != nil {
		return err
	}
	defer embedder.Close()
	var asked []int
	var names, sentences, masked []string
	for i, e := range all {
		if e.other != "" && len(asked) < 300 {
			asked = append(asked, i)
			names = append(names, "Who or what is "+e.name+"?")
			sentences = append(sentences, e.other)
			masked = append(masked, strings.ReplaceAll(e.other, e.name, "who"))
		}
	}
	var questions [3][][]float32
	for k, texts := range [][]string{names, sentences, masked} {
		if questions[k], err = embedder.Embed(ctx, texts); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stdout, "%d entities, %d asked for, %s\n%-26s %15s %15s %15s\n", len(all), len(asked), embedder.Model(),
		"embedded text", "name @1 @10", "sentence @1 @10", "masked @1 @10")
	for _, c := range candidates {
		vectors, err := embedAll(ctx, embedder, all, c.texts)
		if err != nil {
			return err
		}
		fmt.Printf("%-26s", c.label)
		for _, q := range questions {
			first, ten := found(q, vectors, asked)
			fmt.Printf("   %6.3f %6.3f", first, ten)
		}
		fmt.Println()
	}
	return nil
}

func embedAll(ctx context.Context, embedder models.Embedder, all []entity, texts func(e entity) []string) ([][]float32, error) {
	sum := make([][]float32, len(all))
	for part := range texts(all[0]) {
		list := make([]string, len(all))
		for i, e := range all {
			list[i] = texts(e)[part]
		}
		vectors, err := embedder.Embed(ctx, list)
		if err != nil {
			return nil, err
		}
		for i, v := range vectors {
			if sum[i] == nil {
				sum[i] = make([]float32, len(v))
			}
			for k := range v {
				sum[i][k] += v[k]
			}
		}
	}
	for _, v := range sum {
		length := float32(math.Sqrt(float64(dot(v, v))))
		for k := range v {
			v[k] /= length
		}
	}
	return sum, nil
}

func found(queries, vectors [][]float32, want []int) (first, ten float64) {
	for q, query := range queries {
		own := dot(query, vectors[want[q]])
		better := 0
		for _, v := range vectors {
			if dot(query, v) > own {
				better++
			}
		}
		if better < 1 {
			first++
		}
		if better < 10 {
			ten++
		}
	}
	n := float64(len(queries))
	return first / n, ten / n
}

func dot(a, b []float32) (sum float32) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// readEntities takes those that two passages describe differently first.
func readEntities(ctx context.Context, dataDir, graphName string, pool int) ([]entity, error) {
	lease, err := engine.AcquireReader(ctx, engine.Options{DataDir: dataDir})
	if err != nil {
		return nil, err
	}
	defer lease.Release()
	client, err := conn.Open(conn.Options{Socket: lease.Address(), Username: lease.Credentials().User, Password: lease.Credentials().Secret})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	rows, err := reader.New(client, reader.Options{}).Query(ctx, graphName, cypher.New(
		`MATCH (e:__Entity__)-[m:MENTIONED_IN]->(:Chunk) WHERE e.description <> ''
RETURN e.id AS id, e.name AS name, e.type AS type, e.description AS about, collect(DISTINCT m.description) AS others ORDER BY id`, nil))
	if err != nil {
		return nil, err
	}
	var all []entity
	for i := range rows.Len() {
		e := entity{name: rows.String(i, "name"), kind: rows.String(i, "type"), about: rows.String(i, "about")}
		others := rows.Strings(i, "others")
		sort.Strings(others)
		for _, other := range others {
			if other != e.about && len(other) > 40 {
				e.other = other
				break
			}
		}
		all = append(all, e)
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].other != "" && all[j].other == "" })
	return all[:min(pool, len(all))], rows.Err()
}
