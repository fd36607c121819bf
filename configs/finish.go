package configs

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// finish resolves what depends on more than one setting, and checks it.
func (l *loader) finish(cfg *Config) {
	l.absolutePaths(cfg)
	l.dataDir(cfg)
	l.falkorHost(cfg)
	l.passwordFile(cfg, "falkor.password")
	l.passwordFile(cfg, "falkor.reader.password")
	l.queueURL(cfg)
	l.passwordFile(cfg, "queue.password")
	l.passwordFile(cfg, "llm.openai.api_key")
	l.passwordFile(cfg, "llm.anthropic.api_key")
	l.passwordFile(cfg, "llm.azure.api_key")
	l.crossChecks(cfg)
	l.idleFalkor(cfg)
	l.peerSettings(cfg)
	l.finishLLM(cfg)
	l.idleTokens(cfg)
}

// absolutePaths makes every path independent of the working directory, which a
// native library may change. A path in the file is relative to that file.
func (l *loader) absolutePaths(cfg *Config) {
	for i := range l.table.keys {
		key := &l.table.keys[i]
		value := field(cfg, key.Name)
		if key.Kind != KindPath || value.String() == "" {
			continue
		}
		o := cfg.origins[key.Name]
		path, err := l.absolute(value.String(), o)
		if key.URL && strings.Contains(value.String(), "://") {
			if path, err = address(value.String()); err != nil {
				l.problem(o, key.Name, "%v", err)
				continue
			}
		}
		if err != nil {
			l.problem(o, key.Name, "%q: %v", value.String(), err)
			continue
		}
		value.SetString(path)
	}
}

func (l *loader) absolute(path string, o origin) (string, error) {
	if path == "~" || strings.HasPrefix(path, "~/") {
		home := l.env["HOME"]
		if home == "" {
			return "", errors.New("starts with ~, and HOME is not set")
		}
		return filepath.Join(home, path[1:]), nil
	}
	if o.layer == layerFile && !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(l.file), path)
	}
	return filepath.Abs(path)
}

// address is the path or the address that a URL stands for. Errors do not repeat
// it: what should not be in one may be a secret.
func address(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "", errors.New("the address cannot be read; a bucket is s3://BUCKET/PREFIX?region=…&endpoint=…")
	case u.User != nil:
		return "", errors.New("an address holds no credentials; give them as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or by AWS_PROFILE")
	case u.Scheme == "s3":
		return text, nil
	case u.Scheme == "file" && u.Host == "" && u.RawQuery == "" && filepath.IsAbs(u.Path):
		return filepath.Clean(u.Path), nil
	}
	return "", errors.New("an address is s3://BUCKET/PREFIX or file:///FOLDER")
}

// dataDir follows the XDG base directory specification, which has relative
// values ignored.
func (l *loader) dataDir(cfg *Config) {
	if cfg.DataDir != "" {
		return
	}
	switch data, home := l.env["XDG_DATA_HOME"], l.env["HOME"]; {
	case filepath.IsAbs(data):
		cfg.DataDir = filepath.Join(data, "graphmill")
	case filepath.IsAbs(home):
		cfg.DataDir = filepath.Join(home, ".local", "share", "graphmill")
	default:
		l.problem(origin{}, "data_dir", "there is no default, because neither XDG_DATA_HOME nor HOME is set; give --data-dir or GRAPHMILL_DATA_DIR")
	}
}

var falkorSchemes = map[string]bool{"redis": false, "rediss": true, "falkor": false, "falkors": true}

// falkorHost takes a URL or host:port apart. What it brings has the weight of
// the host's own layer; the same thing said otherwise by the same layer is an
// error.
func (l *loader) falkorHost(cfg *Config) {
	host, o := cfg.Falkor.Host, cfg.origins["falkor.host"]
	if host == "" {
		return
	}
	parts, err := splitHost(host)
	if err != nil {
		// The text may hold a password, so it is not repeated.
		l.problem(o, "falkor.host", "%v; allowed is %s", err, ruleHost)
		return
	}
	cfg.Falkor.Host = parts.host
	if parts.port != 0 {
		l.bring(cfg, o, "falkor.port", parts.port)
	}
	if parts.username != "" {
		l.bring(cfg, o, "falkor.username", parts.username)
	}
	if parts.password != "" {
		l.bring(cfg, o, "falkor.password", Secret(parts.password))
	}
	if parts.hasScheme {
		l.bring(cfg, o, "falkor.tls", parts.tls)
	}
}

// bring sets a key that the host's text contains.
func (l *loader) bring(cfg *Config, host origin, name string, value any) {
	own := cfg.origins[name]
	target := field(cfg, name)
	if own.layer > host.layer {
		return
	}
	// "redis" says less than tls: true beside it, but rediss beside tls: false
	// is a contradiction.
	if plain, isBool := value.(bool); isBool && !plain {
		return
	}
	// A copy of the example file says every default without meaning it.
	unsaid := own.layer == layerFile && target.Interface() == l.table.key(name).Default
	if own.layer == host.layer && !unsaid && target.Interface() != value {
		l.problem(own, name, "contradicts what %s says; give it once", host)
		return
	}
	setField(target, value)
	cfg.origins[name] = host
}

type hostParts struct {
	host, username, password string
	port                     int
	hasScheme, tls           bool
}

