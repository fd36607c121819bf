package configs

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Variables of the peer's programs that are understood without being settings.
const (
	envModel          = "GRAPHRAG_MODEL"
	envEmbedModel     = "GRAPHRAG_EMBED_MODEL"
	envEmbedDim       = "GRAPHRAG_EMBED_DIM"
	envSendDimensions = "GRAPHRAG_EMBED_SEND_DIMENSIONS"
	envReadOnly       = "GRAPHRAG_MCP_READ_ONLY"
)

func envMap(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, pair := range environ {
		if name, value, found := strings.Cut(pair, "="); found && value != "" {
			env[name] = value
		}
	}
	return env
}

func (l *loader) readEnv() {
	known := []string{envConfig}
	for i := range l.table.keys {
		key := &l.table.keys[i]
		for _, name := range slices.Backward(key.EnvNames()) {
			known = append(known, name)
			if text := l.env[name]; text != "" && !l.outweighed(key, name) {
				l.take(key, text, origin{layer: layerEnv, where: name})
			}
		}
	}
	l.readEmbedModel()
	for _, name := range slices.Sorted(maps.Keys(l.env)) {
		if strings.HasPrefix(name, envPrefix) && !slices.Contains(known, name) {
			l.warn("environment %s is no setting%s", name, didYouMean(name, known))
		}
	}
}

// outweighed reports whether a weightier variable of the key is set too.
func (l *loader) outweighed(key *Key, name string) bool {
	for _, other := range key.EnvNames() {
		if other == name {
			return false
		}
		if l.env[other] != "" {
			return true
		}
	}
	return false
}

// readEmbedModel takes GRAPHRAG_EMBED_MODEL where it names a local model's
// folder; a remote model's name is left to a warning.
func (l *loader) readEmbedModel() {
	dir := l.env[envEmbedModel]
	key := l.table.key("embedder.model_dir")
	if dir == "" || l.env[key.EnvName()] != "" {
		return
	}
	if info, err := os.Stat(filepath.Join(dir, "model.onnx")); err == nil && info.Mode().IsRegular() {
		l.take(key, dir, origin{layer: layerEnv, where: envEmbedModel})
	}
}

// peerSettings explains variables of the peer's programs that are set and have
// no effect here: a shell may hold them for those programs, so they are no
// errors.
func (l *loader) peerSettings(cfg *Config) {
	idle := []string{}
	for _, name := range []string{envModel, envEmbedModel, envSendDimensions} {
		used := name == envEmbedModel && slices.ContainsFunc(l.layers[layerEnv], func(g given) bool { return g.origin.where == envEmbedModel })
		if l.env[name] != "" && !used {
			idle = append(idle, name)
		}
	}
	if l.env[envEmbedDim] != "" && !l.takeEmbedDim(cfg) {
		idle = append(idle, envEmbedDim)
	}
	if len(idle) > 0 {
		l.warn("environment %s: no effect, because this version extracts and embeds with local models only; "+
			"extractors.gliner.model_dir and embedder.model_dir choose them", strings.Join(idle, ", "))
	}
	if text := l.env[envReadOnly]; text != "" {
		if readOnly, err := parseBool(text); err != nil || !readOnly {
			l.warn("environment %s=%s: no effect, because queryd never writes", envReadOnly, text)
		}
	}
}

// takeEmbedDim uses GRAPHRAG_EMBED_DIM for an embedder that has no dimension of
// its own; a local model always has one.
func (l *loader) takeEmbedDim(cfg *Config) bool {
	key := l.table.key("embedder.dimension")
	if cfg.Embedder.Kind != EmbedderHash || cfg.origins[key.Name].layer != layerDefault {
		return cfg.Embedder.Kind == EmbedderHash
	}
	o := origin{layer: layerEnv, where: envEmbedDim}
	before := len(l.layers[layerEnv])
	l.take(key, l.env[envEmbedDim], o)
	if taken := l.layers[layerEnv]; len(taken) > before {
		cfg.Embedder.Dimension = taken[before].value.(int)
		cfg.origins[key.Name] = o
	}
	return true
}
