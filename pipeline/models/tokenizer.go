package models

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// Tokenizer cuts text into the word pieces that a model was trained on. It is
// deterministic, safe for concurrent use, and takes any string, valid UTF-8 or
// not, in time that grows with its length only.
type Tokenizer interface {
	// Encode returns all of the text's pieces: nothing is truncated, padded or
	// wrapped in special tokens, and special tokens that stand in the text are
	// text, so that a document cannot speak to the model.
	Encode(text string) []Piece
	// TokenID is the id of a token of the vocabulary or of the added tokens.
	TokenID(token string) (id int64, ok bool)
	// Wrapper returns the special tokens that the model expects before and after
	// a sequence.
	Wrapper() (before, after []int64)
	// Pad is the id that fills short rows of a batch.
	Pad() int64
}

// Piece is one word piece.
type Piece struct {
	ID int64
	// Start and End are bytes of the encoded text. A piece that normalisation
	// made of one character with its neighbours covers them all.
	Start, End int
	// First is true for the first piece of a word.
	First bool
}

// word is a run of normalised characters that the model cuts on its own.
type word []char

// char is a normalised character and the bytes it was made of.
type char struct {
	r          rune
	start, end int32
}

type normalizer func([]char) []char

type preTokenizer func([]word) []word

type pieceModel interface {
	// cut appends the word's pieces.
	cut(w word, pieces []Piece) []Piece
	id(token string) (int64, bool)
	// forget takes a special token out of what text can be cut into.
	forget(token string)
}

type jsonTokenizer struct {
	normalize     normalizer
	split         preTokenizer
	model         pieceModel
	added         map[string]int64
	before, after []int64
	pad           int64
}

// maxTokenizerText bounds one text, because offsets are kept in 32 bits.
const maxTokenizerText = 1 << 30

// tokenizerFile is the part of tokenizer.json that is read. Truncation and
// padding are left out on purpose: they cut long text in silence.
type tokenizerFile struct {
	Added []struct {
		ID      int64  `json:"id"`
		Content string `json:"content"`
		Special bool   `json:"special"`
	} `json:"added_tokens"`
	Normalizer    *normalizerSpec    `json:"normalizer"`
	PreTokenizer  *preTokenizerSpec  `json:"pre_tokenizer"`
	PostProcessor *postProcessorSpec `json:"post_processor"`
	Model         json.RawMessage    `json:"model"`
}

// LoadTokenizer reads a tokenizer.json of the WordPiece or Unigram kind, as
// Hugging Face's tokenizers writes it. The ids are that library's; the tests
// compare them on some thousand texts.
func LoadTokenizer(file string) (Tokenizer, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("load tokenizer: %w (a model folder holds model.onnx and tokenizer.json)", err)
	}
	t, err := parseTokenizer(raw)
	if err != nil {
		return nil, fmt.Errorf("load tokenizer %s: %w", file, err)
	}
	return t, nil
}

func parseTokenizer(raw []byte) (*jsonTokenizer, error) {
	var file tokenizerFile
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, err
	}
	t := &jsonTokenizer{added: make(map[string]int64, len(file.Added))}
	for _, token := range file.Added {
		t.added[token.Content] = token.ID
	}
	var err error
	if t.model, err = parsePieceModel(file.Model); err != nil {
		return nil, err
	}
	for _, token := range file.Added {
		if token.Special {
			t.model.forget(token.Content)
		}
	}
	if t.normalize, err = file.Normalizer.build(); err != nil {
		return nil, err
	}
	if t.split, err = file.PreTokenizer.build(); err != nil {
		return nil, err
	}
	if t.before, t.after, err = file.PostProcessor.wrapper(t); err != nil {
		return nil, err
	}
	for _, name := range []string{"[PAD]", "<pad>"} {
		if id, ok := t.TokenID(name); ok {
			t.pad = id
			break
		}
	}
	return t, nil
}

func parsePieceModel(raw json.RawMessage) (pieceModel, error) {
	var kind struct {
		Type  string          `json:"type"`
		Vocab json.RawMessage `json:"vocab"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return nil, fmt.Errorf("parse model: %w", err)
	}
	name := kind.Type
	if name == "" { // older files leave it out
		name = "Unigram"
		if strings.HasPrefix(strings.TrimSpace(string(kind.Vocab)), "{") {
			name = "WordPiece"
		}
	}
	switch name {
	case "WordPiece":
		return parseWordPiece(raw)
	case "Unigram":
		return parseUnigram(raw)
	}
	return nil, fmt.Errorf("model type %q is not supported (WordPiece and Unigram are); use a model with one of these tokenizers", name)
}

func (t *jsonTokenizer) TokenID(token string) (int64, bool) {
	if id, ok := t.added[token]; ok {
		return id, true
	}
	return t.model.id(token)
}

func (t *jsonTokenizer) Wrapper() (before, after []int64) { return t.before, t.after }

func (t *jsonTokenizer) Pad() int64 { return t.pad }

func (t *jsonTokenizer) Encode(text string) []Piece {
	if len(text) > maxTokenizerText {
		text = text[:maxTokenizerText]
	}
	chars := make([]char, 0, len(text))
	for i, r := range text {
		if n := len(chars); n > 0 {
			chars[n-1].end = int32(i)
		}
		chars = append(chars, char{r: r, start: int32(i), end: int32(len(text))})
	}
	if t.normalize != nil {
		chars = t.normalize(chars)
	}
	if len(chars) == 0 {
		return nil
	}
	words := []word{chars}
	if t.split != nil {
		words = t.split(words)
	}
	pieces := make([]Piece, 0, len(words)*3/2)
	for _, w := range words {
		if len(w) > 0 {
			pieces = t.model.cut(w, pieces)
		}
	}
	return pieces
}

// postProcessorSpec is the TemplateProcessing or BertProcessing that puts
// special tokens around a sequence.
type postProcessorSpec struct {
	Type   string `json:"type"`
	Single []struct {
		SpecialToken *struct {
			ID string `json:"id"`
		} `json:"SpecialToken"`
	} `json:"single"`
	Special map[string]struct {
		IDs []int64 `json:"ids"`
	} `json:"special_tokens"`
	CLS        [2]any              `json:"cls"`
	SEP        [2]any              `json:"sep"`
	Processors []postProcessorSpec `json:"processors"`
}

func (s *postProcessorSpec) wrapper(t *jsonTokenizer) (before, after []int64, err error) {
	if s == nil {
		return nil, nil, nil
	}
	switch s.Type {
	case "TemplateProcessing":
		seen := false
		for _, item := range s.Single {
			switch {
			case item.SpecialToken == nil:
				seen = true
			case seen:
				after = append(after, s.Special[item.SpecialToken.ID].IDs...)
			default:
				before = append(before, s.Special[item.SpecialToken.ID].IDs...)
			}
		}
		return before, after, nil
	case "BertProcessing", "RobertaProcessing":
		cls, _ := s.CLS[0].(string)
		sep, _ := s.SEP[0].(string)
		clsID, hasCLS := t.TokenID(cls)
		sepID, hasSEP := t.TokenID(sep)
		if !hasCLS || !hasSEP {
			return nil, nil, fmt.Errorf("post-processor names tokens %q and %q, which the vocabulary lacks", cls, sep)
		}
		return []int64{clsID}, []int64{sepID}, nil
	case "Sequence":
		for i := range s.Processors {
			if before, after, err = s.Processors[i].wrapper(t); err != nil || before != nil {
				return before, after, err
			}
		}
		return nil, nil, nil
	}
	return nil, nil, fmt.Errorf("post-processor type %q is not supported", s.Type)
}
