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
			if text := l.env[name]; text != "" && !l.outweighed(key, name) && !idlePeerModel(name, text) {
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

// idlePeerModel reports whether a variable names a model in a way that only the
// peer's programs understand: such a shell must not stop this one.
func idlePeerModel(name, text string) bool { return name == envModel && checkModel(text) != nil }

// peerSettings uses what is left of the variables of the peer's programs, and
// explains those that are set and have no effect here: a shell may hold them for
// those programs, so they are no errors.
func (l *loader) peerSettings(cfg *Config) {
	idle := []string{}
	if text := l.env[envModel]; text != "" && idlePeerModel(envModel, text) {
		idle = append(idle, envModel)
	}
	folder := slices.ContainsFunc(l.layers[layerEnv], func(g given) bool { return g.origin.where == envEmbedModel })
	if l.env[envEmbedModel] != "" && !folder && !l.takeRemoteEmbedder(cfg) {
		idle = append(idle, envEmbedModel)
	}
	for name, key := range map[string]string{envEmbedDim: "embedder.dimension", envSendDimensions: "embedder.send_dimensions"} {
		if l.env[name] != "" && !l.takeOfEmbedder(cfg, name, key) {
			idle = append(idle, name)
		}
	}
	if len(idle) > 0 {
		slices.Sort(idle)
		l.warn("environment %s: no effect; models that are asked over the network are named with their provider, "+
			"openai/NAME or anthropic/NAME (llm.model), openai/NAME (embedder.kind openai, embedder.model)", strings.Join(idle, ", "))
	}
}

// takeRemoteEmbedder uses GRAPHRAG_EMBED_MODEL where it names a provider or the
// configuration does. A bare name sends nothing anywhere by itself.
func (l *loader) takeRemoteEmbedder(cfg *Config) bool {
	name, named := strings.CutPrefix(l.env[envEmbedModel], ProviderOpenAI+"/")
	remote := cfg.Embedder.Kind == EmbedderOpenAI
	switch {
	case remote && cfg.IsSet("embedder.model"):
		return true // said with more weight
	case !remote && (!named || cfg.IsSet("embedder.kind")):
		return false
	}
	o := origin{layer: layerEnv, where: envEmbedModel}
	if !remote {
		cfg.Embedder.Kind, cfg.origins["embedder.kind"] = EmbedderOpenAI, o
	}
	cfg.Embedder.Model, cfg.origins["embedder.model"] = name, o
	return true
}

// takeOfEmbedder uses a variable for an embedder that has no dimension of its
// own; a local model always has one.
func (l *loader) takeOfEmbedder(cfg *Config, env, name string) bool {
	used := cfg.Embedder.Kind == EmbedderOpenAI || cfg.Embedder.Kind == EmbedderHash && env == envEmbedDim
	if !used || cfg.origins[name].layer != layerDefault {
		return used
	}
	o := origin{layer: layerEnv, where: env}
	before := len(l.layers[layerEnv])
	l.take(l.table.key(name), l.env[env], o)
	if taken := l.layers[layerEnv]; len(taken) > before {
		setField(field(cfg, name), taken[before].value)
		cfg.origins[name] = o
	}
	return true
}
