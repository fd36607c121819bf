package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// GLiNER is a loaded span model (GLiNER, Zaratiana et al. 2023, uni-encoder,
// span mode): weights, tokenizer and what its entry says. Package extractors
// puts words in and takes entities out.
type GLiNER struct {
	Session   Session
	Tokenizer Tokenizer
	Config    GLiNERConfig
	Entry     GLiNEREntry
	// Identity changes whenever an answer could.
	Identity string
	// OneTextACall is true for a model whose numbers depend on what shares the
	// batch.
	OneTextACall bool
}

// GLiNERConfig is the part of gliner_config.json that matters outside of the
// weights.
type GLiNERConfig struct {
	ModelName string `json:"model_name"`
	EntToken  string `json:"ent_token"`
	SepToken  string `json:"sep_token"`
	MaxWidth  int    `json:"max_width"` // words of the longest entity
	MaxLen    int    `json:"max_len"`   // words in one call
	MaxTypes  int    `json:"max_types"` // labels in one call
	SpanMode  string `json:"span_mode"`
	Splitter  string `json:"words_splitter_type"`
	Pooling   string `json:"subtoken_pooling"`
	Encoder   struct {
		MaxPositions int `json:"max_position_embeddings"`
	} `json:"encoder_config"`
}

// GLiNEREntry is graphmill.json in a GLiNER's folder: what was found out about
// the model. Every field may be missing.
type GLiNEREntry struct {
	// Threshold is the score below which a mention is dropped.
	Threshold float64 `json:"threshold"`
	// UnknownThreshold is the score below which a mention is kept without its type.
	UnknownThreshold float64 `json:"unknown_threshold"`
	// Window is the largest number of the text's word pieces in a call; 0 takes
	// what Positions leaves. Models trained on sentences find less in long
	// windows than in short ones.
	Window int `json:"window"`
	// Positions is the largest number of word pieces in a call, labels and
	// special tokens included.
	Positions int `json:"positions"`
	// Prompts are the words that work better than a type's own label.
	Prompts map[string]string `json:"prompts"`
}

// Defaults of models without an entry: the thresholds that are usual for
// published GLiNER models, and the 512 positions that their encoders learned;
// beyond them the reference engine's answers are noise.
const (
	defaultThreshold        = 0.3
	defaultUnknownThreshold = 0.5
	maxPositions            = 512
	minWindow               = 32
	defaultMaxTypes         = 25
	defaultMaxLen           = 384
)

// glinerInputs are the inputs of a span model exported to ONNX.
var glinerInputs = []string{"input_ids", "attention_mask", "words_mask", "text_lengths", "span_idx", "span_mask"}

// LoadGLiNER loads the model in dir: model.onnx, tokenizer.json,
// gliner_config.json and, where there is one, graphmill.json.
func LoadGLiNER(engine Engine, dir string, options SessionOptions) (*GLiNER, error) {
	g := &GLiNER{}
	if err := g.readConfig(dir); err != nil {
		return nil, fmt.Errorf("load GLiNER model %s: %w", dir, err)
	}
	look, err := inspectFolder(dir)
	if err != nil {
		return nil, err
	}
	g.OneTextACall = look.dynamic
	g.Identity = look.identity(filepath.Base(dir))
	if g.Tokenizer, err = LoadTokenizer(filepath.Join(dir, "tokenizer.json")); err != nil {
		return nil, err
	}
	for _, token := range []string{g.Config.EntToken, g.Config.SepToken} {
		if _, ok := g.Tokenizer.TokenID(token); !ok {
			return nil, fmt.Errorf("load GLiNER model %s: tokenizer.json lacks the token %q", dir, token)
		}
	}
	if g.Session, err = engine.Load(filepath.Join(dir, "model.onnx"), options); err != nil {
		return nil, err
	}
	for _, name := range glinerInputs {
		if !slices.Contains(g.Session.Inputs(), name) {
			return nil, errors.Join(g.Session.Close(), fmt.Errorf(
				"load GLiNER model %s: model.onnx has no input %q; export the model in span mode", dir, name))
		}
	}
	return g, nil
}

// Close frees the session.
func (g *GLiNER) Close() error { return g.Session.Close() }

func (g *GLiNER) readConfig(dir string) error {
	if err := readJSON(filepath.Join(dir, "gliner_config.json"), &g.Config); err != nil {
		return err
	}
	c := &g.Config
	if c.EntToken == "" {
		c.EntToken = "<<ENT>>"
	}
	if c.SepToken == "" {
		c.SepToken = "<<SEP>>"
	}
	if c.MaxWidth <= 0 {
		return errors.New("gliner_config.json: max_width is missing")
	}
	if c.SpanMode == "token_level" || c.Splitter != "" && c.Splitter != "whitespace" || c.Pooling != "" && c.Pooling != "first" {
		return fmt.Errorf("span_mode %q with words_splitter_type %q and subtoken_pooling %q is not supported (span models with whitespace and first are)",
			c.SpanMode, c.Splitter, c.Pooling)
	}
	c.MaxTypes = positive(c.MaxTypes, defaultMaxTypes)
	c.MaxLen = positive(c.MaxLen, defaultMaxLen)
	err := readJSON(filepath.Join(dir, "graphmill.json"), &g.Entry)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return g.fillEntry()
}

func (g *GLiNER) fillEntry() error {
	e := &g.Entry
	if e.Threshold == 0 {
		e.Threshold = defaultThreshold
	}
	if e.UnknownThreshold == 0 {
		e.UnknownThreshold = max(defaultUnknownThreshold, e.Threshold)
	}
	if e.Threshold < 0 || e.UnknownThreshold > 1 || e.Threshold > e.UnknownThreshold {
		return fmt.Errorf("graphmill.json: threshold %g and unknown_threshold %g must rise within 0 to 1", e.Threshold, e.UnknownThreshold)
	}
	limit := min(maxPositions, positive(g.Config.Encoder.MaxPositions, maxPositions))
	e.Positions = min(positive(e.Positions, limit), limit)
	e.Window = min(positive(e.Window, limit), limit)
	if e.Window < minWindow || e.Positions < 2*minWindow {
		return fmt.Errorf("graphmill.json: window %d must be %d or more, and positions %d %d or more", e.Window, minWindow, e.Positions, 2*minWindow)
	}
	return nil
}

func positive(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

func readJSON(path string, into any) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return nil
}
