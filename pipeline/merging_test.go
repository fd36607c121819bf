package pipeline_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"graphmill/chunkers"
	"graphmill/extractors"
	"graphmill/pipeline"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/models"
	"graphmill/planner"
	"graphmill/planner/catalogue"
	"graphmill/resolvers"
)

// mergedCorpus names companies, people and things in several ways.
var mergedCorpus = map[string]string{
	"a.txt": "International Business Machines hired Ann Lee. World War II ended.",
	"b.txt": "IBM sold Deep Blue. Dr. Ann Lee left Acme.",
	"c.txt": "IBM Corp. and Acme Inc. met. World War I began.",
	"d.txt": "Acme GmbH paid the European Union (EU) a fine.",
	"e.txt": "EU and IBM talked. International Business Machines (IBM) won.",
	"f.txt": "Ann Lee met International Business Machines Corporation.",
}

const mergedNames = `International Business Machines(?: Corporation)?|IBM(?: Corp\.)?|(?:Dr\. )?Ann Lee|Acme(?: Inc\.| GmbH)?|World War II?|(?:Deep )?Blue|European Union|EU\b|Firm \d+(?: Inc\.)?`

// mergeBench is a bench whose plan resolves by similar.
func mergeBench(t *testing.T, texts map[string]string) *bench {
	t.Helper()
	b := newBench(t, 0)
	for name, text := range texts {
		b.write(t, name, text)
	}
	pattern, err := extractors.NewPattern(extractors.PatternConfig{Rules: []extractors.PatternRule{
		{Name: "names", Pattern: mergedNames, Type: "Thing", Neighbours: "CO_OCCURS"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	b.strategies.pattern = pattern
	b.options.Ontology = pattern.Extend(&graph.Ontology{})
	b.plan(t, "similar")
	return b
}

func (b *bench) plan(t *testing.T, resolver string) { b.planWith(t, resolver, 0) }

func (b *bench) planWith(t *testing.T, resolver string, pairs int) {
	t.Helper()
	all := slices.Concat(chunkers.Catalogue(), extractors.Catalogue(), resolvers.Catalogue())
	plans, err := planner.New([]planner.Rule{{Match: "**", Extractors: []string{"pattern"}, Resolver: resolver}},
		planner.Limits{Resolvers: []string{"exact", "similar", "llm_verified"}, MaxLLMPairs: pairs}, []catalogue.Strategy(all))
	if err != nil {
		t.Fatal(err)
	}
	b.options.Planner = plans
}

// in points the bench to another graph on its engine.
func (b *bench) in(t *testing.T, name string) {
	b.store = &faultyStore{Store: b.open(t, name)}
	b.options.Store, b.options.Graph = b.store, name
}

func hashEmbedder(t *testing.T) models.Embedder {
	t.Helper()
	embedder, err := models.NewHashEmbedder(16)
	if err != nil {
		t.Fatal(err)
	}
	return embedder
}

func (b *bench) finalize(t *testing.T, change ...func(*pipeline.FinalizeOptions)) *pipeline.FinalizeReport {
	t.Helper()
	o := pipeline.FinalizeOptions{Store: b.store, Embedder: hashEmbedder(t)}
	for _, f := range change {
		f(&o)
	}
	report, err := pipeline.Finalize(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func (b *bench) ingest(t *testing.T) {
	t.Helper()
	if report, err := b.run(t, t.Context()); err != nil || report.FailedCount() > 0 {
		t.Fatalf("%v, %+v", err, report.Documents)
	}
}

// merged are the active merges, as "kept ← merged (rule)".
func (b *bench) merged(t *testing.T) []string {
	t.Helper()
	records, err := b.store.Merges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, m := range records {
		if m.State == store.MergeActive {
			list = append(list, fmt.Sprintf("%s ← %s (%s)", m.KeptName, m.MergedName, m.Rule))
		}
	}
	return list
}

var mergedInCorpus = []string{
	"Dr. Ann Lee ← Ann Lee (title)",
	"European Union ← EU (acronym)",
	"International Business Machines Corporation ← IBM (acronym)",
	"International Business Machines Corporation ← IBM Corp. (acronym)",
	"International Business Machines Corporation ← International Business Machines (legal form)",
}

func (b *bench) content(t *testing.T) string {
	t.Helper()
	digest, err := b.store.Digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// TestMergedGraphDoesNotDependOnOrder ingests the corpus at once and file by
// file, with and without finalizing in between, by one worker and by four.
func TestMergedGraphDoesNotDependOnOrder(t *testing.T) {
	b := mergeBench(t, mergedCorpus)
	b.ingest(t)
	b.finalize(t)
	if got := b.merged(t); !slices.Equal(got, mergedInCorpus) {
		t.Errorf("%q", got)
	}
	want := b.content(t)
	for order := range 4 {
		b.in(t, fmt.Sprintf("g%d", order))
		b.options.Workers = 1 + 3*(order%2)
		names := slices.Sorted(maps.Keys(mergedCorpus))
		random := rand.New(rand.NewPCG(uint64(order), 3))
		random.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
		for len(names) > 0 {
			n := min(1+random.IntN(3), len(names))
			these := names[:n]
			names = names[n:]
			b.options.Select = func(path string) bool { return slices.Contains(these, path) }
			b.ingest(t)
			if order > 1 {
				b.finalize(t)
			}
		}
		b.options.Select = nil
		b.finalize(t)
		if b.content(t) != want {
			t.Errorf("order %d gives another graph: %q", order, b.merged(t))
		}
		if again := b.finalize(t); again.Merged+again.Unmerged > 0 || b.content(t) != want {
			t.Errorf("finalizing again did %+v", again)
		}
	}
}

// TestMergeRecordsSayWhereBothNamesStand reads the evidence in the documents.
func TestMergeRecordsSayWhereBothNamesStand(t *testing.T) {
	b := mergeBench(t, mergedCorpus)
	b.ingest(t)
	b.finalize(t)
	records, err := b.store.Merges(t.Context())
	if err != nil || len(records) != len(mergedInCorpus) {
		t.Fatal(err, records)
	}
	for _, m := range records {
		if len(m.Evidence) != 2 || m.Score <= 0 || m.Rule == "" || m.At == "" {
			t.Errorf("%+v", m)
			continue
		}
		for i, p := range m.Evidence {
			text := []rune(mergedCorpus[p.Path])
			if got := string(text[p.Start:p.End]); got != []string{m.KeptName, m.MergedName}[i] || got != p.Name {
				t.Errorf("%s: the text at its place is %q", p.Name, got)
			}
		}
		if m.MergedName == "EU" && (m.Score < 0.98 || m.Evidence[0].Path != "d.txt" || m.Evidence[1].Path != "d.txt") {
			t.Errorf("%+v", m)
		}
	}
}

// TestMergesFollowTheDocuments forgets and changes documents that a merge rests
// on; what is left is the graph of what is left.
func TestMergesFollowTheDocuments(t *testing.T) {
	b := mergeBench(t, mergedCorpus)
	b.ingest(t)
	b.finalize(t)
	var ids []graph.DocumentID
	for _, path := range []string{"a.txt", "d.txt", "f.txt"} {
		if err := os.Remove(filepath.Join(b.dir, path)); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, graph.FileDocumentID(path))
	}
	b.write(t, "e.txt", "EU and IBM talked.")
	if _, err := pipeline.Forget(t.Context(), b.store, ids); err != nil {
		t.Fatal(err)
	}
	b.ingest(t)
	report := b.finalize(t)
	// International Business Machines, Ann Lee, European Union are named no more;
	// without Acme GmbH, Acme is Acme Inc.
	if want := []string{"Acme Inc. ← Acme (legal form)", "IBM Corp. ← IBM (legal form)"}; !slices.Equal(b.merged(t), want) {
		t.Errorf("%q, %+v", b.merged(t), report)
	}
	got := b.content(t)
	b.in(t, "fresh")
	b.ingest(t)
	b.finalize(t)
	if b.content(t) != got {
		t.Error("the graph is not that of the documents that are left")
	}
}

// TestDecisionsOutliveEverything undoes one merge and forbids others; new runs,
// re-extraction and new documents change nothing of it.
func TestDecisionsOutliveEverything(t *testing.T) {
	b := mergeBench(t, mergedCorpus)
	b.ingest(t)
	b.finalize(t)
	records, err := b.store.Merges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(records, func(m store.Merge) bool { return m.MergedName == "IBM" })
	records[i].State = store.MergeUndone
	forbidden := store.Merge{ID: store.ForbiddenID("ann lee", "DR. Ann Lee"), State: store.MergeForbidden, KeptName: "ann lee", MergedName: "DR. Ann Lee"}
	if err := b.store.Decide(t.Context(), []store.Merge{records[i], forbidden}); err != nil {
		t.Fatal(err)
	}
	meta, err := b.store.Meta(t.Context())
	if err != nil || !meta.FinalizePending {
		t.Error("the graph does not wait for finalize", err)
	}
	want := []string{
		"European Union ← EU (acronym)",
		"IBM Corp. ← IBM (legal form)",
		"International Business Machines Corporation ← International Business Machines (legal form)",
	}
	if report := b.finalize(t); report.Unmerged != 2 || !slices.Equal(b.merged(t), want) {
		t.Errorf("%q, %+v", b.merged(t), report)
	}
	digest := b.content(t)
	b.options.Force = true
	b.ingest(t)
	b.finalize(t)
	if b.content(t) != digest {
		t.Errorf("re-extraction changed the graph: %q", b.merged(t))
	}
	b.write(t, "g.txt", "IBM is International Business Machines. Dr. Ann Lee is Ann Lee.")
	b.ingest(t)
	b.finalize(t)
	if !slices.Equal(b.merged(t), want) {
		t.Errorf("%q", b.merged(t))
	}
}

func TestConfiguredNamesAreNotMerged(t *testing.T) {
	b := mergeBench(t, mergedCorpus)
	b.ingest(t)
	b.finalize(t, func(o *pipeline.FinalizeOptions) {
		o.MustNotMerge = [][2]string{{"IBM", "International Business Machines Corp"}}
	})
	for _, m := range b.merged(t) {
		if strings.Contains(m, "Corporation ← IBM (") {
			t.Errorf("%q", b.merged(t))
		}
	}
	b.finalize(t)
	if got := b.merged(t); !slices.Equal(got, mergedInCorpus) {
		t.Errorf("without the setting: %q", got)
	}
}

// TestOtherResolversLeaveNamesAlone has all documents but one resolved by exact.
func TestOtherResolversLeaveNamesAlone(t *testing.T) {
	b := mergeBench(t, mergedCorpus)
	b.plan(t, "exact")
	b.ingest(t)
	b.plan(t, "similar")
	b.options.Select = func(path string) bool { return path == "d.txt" }
	b.ingest(t)
	b.finalize(t)
	if want := []string{"European Union ← EU (acronym)"}; !slices.Equal(b.merged(t), want) {
		t.Errorf("%q", b.merged(t))
	}
}

// TestManyEntitiesAreMerged merges 200, in several statements, with the counts
// right.
func TestManyEntitiesAreMerged(t *testing.T) {
	texts := map[string]string{}
	for i := range 200 {
		texts[fmt.Sprintf("%d.txt", i)] = fmt.Sprintf("Firm %d met IBM. Firm %d Inc. sold Deep Blue to Firm %d.", i, i, (i+1)%200)
	}
	b := mergeBench(t, texts)
	b.options.MaxDocuments = 0
	b.ingest(t)
	if report := b.finalize(t); report.Merged != 200 || report.Counts.Entities != 202 {
		t.Errorf("%+v", report)
	}
	meta, err := b.store.Meta(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	counted, err := b.store.Finish(t.Context())
	if err != nil || !reflect.DeepEqual(meta.Counts, counted) {
		t.Errorf("kept %+v, counted %+v, %v", meta.Counts, counted, err)
	}
	rows, err := b.client.Read(t.Context(), "g", cypher.New(`MATCH (e:__Entity__) WHERE size(e.alias_keys) = 1 RETURN count(e) AS n`, nil), 0)
	if err != nil || rows.Int(0, "n") != 200 {
		t.Error(rows.Row(0), err)
	}
}

// forgetfulStore takes vectors and keeps the marks, as a thing does that no
// statement finds again.
type forgetfulStore struct{ *faultyStore }

func (forgetfulStore) StoreVectors(context.Context, store.VectorKind, []store.Vector) error {
	return nil
}

func TestVectorsThatDoNotStayEndAFinalize(t *testing.T) {
	b := mergeBench(t, mergedCorpus)
	b.ingest(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := pipeline.Finalize(ctx, pipeline.FinalizeOptions{Store: forgetfulStore{b.store}, Embedder: hashEmbedder(t)})
	if err == nil || !strings.Contains(err.Error(), "6 of them stay without a vector") || !strings.Contains(err.Error(), "check --repair") {
		t.Errorf("%v", err)
	}
}
