package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"graphmill/chunkers"
	"graphmill/commandline"
	"graphmill/configs"
	"graphmill/extractors"
	"graphmill/pipeline/corpus"
	"graphmill/pipeline/corpus/htmldoc"
	"graphmill/pipeline/corpus/markdown"
	"graphmill/pipeline/corpus/pdf"
	"graphmill/pipeline/corpus/plaintext"
	"graphmill/pipeline/corpus/rst"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/models"
	"graphmill/pipeline/models/local"
	"graphmill/pipeline/ontology"
	"graphmill/planner"
	"graphmill/resolvers"
)

// wired gives the pipeline its strategies, parsers and models. Models are
// loaded when the first file needs them, so that a run that finds everything
// unchanged loads none.
type wired struct {
	cfg     *configs.Config
	local   local.Options
	pattern *extractors.Pattern
	pdf     *pdf.Parser

	asking asking // language models

	mu        sync.Mutex
	engine    models.Engine
	gliner    *models.GLiNER
	embed     models.Embedder
	extractor map[string]extractors.Extractor
	glinerID  string
	embedID   string
	// found is the extractor over gliner: one model serves every combination.
	found extractors.Extractor
}

// newWired reads what is cheap to read and could be wrong: the pattern rules.
func newWired(cfg *configs.Config) (*wired, error) {
	w := &wired{
		cfg:       cfg,
		local:     localModels(cfg),
		pdf:       pdf.New(pdf.Options{CacheDir: filepath.Join(cfg.DataDir, "cache", "pdf"), Compile: compileElsewhere, Instances: cfg.Workers()}),
		extractor: map[string]extractors.Extractor{},
	}
	config, err := extractors.ParsePatternConfig(cfg.Extractors.PatternYAML)
	if err == nil {
		w.pattern, err = extractors.NewPattern(config)
	}
	if err == nil {
		err = checkLabels(config)
	}
	if err != nil {
		return nil, commandline.Usage("extractors.pattern (%s): %v", cfg.Origin("extractors.pattern"), err)
	}
	return w, nil
}

// checkLabels refuses types that could not stand in the graph: every file would
// fail for them.
func checkLabels(config extractors.PatternConfig) error {
	for _, rule := range config.Rules {
		labels := []string{rule.Type}
		for _, t := range rule.Types {
			labels = append(labels, t.Type)
		}
		if rule.Neighbours != "" {
			labels = append(labels, rule.Neighbours)
		}
		for _, label := range labels {
			if err := ontology.ValidateLabel(label); err != nil && label != graph.UnknownType {
				return fmt.Errorf("pattern %q: %w", rule.Name, err)
			}
		}
	}
	return nil
}

func (w *wired) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	errs := []error{w.pdf.Close()}
	if w.gliner != nil {
		errs = append(errs, w.gliner.Close())
	}
	if w.embed != nil {
		errs = append(errs, w.embed.Close())
	}
	if w.engine != nil {
		errs = append(errs, w.engine.Close())
	}
	return errors.Join(errs...)
}

func (w *wired) parsers() map[corpus.Format]corpus.Parser {
	return map[corpus.Format]corpus.Parser{
		corpus.Text: plaintext.Parser{}, corpus.Markdown: markdown.Parser{}, corpus.RST: rst.Parser{},
		corpus.HTML: htmldoc.Parser{}, corpus.PDF: w.pdf,
	}
}

func (w *wired) loader(root corpus.Tree) *corpus.Loader {
	return corpus.NewLoader(root, w.parsers(), corpus.Limits{
		MaxFileBytes: w.cfg.Corpus.MaxFileBytes, MaxTextBytes: w.cfg.Corpus.MaxTextBytes, MaxPages: w.cfg.Corpus.MaxPages,
	})
}

// Chunker implements pipeline.Strategies.
func (w *wired) Chunker(a planner.Assignment) (chunkers.Chunker, error) {
	if a.Chunker == "contextual" {
		chat, err := w.chat()
		if err != nil {
			return nil, err
		}
		return chunkers.NewContextual(a.Params, chat)
	}
	return chunkers.New(a.Chunker, a.Params)
}

// Resolver implements pipeline.Strategies.
func (w *wired) Resolver(a planner.Assignment) (resolvers.Resolver, error) {
	return resolvers.New(a.Resolver)
}

// Extractor implements pipeline.Strategies. Assignments that name the same
// extractors share one.
func (w *wired) Extractor(a planner.Assignment) (extractors.Extractor, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := fmt.Sprint(a.Extractors)
	if have, ok := w.extractor[key]; ok {
		return have, nil
	}
	var methods []extractors.Extractor
	for _, name := range a.Extractors {
		method, err := w.method(name)
		if err != nil {
			return nil, err
		}
		methods = append(methods, method)
	}
	combined, err := extractors.Combine(methods, extractors.CombineOptions{Nested: w.cfg.Extractors.GLiNER.Nested})
	if err != nil {
		return nil, err
	}
	w.extractor[key] = combined
	return combined, nil
}

