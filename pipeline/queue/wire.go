package queue

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/hibiken/asynq"

	"graphmill/pipeline"
	"graphmill/pipeline/graph"
)

// wireVersion is raised when what is sent changes its meaning. Workers of another
// version refuse.
const wireVersion = "1"

// The kinds of task.
const (
	documentTask = "graphmill:document"
	embedTask    = "graphmill:embed"
)

// Job is a run as its workers know it.
type Job struct {
	ID      string
	Graph   string
	Verb    string
	Started time.Time
	// Ontology is what is extracted, pattern rules included; nil for a run that
	// only embeds.
	Ontology *graph.Ontology

	Wire  string
	Tries int
}

// payload is what asynq carries. It is small, because a worker's heartbeat repeats
// it: what the task is about stands under a key of its own.
type payload struct {
	Run   string `json:"run"`
	Graph string `json:"graph"`
	Path  string `json:"path,omitempty"`
}

func readPayload(data []byte) (p payload, err error) {
	err = json.Unmarshal(data, &p)
	return p, err
}

// texts are the body of an embedding task.
type texts struct {
	Model string
	Texts []string
}

// reply is what a worker says of a task.
type reply struct {
	Task   string
	Worker string
	// One of these is set; Refused says why this worker must not do tasks of the run.
	Extracted *pipeline.Extracted
	Vectors   [][]float32
	Failed    *pipeline.RemoteError
	Refused   string
	// Seconds of work, beside Failed.
	Seconds float64
}

// workerName tells workers apart in messages.
func workerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown-host"
	}
	return nameOf(host, os.Getpid())
}

func nameOf(host string, pid int) string { return fmt.Sprintf("%s:%d", host, pid) }

// taskOptions: asynq's own limits are far away, because the number of tries is
// counted by what is begun, so that a worker that dies counts, and a document may
// take as long as it takes.
func (q *Queue) taskOptions(id string) []asynq.Option {
	return []asynq.Option{asynq.TaskID(id), asynq.Queue(q.name()), asynq.MaxRetry(1 << 20), asynq.Timeout(30 * 24 * time.Hour)}
}
