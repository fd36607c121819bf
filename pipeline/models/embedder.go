package models

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// EmbedderOptions tune a local embedder. Zero values are the defaults.
type EmbedderOptions struct {
	// Name stands before the @ of the identity; "" is the folder's name.
	Name string
	// Window is the largest number of word pieces in a call, special tokens
	// included. 0 reads it from the model's folder, else 256, which the
	// all-MiniLM models were trained with.
	Window int
	// Parallel is how many texts of one call are computed side by side; 0 is
	// one a processor.
	Parallel int
	Session  SessionOptions
}

// defaultEmbedWindow is what sentence-transformers feeds all-MiniLM-L6-v2.
const defaultEmbedWindow = 256

// onnxEmbedder runs a sentence-transformers model.
type onnxEmbedder struct {
	session       Session
	tokenizer     Tokenizer
	identity      string
	dimension     int
	room          int // word pieces in a window, special tokens aside
	parallel      int
	tokenTypes    bool
	output        string
	first         bool // the first token's state is the sentence's, not the mean
	before, after []int64
}

// EmbedderIdentity is the Model of an embedder that is opened with this folder,
// name and engine, without loading it: about 30 ms for 24 MB of weights.
func EmbedderIdentity(dir, name, engine string) (string, error) {
	look, err := inspectFolder(dir)
	if err != nil {
		return "", err
	}
	if name == "" {
		name = filepath.Base(dir)
	}
	return embedderIdentity(look, name, engine), nil
}

// embedderIdentity tells engines apart: another one's kernels round differently,
// which with a dynamically quantised model is a cosine of 0.99 between the two.
func embedderIdentity(look folder, name, engine string) string {
	if engine == DefaultEngine {
		return look.identity(name)
	}
	return look.identity(name) + "+" + engine
}

// NewONNXEmbedder loads the sentence model in dir: model.onnx and
// tokenizer.json, and where they are there sentence_bert_config.json and
// 1_Pooling/config.json. States are averaged over the text's tokens, or the
// first is taken when the pooling file says so, and brought to length 1. One
// text goes into a call, whatever the model: then a vector never depends on
// what was embedded with it, and on a CPU it is no slower.
func NewONNXEmbedder(engine Engine, dir string, options EmbedderOptions) (Embedder, error) {
	look, err := inspectFolder(dir)
	if err != nil {
		return nil, err
	}
	name := options.Name
	if name == "" {
		name = filepath.Base(dir)
	}
	e := &onnxEmbedder{
		identity: embedderIdentity(look, name, engine.Name()),
		parallel: positive(options.Parallel, runtime.GOMAXPROCS(0)),
	}
	if e.tokenizer, err = LoadTokenizer(filepath.Join(dir, "tokenizer.json")); err != nil {
		return nil, err
	}
	e.before, e.after = e.tokenizer.Wrapper()
	if err := e.readFolder(dir, options.Window); err != nil {
		return nil, fmt.Errorf("load embedder %s: %w", dir, err)
	}
	if e.session, err = engine.Load(filepath.Join(dir, "model.onnx"), options.Session); err != nil {
		return nil, err
	}
	if err := e.probe(); err != nil {
		return nil, errors.Join(e.session.Close(), fmt.Errorf("load embedder %s: %w", dir, err))
	}
	return e, nil
}

func (e *onnxEmbedder) readFolder(dir string, window int) error {
	var sentence struct {
		MaxLength int `json:"max_seq_length"`
	}
	var config struct {
		MaxPositions int `json:"max_position_embeddings"`
	}
	var pooling struct {
		First bool `json:"pooling_mode_cls_token"`
		Mean  bool `json:"pooling_mode_mean_tokens"`
	}
	err := errors.Join(
		optional(readJSON(filepath.Join(dir, "sentence_bert_config.json"), &sentence)),
		optional(readJSON(filepath.Join(dir, "config.json"), &config)),
		optional(readJSON(filepath.Join(dir, "1_Pooling", "config.json"), &pooling)),
	)
	if err != nil {
		return err
	}
	e.first = pooling.First && !pooling.Mean
	window = positive(window, positive(sentence.MaxLength, defaultEmbedWindow))
	window = min(window, positive(config.MaxPositions, window))
	e.room = window - len(e.before) - len(e.after)
	if e.room < 8 {
		return fmt.Errorf("a window of %d word pieces is too small", window)
	}
	return nil
}

