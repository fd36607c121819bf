package llm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3"
	"golang.org/x/sync/errgroup"

	"graphmill/pipeline/models"
)

// Embed is the purpose of vectors.
const Embed Purpose = "embed"

// EmbedOptions make an [Embedder].
type EmbedOptions struct {
	Endpoint
	// Dimension is the vectors' length; 0 is the model's own: 3072 for
	// text-embedding-3-large, otherwise 1536. When it is set, text-embedding-3
	// models are asked for it.
	Dimension int
	// SendDimensions asks every model for Dimension, such as an Azure deployment
	// whose name does not say what it is.
	SendDimensions bool
	// BatchTexts and BatchTokens bound what goes into one call; 0 is 128 and
	// 50,000: OpenAI takes 2,048 and 300,000, at which a lost call costs more than
	// few calls save.
	BatchTexts, BatchTokens int
	// Window is the most tokens of one text, by [EstimateTokens]; longer ones are
	// the mean of their windows. 0 is 6,000 for OpenAI's and Azure's models, which
	// take 8,191 and count up to a third differently, and 1,400 for servers of
	// one's own, some of which cut longer texts in silence.
	Window int
}

// Embedder asks an OpenAI-compatible endpoint for vectors. It implements
// [models.Embedder]; that a text always gets the same vector holds as far as the
// endpoint does so, and wherever its vector is in the cache.
type Embedder struct {
	sender   *sender
	options  EmbedOptions
	identity string
	service  openai.EmbeddingService
	flights  flights
}

var _ models.Embedder = (*Embedder)(nil)

// NewEmbedder makes an embedder. It sends nothing.
func NewEmbedder(o EmbedOptions) (*Embedder, error) {
	s, err := newSender(o.Endpoint)
	if err != nil {
		return nil, err
	}
	if s.provider == Anthropic {
		return nil, fmt.Errorf("model %s: Anthropic has no embeddings; next: name a model of openai, azure or ollama, or a local one", o.Model)
	}
	native := 1536
	if strings.Contains(s.model, "text-embedding-3-large") {
		native = 3072
	}
	e := &Embedder{sender: s, service: openai.NewEmbeddingService(s.openAIOptions()...)}
	window := o.Window
	set := o.Dimension > 0
	fill(&o.Dimension, native)
	fill(&o.BatchTexts, 128)
	fill(&o.BatchTokens, 50_000)
	fill(&o.Window, 6_000)
	if s.own && s.provider != Azure && window == 0 {
		o.Window = 1_400
	}
	// SendDimensions alone asks for the length that is expected anyway.
	o.SendDimensions = o.SendDimensions || set && strings.Contains(s.model, "text-embedding-3")
	o.Window = max(o.Window, 16) // less holds no word of some scripts
	e.options = o
	id, address, _ := strings.Cut(s.identity(), "@")
	e.identity = fmt.Sprintf("%s@%d", id, o.Dimension)
	if address != "" {
		e.identity += "-" + address
	}
	if window > 0 {
		e.identity += fmt.Sprintf("-w%d", window)
	}
	return e, nil
}

// Model implements [models.Embedder].
func (e *Embedder) Model() string { return e.identity }

// Dimension implements [models.Embedder].
func (e *Embedder) Dimension() int { return e.options.Dimension }

// Close implements [models.Embedder].
func (e *Embedder) Close() error { return nil }

// Meter is what the embedder's calls are counted by, unless a context has its own.
func (e *Embedder) Meter() *Meter { return e.sender.Meter }

// Embed implements [models.Embedder].
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	pieces := make([][]string, len(texts))
	vectors := map[string][]float32{} // by piece
	for i, text := range texts {
		if strings.TrimSpace(text) == "" {
			return nil, fmt.Errorf("embed text %d of %d: the text is blank", i+1, len(texts))
		}
		pieces[i] = windows(text, e.options.Window)
		for _, piece := range pieces[i] {
			vectors[piece] = nil
		}
	}
	if err := e.fetch(ctx, vectors); err != nil {
		return nil, fmt.Errorf("embed %d texts: %w", len(texts), err)
	}
	out := make([][]float32, len(texts))
	for i := range texts {
		vector, err := mean(pieces[i], vectors)
		if err != nil {
			return nil, fmt.Errorf("embed text %d of %d: %w", i+1, len(texts), err)
		}
		out[i] = vector
	}
	return out, nil
}

