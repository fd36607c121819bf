package configs

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

const configFlag = "config"

// BindFlags adds flags for the named keys to a command, with the names and
// help texts of the table, and the flag --config. Values are checked by [Load],
// together with everything else. An unknown key, or one without a flag, is an
// error of the program.
func BindFlags(flags *pflag.FlagSet, keys ...string) error {
	if flags.Lookup(configFlag) == nil {
		flags.String(configFlag, "", fmt.Sprintf("configuration file (default: $%s, else ./%s if there is one)", envConfig, DefaultFile))
	}
	t := newTable()
	var errs []error
	for _, name := range keys {
		key := t.key(name)
		if key == nil || key.Flag == "" {
			errs = append(errs, fmt.Errorf("bind flag of setting %q: there is none", name))
			continue
		}
		flag := flags.VarPF(&flagValue{key: key}, key.Flag, "", flagUsage(key))
		if key.Kind == KindBool {
			flag.NoOptDefVal = "true"
		}
	}
	return errors.Join(errs...)
}

// flagUsage is the description as help texts have it, with the default. In a flag's
// usage pflag takes what stands in backticks for the name of its value.
func flagUsage(key *Key) string {
	usage := strings.TrimSuffix(strings.ToLower(key.Description[:1])+key.Description[1:], ".")
	usage = strings.ReplaceAll(usage, "`", "\"")
	if len(key.Allowed) > 0 {
		usage += ": " + strings.Join(key.Allowed, ", ")
	}
	if key.Kind == KindList {
		usage += "; may be repeated"
	}
	note := key.DefaultNote
	if note == "" {
		note = key.format(key.Default)
	}
	if key.Kind == KindBool {
		return usage
	}
	return fmt.Sprintf("%s (default: %s)", usage, note)
}

// flagValue keeps what the user wrote until Load reads it.
type flagValue struct {
	key   *Key
	texts []string
}

// Set keeps the last value; a list's values add up.
func (f *flagValue) Set(text string) error {
	if f.key.Kind != KindList {
		f.texts = nil
	}
	f.texts = append(f.texts, text)
	return nil
}

func (f *flagValue) String() string { return strings.Join(f.texts, ",") }

// Type names the value in help texts.
func (f *flagValue) Type() string {
	switch f.key.Kind {
	case KindBool:
		return "bool"
	case KindInt:
		return "int"
	case KindText, KindSecret:
		return "string"
	case KindList:
		return "strings"
	}
	return string(f.key.Kind)
}

// value is what take reads: each text of a list is one element, commas and all.
func (f *flagValue) value() any {
	if f.key.Kind == KindList {
		return f.texts
	}
	return f.texts[len(f.texts)-1]
}

// AlsoAs lets a flag that was bound be given by another name, too.
func AlsoAs(flags *pflag.FlagSet, alias, name string) {
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, given string) pflag.NormalizedName {
		if given == alias {
			given = name
		}
		return pflag.NormalizedName(given)
	})
}

func (l *loader) readFlags(flags *pflag.FlagSet) {
	if flags == nil {
		return
	}
	flags.Visit(func(flag *pflag.Flag) {
		if value, ours := flag.Value.(*flagValue); ours && len(value.texts) > 0 {
			l.take(l.table.key(value.key.Name), value.value(), origin{layer: layerFlag, where: "--" + flag.Name})
		}
	})
}