func optional(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// probe embeds one word: the model's inputs, output and dimension are known
// then, and a model of another kind is refused before any text is read.
func (e *onnxEmbedder) probe() error {
	for _, name := range e.session.Inputs() {
		switch name {
		case "input_ids", "attention_mask":
		case "token_type_ids":
			e.tokenTypes = true
		default:
			return fmt.Errorf("model.onnx wants input %q, which a sentence model has not", name)
		}
	}
	outputs := e.session.Outputs()
	e.output = outputs[0]
	for _, name := range []string{"sentence_embedding", "last_hidden_state", "token_embeddings"} {
		if slices.Contains(outputs, name) {
			e.output = name
			break
		}
	}
	vector, err := e.embed(context.Background(), "graph")
	e.dimension = len(vector)
	return err
}

func (e *onnxEmbedder) Model() string  { return e.identity }
func (e *onnxEmbedder) Dimension() int { return e.dimension }
func (e *onnxEmbedder) Close() error   { return e.session.Close() }

func (e *onnxEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(e.parallel)
	for i, text := range texts {
		group.Go(func() error {
			vector, err := e.embed(ctx, text)
			if err != nil {
				return fmt.Errorf("embed text %d of %d: %w", i+1, len(texts), err)
			}
			vectors[i] = vector
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return vectors, nil
}

// embed is the normalised mean of the windows' vectors, each as heavy as its
// share of the text.
func (e *onnxEmbedder) embed(ctx context.Context, text string) ([]float32, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errEmptyText
	}
	windows := evenWindows(e.tokenizer.Encode(text), e.room)
	var sum []float32
	for _, window := range windows {
		vector, err := e.run(ctx, window)
		if err != nil {
			return nil, err
		}
		if len(windows) == 1 {
			return vector, nil
		}
		if sum == nil {
			sum = make([]float32, len(vector))
		}
		for i, x := range vector {
			sum[i] += x * float32(len(window))
		}
	}
	return normalize(sum)
}

var errEmptyText = errors.New("the text is blank")

// evenWindows cuts pieces into as few windows of at most room pieces as there
// must be, of about equal size, at words' beginnings where there is one near.
func evenWindows(pieces []Piece, room int) [][]Piece {
	if len(pieces) <= room {
		return [][]Piece{pieces}
	}
	count := (len(pieces) + room - 1) / room
	var out [][]Piece
	for start := 0; start < len(pieces); {
		left := len(pieces) - start
		size := min(room, (left+count-1)/max(count, 1))
		if count > 1 && start+size < len(pieces) {
			// A little shorter at a word's beginning, as long as the rest still fits.
			for cut := start + size; cut > start+size*3/4 && len(pieces)-cut <= (count-1)*room; cut-- {
				if pieces[cut].First {
					size = cut - start
					break
				}
			}
		}
		out = append(out, pieces[start:start+size])
		start += size
		count--
	}
	return out
}

func (e *onnxEmbedder) run(ctx context.Context, pieces []Piece) ([]float32, error) {
	ids := make([]int64, 0, len(e.before)+len(pieces)+len(e.after))
	ids = append(ids, e.before...)
	for _, piece := range pieces {
		ids = append(ids, piece.ID)
	}
	ids = append(ids, e.after...)
	mask := make([]int64, len(ids))
	for i := range mask {
		mask[i] = 1
	}
	shape := []int64{1, int64(len(ids))}
	inputs := map[string]Tensor{"input_ids": {Shape: shape, Int64: ids}, "attention_mask": {Shape: shape, Int64: mask}}
	if e.tokenTypes {
		inputs["token_type_ids"] = Tensor{Shape: shape, Int64: make([]int64, len(ids))}
	}
	outputs, err := e.session.Run(ctx, inputs)
	if err != nil {
		return nil, err
	}
	return e.pool(outputs[e.output], len(ids))
}

// pool makes one vector of a [1, tokens, dimension] or [1, dimension] tensor.
func (e *onnxEmbedder) pool(states Tensor, tokens int) ([]float32, error) {
	n := len(states.Shape)
	if n < 2 || n > 3 || states.Shape[0] != 1 || n == 3 && states.Shape[1] != int64(tokens) || len(states.Float32) == 0 {
		return nil, fmt.Errorf("model output %s has shape %v, which no sentence model gives", e.output, states.Shape)
	}
	dimension := int(states.Shape[n-1])
	if n == 2 || e.first {
		return normalize(slices.Clone(states.Float32[:dimension]))
	}
	mean := make([]float32, dimension)
	for start := 0; start < len(states.Float32); start += dimension {
		for i, x := range states.Float32[start : start+dimension] {
			mean[i] += x
		}
	}
	return normalize(mean)
}

// normalize brings v to length 1, in place.
func normalize(v []float32) ([]float32, error) {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	length := math.Sqrt(sum)
	if length == 0 || math.IsNaN(length) || math.IsInf(length, 0) {
		return nil, fmt.Errorf("the vector has length %g", length)
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / length)
	}
	return v, nil
}