// fetch fills in the vectors, from the cache where they are there.
func (e *Embedder) fetch(ctx context.Context, vectors map[string][]float32) error {
	var missing []string
	for piece := range vectors {
		missing = append(missing, piece)
	}
	slices.Sort(missing) // batches, and who waits for whom, depend on nothing else
	if e.sender.Cache != nil {
		for _, piece := range missing {
			leave, err := e.flights.enter(ctx, e.key(piece))
			if err != nil {
				return err
			}
			defer leave()
		}
		missing = slices.DeleteFunc(missing, func(piece string) bool {
			raw, ok := e.sender.Cache.get(e.key(piece))
			vector := decodeVector(raw)
			if !ok || len(vector) != e.options.Dimension {
				return false
			}
			vectors[piece] = vector
			return true
		})
		e.sender.meter(ctx).cached(ctx, e.sender.Model, Embed, len(vectors)-len(missing))
	}
	batches := e.batches(missing)
	got := make([][][]float32, len(batches))
	group, ctx := errgroup.WithContext(ctx)
	for i, batch := range batches {
		group.Go(func() (err error) {
			got[i], err = e.send(ctx, batch)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, batch := range batches {
		for j, piece := range batch {
			vectors[piece] = got[i][j]
		}
	}
	return nil
}

func (e *Embedder) key(piece string) string { return digest("vector", e.identity, piece) }

// batches cuts texts so that no call has too many or too much.
func (e *Embedder) batches(texts []string) [][]string {
	var out [][]string
	start, tokens := 0, 0
	for i, text := range texts {
		n := EstimateTokens(text)
		if i > start && (i-start == e.options.BatchTexts || tokens+n > e.options.BatchTokens) {
			out = append(out, texts[start:i])
			start, tokens = i, 0
		}
		tokens += n
	}
	if start < len(texts) {
		out = append(out, texts[start:])
	}
	return out
}

// send asks for one batch's vectors.
func (e *Embedder) send(ctx context.Context, batch []string) ([][]float32, error) {
	params := openai.EmbeddingNewParams{Model: e.sender.model, Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: batch}}
	if e.options.SendDimensions {
		params.Dimensions = openai.Int(int64(e.options.Dimension))
	}
	input := 0
	for _, text := range batch {
		input += EstimateTokens(text)
	}
	var response *openai.CreateEmbeddingResponse
	usage, err := e.sender.do(ctx, job{
		purpose: Embed,
		most:    Usage{Calls: 1, InputTokens: input},
		send: func(ctx context.Context) (took, error) {
			var err error
			if response, err = e.service.New(ctx, params); err != nil {
				return took{}, err
			}
			if t := tookOf(response.Usage.PromptTokens, 0, ""); t.reported {
				return t, nil
			}
			return took{input: input}, nil
		},
	})
	var refused *CallError
	if errors.As(err, &refused) && tooLong(refused) {
		// One text is too long: other documents can be embedded.
		refused.Settings, refused.Hint = false, fmt.Sprintf("lower embedder.window (now %d estimated tokens)", e.options.Window)
	}
	if err != nil {
		return nil, err
	}
	vectors, err := e.read(response.Data, batch)
	if err != nil {
		return nil, err
	}
	if e.sender.Cache != nil {
		share := Usage{InputTokens: usage.InputTokens / len(batch), Cost: usage.Cost / float64(len(batch))}
		for i, piece := range batch {
			e.sender.Cache.put(e.key(piece), entryInfo{Model: e.identity, Purpose: string(Embed), Usage: share}, encodeVector(vectors[i]))
		}
	}
	return vectors, nil
}

// read puts a reply's vectors where their index says, and refuses what no model
// of this length gives.
func (e *Embedder) read(data []openai.Embedding, batch []string) ([][]float32, error) {
	refuse := func(format string, args ...any) ([][]float32, error) {
		return nil, &CallError{Model: e.sender.Model, Settings: true, Reason: fmt.Sprintf(format, args...),
			Hint: "is it an embedding model? its vectors' length is embedder.dimension (GRAPHRAG_EMBED_DIM)"}
	}
	if len(data) != len(batch) {
		return refuse("%d vectors came for %d texts", len(data), len(batch))
	}
	into := make([][]float32, len(batch))
	// Servers that leave the index out keep the order.
	ordered := !slices.ContainsFunc(data, func(d openai.Embedding) bool { return d.JSON.Index.Valid() })
	for i, d := range data {
		at := int(d.Index)
		if ordered {
			at = i
		}
		if at < 0 || at >= len(batch) || into[at] != nil {
			return refuse("vector %d of %d says that it is number %d", i+1, len(data), d.Index)
		}
		what := fmt.Sprintf("the vector of text %d of %d (%s)", at+1, len(batch), quoteStart(batch[at]))
		if len(d.Embedding) != e.options.Dimension {
			return refuse("%s has %d numbers, not %d", what, len(d.Embedding), e.options.Dimension)
		}
		if strings.Contains(d.JSON.Embedding.Raw(), "null") {
			return refuse("%s holds something that is no number", what)
		}
		vector := make([]float32, len(d.Embedding))
		for j, x := range d.Embedding {
			vector[j] = float32(x)
		}
		if err := normalize(vector); err != nil {
			return refuse("%s %s", what, err)
		}
		into[at] = vector
	}
	return into, nil
}

// quoteStart is a text's beginning, to know it by.
func quoteStart(text string) string {
	runes := []rune(excerpt(text))
	if len(runes) > 40 {
		return fmt.Sprintf("%q…", string(runes[:40]))
	}
	return fmt.Sprintf("%q", string(runes))
}

// normalize brings v to length 1, in place.
func normalize(v []float32) error {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	length := math.Sqrt(sum)
	if length == 0 || math.IsNaN(length) || math.IsInf(length, 0) {
		return errors.New("holds NaN or infinity, or only zeros")
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / length)
	}
	return nil
}

func encodeVector(v []float32) []byte {
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return raw
}

func decodeVector(raw []byte) []float32 {
	v := make([]float32, len(raw)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return v
}