func splitHost(text string) (hostParts, error) {
	if !strings.Contains(text, "://") {
		return splitHostPort(text)
	}
	u, err := url.Parse(text)
	if err != nil {
		return hostParts{}, errors.New("is no valid URL (write %40 for @, %2F for / in user and password)")
	}
	tls, known := falkorSchemes[u.Scheme]
	switch {
	case !known:
		return hostParts{}, fmt.Errorf("has the unknown scheme %q", u.Scheme)
	case u.Hostname() == "":
		return hostParts{}, errors.New("names no host")
	case u.Path != "" && u.Path != "/" && u.Path != "/0":
		return hostParts{}, errors.New("has a path, but there is one database only; the graph is chosen by the setting graph")
	case u.RawQuery != "" || u.Fragment != "":
		return hostParts{}, errors.New("has parameters, which are not known")
	}
	parts := hostParts{host: u.Hostname(), hasScheme: true, tls: tls, username: u.User.Username()}
	parts.password, _ = u.User.Password()
	if u.Port() != "" {
		parts.port, err = parsePort(u.Port())
	}
	return parts, err
}

func splitHostPort(text string) (hostParts, error) {
	if strings.ContainsAny(text, "/@ ?#") {
		return hostParts{}, errors.New("is no host")
	}
	if net.ParseIP(text) != nil || !strings.Contains(text, ":") {
		return hostParts{host: text}, nil
	}
	host, portText, err := net.SplitHostPort(text)
	if err != nil || host == "" {
		return hostParts{}, errors.New("is no host")
	}
	port, err := parsePort(portText)
	return hostParts{host: host, port: port}, err
}

func parsePort(text string) (int, error) {
	port, err := strconv.Atoi(text)
	if err != nil || port < 1 || port > 65535 {
		return 0, fmt.Errorf("has the port %q, which is no integer from 1 to 65535", text)
	}
	return port, nil
}

// passwordFile reads the file of a password key, unless the password was given
// by a weightier layer.
func (l *loader) passwordFile(cfg *Config, name string) {
	fileKey := name + "_file"
	path := field(cfg, fileKey).String()
	own, o := cfg.origins[name], cfg.origins[fileKey]
	given := !field(cfg, name).IsZero()
	if path == "" || given && own.layer > o.layer {
		return
	}
	if given && own.layer == o.layer {
		l.problem(o, fileKey, "%s is given too, by %s; give one of the two", name, own)
		return
	}
	const longest = 64 * kib
	content, err := readBounded(path, longest)
	if err != nil {
		l.problem(o, fileKey, "%q: %v", path, err)
		return
	}
	password := strings.TrimRight(string(content), "\r\n")
	if err := noControl(password); err != nil || password == "" {
		l.problem(o, fileKey, "%q holds no %s: one line of text is allowed", path, strings.ReplaceAll(name[strings.LastIndex(name, ".")+1:], "_", " "))
		return
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		l.warn("%s: %s can be read by other users; chmod 600 it", fileKey, path)
	}
	setField(field(cfg, name), Secret(password))
	cfg.origins[name] = o
}

func (l *loader) crossChecks(cfg *Config) {
	g := cfg.Extractors.GLiNER
	if g.Threshold > 0 && g.UnknownThreshold > 0 && g.UnknownThreshold < g.Threshold {
		l.problem(cfg.origins["extractors.gliner.unknown_threshold"], "extractors.gliner.unknown_threshold",
			"%s is below extractors.gliner.threshold (%s); allowed is a number from that to 1", formatFloat(g.UnknownThreshold), formatFloat(g.Threshold))
	}
	if cfg.Falkor.Reader.Username == "" && cfg.Falkor.Reader.Password != "" {
		l.problem(cfg.origins["falkor.reader.password"], "falkor.reader.password", "is given without falkor.reader.username")
	}
	for _, pair := range [][2]string{{"mcp.tls_cert", "mcp.tls_key"}, {"mcp.tls_key", "mcp.tls_cert"}} {
		if field(cfg, pair[0]).String() != "" && field(cfg, pair[1]).String() == "" {
			l.problem(cfg.origins[pair[0]], pair[0], "is given without %s", pair[1])
		}
	}
}

// idleFalkor warns of settings of an external server that is not there, or of
// TLS that is not on: a mistyped FALKOR_HOST would else write to the wrong place.
func (l *loader) idleFalkor(cfg *Config) {
	section, without := "falkor.", "falkor.host: the local engine is used"
	if cfg.Falkor.External() {
		if cfg.Falkor.TLS {
			return
		}
		section, without = "", "falkor.tls: the connection is not encrypted"
	}
	for i := range l.table.keys {
		name := l.table.keys[i].Name
		if !cfg.IsSet(name) || reflect.DeepEqual(field(cfg, name).Interface(), l.table.keys[i].Default) {
			continue // said and idle, as in a copy of the example file, does no harm
		}
		aboutTLS := name == "falkor.ca_file" || name == "falkor.tls_insecure"
		if aboutTLS || section != "" && strings.HasPrefix(name, section) {
			l.warn("%s (%s) has no effect without %s", name, cfg.Origin(name), without)
		}
	}
}

// idleTokens warns of tokens that nobody is asked for.
func (l *loader) idleTokens(cfg *Config) {
	for _, name := range []string{"mcp.token", "mcp.token_file"} {
		if cfg.MCP.Transport == TransportStdio && !field(cfg, name).IsZero() {
			l.warn("%s (%s) has no effect with mcp.transport stdio: the tools are served to the process that starts the program", name, cfg.Origin(name))
		}
	}
}
