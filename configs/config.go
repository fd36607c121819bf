// Package configs turns graphmill.yaml, the environment and command line flags
// into one validated struct. It owns the names, defaults, bounds and
// descriptions of every setting (see [Keys]) and says where each value came
// from. It opens no store and loads no model: whether a path holds a usable
// model or a server answers is for the packages that use them.
package configs

import (
	"runtime"
	"time"
)

// Config is the whole configuration after defaults. Paths are absolute or "".
// It is read-only once loaded.
type Config struct {
	DataDir  string        `key:"data_dir"` // everything a run keeps: engine, caches, locks
	Graph    string        `key:"graph"`    // the base name; see GraphName
	Tenant   string        `key:"tenant"`   // "" for none
	Source   string        `key:"source"`   // name of a second files root of one graph; "" for the first
	Root     string        `key:"root"`     // the files root; "" when none was given
	Ontology string        `key:"ontology"` // ontology file; "" = the graph's own, else the built-in one
	Jobs     int           `key:"jobs"`     // as written; see Workers
	Wait     time.Duration `key:"wait"`     // for another run's lock; 0 gives up at once
	Output   string        `key:"output"`   // OutputText or OutputJSON
	Quiet    bool          `key:"quiet"`
	Progress string        `key:"progress"` // one of the Progress constants
	Log      Log           `key:"log"`

	Falkor     Falkor     `key:"falkor"`
	Engine     Engine     `key:"engine"`
	Corpus     Corpus     `key:"corpus"`
	Plan       Plan       `key:"plan"`
	Extractors Extractors `key:"extractors"`
	Resolvers  Resolvers  `key:"resolvers"`
	Models     Models     `key:"models"`
	Embedder   Embedder   `key:"embedder"`
	LLM        LLM        `key:"llm"`
	Commit     Commit     `key:"commit"`
	Limits     Limits     `key:"limits"`
	Mirror     Mirror     `key:"mirror"`
	Ledger     Ledger     `key:"ledger"`
	Metrics    Metrics    `key:"metrics"`
	Queue      Queue      `key:"queue"`
	Queryd     Queryd     `key:"queryd"`
	MCP        MCP        `key:"mcp"`

	// File is the configuration file that was read, absolute; "" when none was.
	File string `key:"-"`
	// Warnings are sentences for the operator about settings that were given
	// and have no effect, or that look mistyped.
	Warnings []string `key:"-"`

	origins map[string]origin `key:"-"`
}

// Values of Config.Output.
const (
	OutputText = "text"
	OutputJSON = "json"
)

// Values of Config.Progress. Auto is a bar on a terminal, plain lines elsewhere.
const (
	ProgressAuto  = "auto"
	ProgressBar   = "bar"
	ProgressPlain = "plain"
	ProgressJSON  = "json"
	ProgressNone  = "none"
)

// Log is about the diagnostics on stderr.
type Log struct {
	Level  string `key:"level"`  // debug, info, warn, error
	Format string `key:"format"` // OutputText or OutputJSON
}

// Falkor is an external FalkorDB server. Host "" means the local engine, and
// then nothing else here has a meaning.
type Falkor struct {
	Host        string        `key:"host"` // a bare host name or address; a URL was taken apart
	Port        int           `key:"port"`
	Username    string        `key:"username"`
	Password    Secret        `key:"password"` // the content of PasswordFile when that was given
	TLS         bool          `key:"tls"`
	CAFile      string        `key:"ca_file"` // PEM; "" = the system's authorities
	TLSInsecure bool          `key:"tls_insecure"`
	DialTimeout time.Duration `key:"dial_timeout"`
	// Reader is queryd's own login on that server; empty when it has none.
	Reader Login `key:"reader"`

	PasswordFile string `key:"password_file"`
}

// Login is a user of the database.
type Login struct {
	Username     string `key:"username"`
	Password     Secret `key:"password"` // the content of PasswordFile when that was given
	PasswordFile string `key:"password_file"`
}

// External reports whether an external server was configured.
func (f Falkor) External() bool { return f.Host != "" }

// Engine is the local engine. Empty paths are looked up in DepsDir and the
// usual places.
type Engine struct {
	Linger       time.Duration `key:"linger"`        // stay up after the last use
	StartTimeout time.Duration `key:"start_timeout"` // without progress, while loading too
	RedisServer  string        `key:"redis_server"`  // executable
	Module       string        `key:"module"`        // falkordb.so
	MaxMemory    int64         `key:"max_memory"`    // bytes; 0 = no cap
	DepsDir      string        `key:"deps_dir"`      // as `make deps` lays it out
}

