package quality

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"

	"graphmill/pipeline/graph"
	"graphmill/pipeline/llm"
)

// Recording are the answers of a language model to the questions about the
// labelled passages, kept in a file so that what is made of them can be measured
// without a model. An answer belongs to one question word for word: once a prompt,
// a schema or the ontology changes, the recording is stale, and says so.
type Recording struct {
	Head RecordingHead

	mu      sync.Mutex
	answers map[string]recorded
}

// RecordingHead says what a recording is. It is the file's first line.
type RecordingHead struct {
	Model  string   `json:"model"`  // what answered
	Made   string   `json:"made"`   // when
	How    []string `json:"how"`    // in sentences
	Covers string   `json:"covers"` // which passages
}

// recorded is one line after it.
type recorded struct {
	Request string      `json:"request"` // hash of the question
	Purpose llm.Purpose `json:"purpose"`
	Text    string      `json:"text"`
}

// LoadRecording reads a recording.
func LoadRecording(name string) (*Recording, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r := &Recording{answers: map[string]recorded{}}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if n == 1 {
			err = json.Unmarshal(lines.Bytes(), &r.Head)
		} else {
			var a recorded
			err = json.Unmarshal(lines.Bytes(), &a)
			r.answers[a.Request] = a
		}
		if err != nil {
			return nil, fmt.Errorf("load recording %s, line %d: %w", name, n, err)
		}
	}
	return r, lines.Err()
}

// Write writes the recording, in an order that does not depend on when an answer
// came.
func (r *Recording) Write(name string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer file.Close()
	out := json.NewEncoder(file)
	out.SetEscapeHTML(false)
	if err := out.Encode(r.Head); err != nil {
		return err
	}
	keys := make([]string, 0, len(r.answers))
	for key := range r.answers {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if err := out.Encode(r.answers[key]); err != nil {
			return err
		}
	}
	return file.Close()
}

// Len is the number of answers.
func (r *Recording) Len() int { return len(r.answers) }

// questionKey names a question with everything that an answer depends on.
func questionKey(q llm.Request) string {
	schema := ""
	if q.Schema != nil {
		schema = string(q.Schema.JSON)
	}
	return graph.Hash(string(q.Purpose), fmt.Sprint(q.Version), q.System, q.User, schema)
}

// Fingerprint implements [llm.Chat].
func (r *Recording) Fingerprint() string { return "recorded " + r.Head.Model }

// Ask implements [llm.Chat]. A question that is not in the recording is an error,
// not an unusable answer: no figure may be measured without it.
func (r *Recording) Ask(_ context.Context, q llm.Request) (llm.Answer, error) {
	a, ok := r.answers[questionKey(q)]
	if !ok {
		return llm.Answer{}, fmt.Errorf("the recording of %s has no answer to this question of purpose %s: "+
			"it is stale, because a prompt, a schema, the ontology or a passage changed; record it anew", r.Head.Model, q.Purpose)
	}
	if q.Check != nil {
		if err := q.Check(a.Text); err != nil {
			return llm.Answer{}, fmt.Errorf("%w: %w", llm.ErrUnusable, err)
		}
	}
	return llm.Answer{Text: a.Text, Cached: true}, nil
}

// Recorder asks a model and keeps what it answers.
type Recorder struct {
	llm.Chat
	Recording *Recording
}

// NewRecorder begins a recording.
func NewRecorder(chat llm.Chat, head RecordingHead) *Recorder {
	return &Recorder{chat, &Recording{Head: head, answers: map[string]recorded{}}}
}

// Ask implements [llm.Chat].
func (r *Recorder) Ask(ctx context.Context, q llm.Request) (llm.Answer, error) {
	answer, err := r.Chat.Ask(ctx, q)
	if err == nil {
		key := questionKey(q)
		r.Recording.mu.Lock()
		defer r.Recording.mu.Unlock()
		r.Recording.answers[key] = recorded{Request: key, Purpose: q.Purpose, Text: answer.Text}
	}
	return answer, err
}
