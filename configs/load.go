package configs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// Source is where settings come from, in rising order of weight: defaults,
// File, Env, Flags, Set.
type Source struct {
	// File is the configuration file. "" = the flag --config in Flags, else
	// GRAPHMILL_CONFIG, else ./graphmill.yaml if there is one, else none.
	File string
	// Env is the environment as os.Environ returns it; nil is an empty one.
	// Empty variables count as not set.
	Env []string
	// Flags are a command's parsed flags; those that [BindFlags] added and the
	// user gave count. May be nil.
	Flags *pflag.FlagSet
	// Set holds values by key, as text or as the kind's own Go type, for
	// programs and tests.
	Set map[string]any
}

// Load reads and validates everything. The error is an *[Error] with every
// problem found, not only the first. Of files it reads the configuration file
// and the password files, nothing else; it writes nothing.
func Load(source Source) (*Config, error) {
	cfg, err := Salvage(source)
	if err != nil {
		return nil, err
	}
	return cfg, nil
}

// Salvage is Load for a program that goes on with what is right: beside an
// *[Error] it returns a configuration in which what is wrong has its default.
func Salvage(source Source) (*Config, error) {
	l := &loader{table: newTable(), env: envMap(source.Env)}
	l.readLayers(source)
	unread := l.problems
	cfg, err := l.merge()
	if err != nil {
		return nil, err
	}
	if l.file != "" {
		if cfg.File, err = filepath.Abs(l.file); err != nil {
			return nil, fmt.Errorf("locate configuration file: %w", err)
		}
	}
	l.finish(cfg)
	cfg.Warnings = l.warnings
	if len(unread) > 0 { // what finish found beside them may only follow from them
		return cfg, &Error{Problems: unread}
	}
	if len(l.problems) > 0 {
		return cfg, &Error{Problems: l.problems}
	}
	return cfg, nil
}

// The layers, in rising order of weight.
const (
	layerDefault = iota
	layerFile
	layerEnv
	layerFlag
	layerSet
)

// origin says where a value came from.
type origin struct {
	layer int
	where string // "graphmill.yaml:12", "FALKOR_PORT", "--jobs"
}

func (o origin) String() string {
	switch o.layer {
	case layerFile:
		return "file " + o.where
	case layerEnv:
		return "environment " + o.where
	case layerFlag:
		return "flag " + o.where
	case layerSet:
		return "program"
	}
	return "default"
}

// given is one value of one layer.
type given struct {
	key    *Key
	value  any
	origin origin
}

type loader struct {
	table    *table
	env      map[string]string
	file     string
	layers   [layerSet + 1][]given
	problems []Problem
	warnings []string
}

func (l *loader) problem(o origin, key, format string, args ...any) {
	where := o.String()
	if o.layer == layerFile {
		where = o.where
	}
	l.problems = append(l.problems, Problem{Where: where, Key: key, Message: fmt.Sprintf(format, args...)})
}

func (l *loader) warn(format string, args ...any) {
	l.warnings = append(l.warnings, fmt.Sprintf(format, args...))
}

func (l *loader) readLayers(source Source) {
	name, problem := l.findFile(source)
	if problem != nil {
		l.problems = append(l.problems, *problem)
	} else if name != "" {
		l.file = name
		given, problems := readFile(l.table, name)
		l.layers[layerFile] = given
		l.problems = append(l.problems, problems...)
	}
	l.readEnv()
	l.readFlags(source.Flags)
	l.readSet(source.Set)
}

// findFile returns the configuration file to read, "" for none.
func (l *loader) findFile(source Source) (string, *Problem) {
	name, from := source.File, "program"
	if name == "" && source.Flags != nil {
		if flag := source.Flags.Lookup(configFlag); flag != nil && flag.Changed {
			name, from = flag.Value.String(), "flag --"+configFlag
		}
	}
	if name == "" && l.env[envConfig] != "" {
		name, from = l.env[envConfig], "environment "+envConfig
	}
	if name == "" {
		_, err := os.Stat(DefaultFile)
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		return DefaultFile, nil // another error is told when it is read
	}
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return "", &Problem{Where: from, Message: fmt.Sprintf("configuration file %s does not exist", name)}
	}
	return name, nil
}

// take validates one value that came as text or typed.
func (l *loader) take(key *Key, value any, o origin) {
	text, isText := value.(string)
	var err error
	switch {
	case isText && (key.Kind == KindRules || key.Kind == KindYAML):
		l.takeYAML(key, text, o)
		return
	case isText:
		value, err = key.parseText(text)
	case reflect.TypeOf(value) != reflect.TypeOf(key.Default):
		err = fmt.Errorf("is a %T", value)
	}
	if err == nil {
		err = key.validate(value)
	}
	if err != nil {
		p := key.problem("", text, err)
		l.problem(o, key.Name, "%s", p.Message)
		return
	}
	l.layers[o.layer] = append(l.layers[o.layer], given{key: key, value: value, origin: o})
}

// takeYAML reads a value that is YAML or JSON text, such as the rules.
func (l *loader) takeYAML(key *Key, text string, o origin) {
	node, problem := parseYAML([]byte(text), "")
	if problem != nil || node == nil {
		l.problem(o, key.Name, "is no valid YAML; allowed is %s", key.AllowedText())
		return
	}
	r := &fileReader{table: l.table, where: func(int) string { return o.String() }}
	r.duplicates(node, key.Name)
	r.leaf(key, node, node)
	l.problems = append(l.problems, r.problems...)
	for _, g := range r.given {
		g.origin = o
		l.layers[o.layer] = append(l.layers[o.layer], g)
	}
}

func (l *loader) readSet(set map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(set)) {
		o := origin{layer: layerSet}
		key := l.table.key(name)
		if key == nil {
			l.problem(o, name, "is no setting%s", didYouMean(name, l.table.names()))
			continue
		}
		l.take(key, set[name], o)
	}
}

// merge lets viper lay the layers over each other and fill the struct. The
// values are typed and valid already.
func (l *loader) merge() (*Config, error) {
	v := viper.New()
	cfg := &Config{origins: map[string]origin{}}
	for i := range l.table.keys {
		v.SetDefault(l.table.keys[i].Name, l.table.keys[i].Default)
	}
	for _, layer := range l.layers {
		for _, g := range layer {
			if err := mergeOne(v, g); err != nil {
				return nil, fmt.Errorf("merge setting %s: %w", g.key.Name, err)
			}
			cfg.origins[g.key.Name] = g.origin
		}
	}
	if err := v.Unmarshal(cfg, strict); err != nil {
		return nil, fmt.Errorf("fill configuration: %w", err)
	}
	return cfg, nil
}

func mergeOne(v *viper.Viper, g given) error {
	if g.origin.layer >= layerFlag {
		v.Set(g.key.Name, g.value)
		return nil
	}
	var nested any = g.value
	parts := strings.Split(g.key.Name, ".")
	for _, part := range slices.Backward(parts) {
		nested = map[string]any{part: nested}
	}
	return v.MergeConfigMap(nested.(map[string]any))
}

// strict makes a key without a field, or a field without a key, an error.
func strict(c *mapstructure.DecoderConfig) {
	c.TagName = "key"
	c.ErrorUnused = true
	c.WeaklyTypedInput = false
	c.DecodeHook = nil
}