// Corpus is what is read under the files root.
type Corpus struct {
	Include      []string      `key:"include"` // globs under the root; none = every ingestible file
	Exclude      []string      `key:"exclude"`
	MaxFileBytes int64         `key:"max_file_bytes"` // larger files fail
	MaxTextBytes int64         `key:"max_text_bytes"` // of decoded text; more fails the file
	MaxPages     int           `key:"max_pages"`      // of one PDF
	MaxEntries   int           `key:"max_entries"`    // listing stops with an error
	FileTimeout  time.Duration `key:"file_timeout"`   // for loading one file
}

// Plan chooses the strategies.
type Plan struct {
	Rules  []Rule     `key:"rules"` // first match wins; none = sensible rules by format
	Limits PlanLimits `key:"limits"`
}

// Rule gives the files that match their strategies. Empty fields leave the
// choice to the planner's defaults for the format.
type Rule struct {
	Match      string   // a glob under the root
	Chunker    string   // "fixed", "sentence", "structural"
	Extractors []string // "gliner", "pattern", "llm", "verify"; from `extractor:`, a name or a list
	Resolver   string   // "exact"
	MaxChunks  int      // 0 = plan.limits.max_chunks
	// Parameters are the chunker's numbers that the rule sets, by the names in
	// [RuleParameters]; one that is not set is absent.
	Parameters map[string]int
	Origin     string // "graphmill.yaml:14", for the plan's reasons and for errors
}

// PlanLimits are what a rule may choose; anything else is replaced.
type PlanLimits struct {
	Chunkers    []string `key:"chunkers"`
	Extractors  []string `key:"extractors"`
	Resolvers   []string `key:"resolvers"`
	MaxChunks   int      `key:"max_chunks"`  // a file with more fails before extraction
	TuneParams  bool     `key:"tune_params"` // whether rules may set the chunker's numbers
	MaxLLMPairs int      `key:"max_llm_pairs"`
}

// Extractors holds the extractors' settings.
type Extractors struct {
	GLiNER GLiNER `key:"gliner"`
	// PatternYAML is the subtree extractors.pattern as YAML text, unread;
	// package extractors decodes it. nil when there is none. Lines in it do
	// not count as in the file; Origin("extractors.pattern") has the place.
	PatternYAML []byte `key:"pattern"`
	// KeepBytes bounds what of earlier extractions is kept on disk; 0 keeps none.
	KeepBytes int64 `key:"keep_bytes"`
}

// Mirror is about documents whose files are gone.
type Mirror struct {
	Enabled   bool   `key:"enabled"`    // they are removed; those of moved files move
	MaxDelete string `key:"max_delete"` // see ParseShare; more are not removed, and nothing is written
}

// Ledger bounds the records of what runs changed.
type Ledger struct {
	DiffBytes int64 `key:"diff_bytes"` // of one run
	DiffRuns  int   `key:"diff_runs"`  // that have one
}

// Metrics are a run's figures for monitoring.
type Metrics struct {
	File string `key:"file"` // for the node exporter's textfile collector; "" = none
}

// GLiNER is the local entity model.
type GLiNER struct {
	ModelDir         string  `key:"model_dir"`         // "" = the model that comes with the program
	Threshold        float64 `key:"threshold"`         // spans below it are dropped; 0 = the model's own
	UnknownThreshold float64 `key:"unknown_threshold"` // kept spans below it are Unknown; 0 = the model's own
	Nested           bool    `key:"nested"`
}

// Models is how neural networks run.
type Models struct {
	Engine  string `key:"engine"`  // EngineONNXRuntime or EngineHugot
	Runtime string `key:"runtime"` // libonnxruntime.so; "" = looked up
	Threads int    `key:"threads"` // of one model call; 0 = 1
}

// Values of Models.Engine.
const (
	EngineONNXRuntime = "onnxruntime"
	EngineHugot       = "hugot"
)

// Embedder turns text into vectors.
type Embedder struct {
	Kind      string `key:"kind"`      // one of the Embedder constants
	ModelDir  string `key:"model_dir"` // onnx: "" = the model that comes with the program
	Model     string `key:"model"`     // openai: its name at the server; see RemoteModel
	Dimension int    `key:"dimension"` // 0 = the model's own (hash: 384); onnx: must equal the model's
	// SendDimensions asks the provider for vectors of Dimension also where the
	// model's name does not say that it can shorten them.
	SendDimensions bool `key:"send_dimensions"`
	Batch          int  `key:"batch"`  // openai: texts of one call
	Window         int  `key:"window"` // openai: estimated tokens of one text; 0 = by the server
}

