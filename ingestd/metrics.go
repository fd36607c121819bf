package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"graphmill/pipeline"
)

// lastSuccess is the figure that an alert is made of: it stays when a run fails.
const lastSuccess = "graphmill_last_success_timestamp_seconds"

// metricsFile is the file that metrics.file names, "" for none.
func (a *app) metricsFile() (string, error) {
	return replaceable("metrics.file", a.Config.Metrics.File)
}

// writeMetrics leaves a run's figures for the node exporter's textfile collector,
// of a run that failed before it had a report too: report is nil then. The file is
// replaced at once.
func (a *app) writeMetrics(verb string, report *pipeline.Report, code int, started time.Time) error {
	name, err := a.metricsFile()
	if name == "" {
		return err
	}
	m := metrics{registry: prometheus.NewRegistry(), labels: prometheus.Labels{"graph": a.Config.GraphName()}}
	ended := time.Now()
	m.set("graphmill_run_timestamp_seconds", "When the last run ended.", float64(ended.Unix()), "verb", verb)
	m.set("graphmill_run_duration_seconds", "How long it took.", ended.Sub(started).Seconds(), "verb", verb)
	m.set("graphmill_run_exit_code", "How it ended: 0 done, 3 some files failed; docs/exit-codes.md has the others.", float64(code), "verb", verb)
	success := float64(ended.Unix())
	if code != 0 {
		success = m.former(name)
	}
	m.set(lastSuccess, "When a run last ended with 0; 0 if none is known.", success)
	if report != nil {
		m.report(report)
	}
	if m.err != nil {
		return m.err
	}
	if err := prometheus.WriteToTextfile(name, m.registry); err != nil {
		return fmt.Errorf("write metrics.file: %w", err)
	}
	return nil
}

type metrics struct {
	registry *prometheus.Registry
	labels   prometheus.Labels
	vectors  map[string]*prometheus.GaugeVec
	err      error
}

// set sets a figure, with one more label where it has several.
func (m *metrics) set(name, help string, value float64, label ...string) {
	labels := prometheus.Labels{}
	for key, text := range m.labels {
		labels[key] = strings.ToValidUTF8(text, "?")
	}
	names := []string{"graph"}
	if len(label) == 2 {
		labels[label[0]] = label[1]
		names = append(names, label[0])
	}
	if m.vectors == nil {
		m.vectors = map[string]*prometheus.GaugeVec{}
	}
	vector := m.vectors[name]
	if vector == nil {
		vector = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, names)
		m.vectors[name] = vector
		if err := m.registry.Register(vector); err != nil {
			m.err = err
			return
		}
	}
	vector.With(labels).Set(value)
}

func (m *metrics) report(r *pipeline.Report) {
	for _, status := range pipeline.Statuses() {
		m.set("graphmill_run_documents", "Files of the last run by what became of them.", float64(r.Totals.Status[status]), "status", string(status))
	}
	m.set("graphmill_run_chunks", "Chunks that the last run wrote.", float64(r.Totals.Chunks))
	m.set("graphmill_run_chunks_reused", "Of them, those that were not extracted again.", float64(r.Totals.Reused))
	m.set("graphmill_run_missing_documents", "Documents in the graph whose files are gone.", float64(r.MissingCount))
	if c := r.Cost; c != nil {
		m.set("graphmill_run_cost", "What language models and remote embedders took, in the currency of the price table.", c.Money)
		m.set("graphmill_run_model_calls", "Calls of them.", float64(c.Calls))
	}
	f := r.Finalize
	if f == nil {
		return
	}
	for kind, n := range f.Embedded {
		m.set("graphmill_run_vectors", "Vectors that the last run made.", float64(n), "kind", string(kind))
	}
	if f.Done {
		m.set("graphmill_graph_documents", "Documents of the graph.", float64(f.Counts.Documents))
		m.set("graphmill_graph_chunks", "Chunks of the graph.", float64(f.Counts.Chunks))
		m.set("graphmill_graph_entities", "Entities of the graph.", float64(f.Counts.Entities))
		m.set("graphmill_graph_relations", "Relations of the graph.", float64(f.Counts.Relations))
	}
}

// former is the last success that the file tells of so far.
func (m *metrics) former(name string) float64 {
	file, err := os.Open(name)
	if err != nil {
		return 0
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if line := lines.Text(); strings.HasPrefix(line, lastSuccess+"{") {
			value, _ := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
			return value
		}
	}
	return 0
}