func (w *wired) method(name string) (extractors.Extractor, error) {
	switch name {
	case "pattern":
		return w.pattern, nil
	case "gliner":
		return w.loadGLiNER()
	case "llm", "verify":
		chat, err := w.chat()
		if err != nil {
			return nil, err
		}
		if name == "verify" {
			return extractors.NewVerify(chat), nil
		}
		return extractors.NewLLM(chat), nil
	}
	return nil, fmt.Errorf("no extractor is called %q", name)
}

func (w *wired) loadGLiNER() (extractors.Extractor, error) {
	if w.found != nil {
		return w.found, nil
	}
	if err := w.loadEngine(); err != nil {
		return nil, err
	}
	dir, err := w.local.FindGLiNER()
	if err != nil {
		return nil, err
	}
	w.gliner, err = models.LoadGLiNER(w.engine, dir, w.local.Session())
	if err != nil {
		return nil, err
	}
	settings := w.cfg.Extractors.GLiNER
	found, err := extractors.NewGLiNER(w.gliner, extractors.GLiNEROptions{
		Threshold: settings.Threshold, UnknownThreshold: settings.UnknownThreshold, Nested: settings.Nested,
	})
	if err == nil {
		w.found = found
	}
	return found, err
}

// localModels names the models of the configuration. Texts are embedded side by
// side by finalize, so a call of the embedder works on one at a time.
func localModels(cfg *configs.Config) local.Options {
	return local.Options{
		Places: models.Places{DepsDir: cfg.Engine.DepsDir, DataDir: cfg.DataDir},
		Engine: cfg.Models.Engine, Library: cfg.Models.Runtime, Threads: cfg.Models.Threads, Parallel: 1,
		Embedder: cfg.Embedder.Kind, EmbedderDir: cfg.Embedder.ModelDir, Dimension: cfg.Embedder.Dimension,
		GLiNERDir: cfg.Extractors.GLiNER.ModelDir,
	}
}

// loadEngine opens the engine of local models; w.mu is held.
func (w *wired) loadEngine() (err error) {
	if w.engine == nil {
		w.engine, err = w.local.OpenEngine()
	}
	return err
}

// ModelFingerprint implements pipeline.Strategies.
func (w *wired) ModelFingerprint(a planner.Assignment) (string, error) {
	local, err := w.localFingerprint(a)
	if err != nil {
		return "", err
	}
	asked, err := w.chatFingerprint(a)
	return joinIDs(local, asked), err
}

func (w *wired) localFingerprint(a planner.Assignment) (string, error) {
	if !slices.Contains(a.Extractors, "gliner") {
		return "", nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.glinerID != "" {
		return w.glinerID, nil
	}
	dir, err := w.local.FindGLiNER()
	if err != nil {
		return "", err
	}
	w.glinerID, err = models.Identify(dir)
	return w.glinerID, err
}

// SettingsFingerprint implements pipeline.Strategies.
func (w *wired) SettingsFingerprint(a planner.Assignment) string {
	var parts []string
	for _, name := range a.Extractors {
		switch name {
		case "gliner":
			settings := w.cfg.Extractors.GLiNER
			parts = append(parts, fmt.Sprint("gliner", settings.Threshold, settings.UnknownThreshold, settings.Nested))
		case "pattern":
			parts = append(parts, "pattern", w.pattern.Fingerprint())
		}
	}
	return graph.Hash(parts...)
}

// embedderModel is what embedder().Model() would be, without loading weights.
func (w *wired) embedderModel() (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.embedID != "" {
		return w.embedID, nil
	}
	if w.cfg.Embedder.Kind == configs.EmbedderOpenAI {
		embedder, err := w.remoteEmbedder()
		if err != nil {
			return "", err
		}
		w.embed, w.embedID = embedder, embedder.Model()
		return w.embedID, nil
	}
	var err error
	w.embedID, err = w.local.EmbedderModel()
	return w.embedID, err
}

// embedder opens the embedder of the configuration.
func (w *wired) embedder() (models.Embedder, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.embed != nil {
		return w.embed, nil
	}
	if w.cfg.Embedder.Kind == configs.EmbedderOpenAI {
		var err error
		w.embed, err = w.remoteEmbedder()
		return w.embed, err
	}
	if w.local.NeedsEngine() {
		if err := w.loadEngine(); err != nil {
			return nil, err
		}
	}
	var err error
	w.embed, err = w.local.OpenEmbedder(w.engine)
	return w.embed, err
}