// Values of Embedder.Kind. Hash is deterministic and knows no meaning: for
// tests and benchmarks. OpenAI sends every text to the server of llm.openai.
const (
	EmbedderONNX   = "onnx"
	EmbedderHash   = "hash"
	EmbedderOpenAI = "openai"
)

// Commit bounds one transaction, during which every reader waits.
type Commit struct {
	MaxRows      int `key:"max_rows"`      // rows of a transaction; a document with more is staged
	MaxDocuments int `key:"max_documents"` // small documents that share one
}

// Limits bounds a run.
type Limits struct {
	RunTime time.Duration `key:"run_time"` // then the run stops at a document boundary, exit 4; 0 = none
	// What language models and remote embedders may take in one run, checked
	// before each call: then as with RunTime. 0 = no limit.
	MaxCost   float64 `key:"max_cost"`
	MaxCalls  int     `key:"max_calls"`
	MaxTokens int     `key:"max_tokens"`
	// Likewise for one file, which fails then.
	FileMaxCost   float64 `key:"file_max_cost"`
	FileMaxCalls  int     `key:"file_max_calls"`
	FileMaxTokens int     `key:"file_max_tokens"`
}

// Queryd is the reader's defaults and limits.
type Queryd struct {
	TopK          int           `key:"top_k"` // passages a retrieve returns unless it says otherwise
	QueryTimeout  time.Duration `key:"query_timeout"`
	MaxReplyChars int           `key:"max_reply_chars"`
	// RequireReadOnlyLogin makes a login that could write an error.
	RequireReadOnlyLogin bool `key:"require_read_only_login"`
}

// MCP is how tools are served. The limits are those of toolserver.Limits.
type MCP struct {
	Transport    string   `key:"transport"` // TransportStdio or TransportHTTP
	Include      []string `key:"include"`   // tool names; none = all
	Listen       string   `key:"listen"`    // host:port
	Token        Secret   `key:"token"`     // NAME:TOKEN or TOKEN, separated by commas
	TokenFile    string   `key:"token_file"`
	TLSCert      string   `key:"tls_cert"` // both or neither
	TLSKey       string   `key:"tls_key"`
	AllowedHosts []string `key:"allowed_hosts"`

	MaxCalls             int           `key:"max_calls"` // 0 = two a core
	MaxQueue             int           `key:"max_queue"`
	QueueTimeout         time.Duration `key:"queue_timeout"`
	CallTimeout          time.Duration `key:"call_timeout"`
	MaxRequestsPerMinute int           `key:"max_requests_per_minute"`
	MaxBodyBytes         int64         `key:"max_body_bytes"`
	MaxSessions          int           `key:"max_sessions"`
	SessionTimeout       time.Duration `key:"session_timeout"`
	MaxConnections       int           `key:"max_connections"`
	HeaderTimeout        time.Duration `key:"header_timeout"`
	IdleTimeout          time.Duration `key:"idle_timeout"`
	DrainTimeout         time.Duration `key:"drain_timeout"`

	ReadOnly       bool          `key:"read_only"`       // of ingestd's tools
	FinalizePolicy string        `key:"finalize_policy"` // one of the Finalize constants
	IngestTimeout  time.Duration `key:"ingest_timeout"`
	LockTimeout    time.Duration `key:"lock_timeout"`

	MetricsListen  string `key:"metrics_listen"` // "" for none
	AuditFile      string `key:"audit_file"`     // "" = standard error over http, else none
	AuditArguments bool   `key:"audit_arguments"`
}

// Values of MCP.Transport.
const (
	TransportStdio = "stdio"
	TransportHTTP  = "http"
)

// Values of MCP.FinalizePolicy.
const (
	FinalizeManual  = "manual"
	FinalizeOnWrite = "on_write"
	FinalizeNever   = "never"
)

// GraphName is the graph to use: Graph, or `<graph>__<tenant>`.
func (c *Config) GraphName() string {
	if c.Tenant == "" {
		return c.Graph
	}
	return c.Graph + "__" + c.Tenant
}

// Workers is how many documents are worked on at once: Jobs, or one a core.
func (c *Config) Workers() int {
	if c.Jobs > 0 {
		return c.Jobs
	}
	return runtime.GOMAXPROCS(0)
}
