package configs

import (
	"slices"
	"time"
)

const (
	envPrefix = "GRAPHMILL_"
	// envConfig names the configuration file itself, so it is no key.
	envConfig = "GRAPHMILL_CONFIG"
	// DefaultFile is read from the working directory when no file is named.
	DefaultFile = "graphmill.yaml"
)

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
	tib = 1 << 40

	day = 24 * time.Hour
)

// Keys returns the table of all settings, in the order of the documentation.
// The caller owns it.
func Keys() []Key {
	return slices.Concat(generalKeys(), falkorKeys(), engineKeys(), corpusKeys(), planKeys(), resolverKeys(), modelKeys(), llmKeys(), runKeys(), lifecycleKeys(), queueKeys(), servingKeys())
}

func generalKeys() []Key {
	return []Key{
		{Name: "data_dir", Kind: KindPath, Default: "", Flag: "data-dir",
			DefaultNote: "$XDG_DATA_HOME/graphmill, else ~/.local/share/graphmill",
			Description: "Folder for everything a run keeps: the local engine's data, caches, locks."},
		{Name: "graph", Kind: KindText, Default: "knowledge_graph", Aliases: []string{"GRAPHRAG_GRAPH"}, Flag: "graph",
			check: checkGraph, rule: ruleGraph,
			Description: "The graph that is written and read. Its ontology lives in a second graph, named after it with __ontology."},
		{Name: "tenant", Kind: KindText, Default: "", Flag: "tenant", DefaultNote: "none", check: checkTenant, rule: ruleTenant,
			Description: "Use the graph <graph>__<tenant>."},
		{Name: "root", Kind: KindPath, Default: "", Aliases: []string{"GRAPHRAG_MCP_FILES_ROOT"}, Flag: "root", DefaultNote: "none",
			URL:         true,
			Description: "The folder of documents, or a bucket's address. Nothing outside it is read."},
		{Name: "source", Kind: KindText, Default: "", Flag: "source", DefaultNote: "the first root", check: checkSource, rule: ruleSource,
			Description: "Name of a second folder or bucket of documents in the same graph; it becomes part of the documents' paths."},
		{Name: "ontology", Kind: KindPath, Default: "", Flag: "ontology", DefaultNote: "the one stored in the graph, else the built-in one",
			Description: "Ontology file, YAML or JSON."},
		{Name: "jobs", Kind: KindInt, Default: 0, Min: 0, Max: 256, Flag: "jobs", DefaultNote: "one a core",
			Description: "How many documents are worked on at once."},
		{Name: "wait", Kind: KindDuration, Default: time.Duration(0), Max: float64(7 * day), Flag: "wait", DefaultNote: "do not wait",
			Description: "How long to wait for another run that holds the graph, before giving up with exit code 5."},
		{Name: "output", Kind: KindText, Default: OutputText, Allowed: []string{OutputText, OutputJSON}, Flag: "output",
			Description: "How results are printed on stdout."},
		{Name: "quiet", Kind: KindBool, Default: false, Flag: "quiet",
			Description: "Print totals only, and no progress."},
		{Name: "progress", Kind: KindText, Default: ProgressAuto, Flag: "progress",
			Allowed:     []string{ProgressAuto, ProgressBar, ProgressPlain, ProgressJSON, ProgressNone},
			Description: "How progress is shown on stderr; auto is a bar on a terminal and plain lines elsewhere."},
		{Name: "log.level", Kind: KindText, Default: "warn", Allowed: []string{"debug", "info", "warn", "error"}, Flag: "log-level",
			Description: "The least severe diagnostics that are written to stderr."},
		{Name: "log.format", Kind: KindText, Default: OutputText, Allowed: []string{OutputText, OutputJSON}, Flag: "log-format",
			Description: "How what is written to stderr looks; json is one object a line, for collectors of logs."},
	}
}

func falkorKeys() []Key {
	return []Key{
		{Name: "falkor.host", Kind: KindText, Default: "", Aliases: []string{"FALKOR_HOST"}, DefaultNote: "the local engine", rule: ruleHost, mayHoldSecret: true,
			Description: "An external FalkorDB server. A URL (redis://, rediss://, falkor://, falkors://) may bring port, user, password and TLS along."},
		{Name: "falkor.port", Kind: KindInt, Default: 6379, Min: 1, Max: 65535, Aliases: []string{"FALKOR_PORT"},
			Description: "Its port."},
		{Name: "falkor.username", Kind: KindText, Default: "", Aliases: []string{"FALKOR_USERNAME"}, DefaultNote: "the server's default user", rule: "a user name",
			Description: "The user that writes."},
		{Name: "falkor.password", Kind: KindSecret, Default: Secret(""), Aliases: []string{"FALKOR_PASSWORD"}, DefaultNote: "none",
			Description: "Its password."},
		{Name: "falkor.password_file", Kind: KindPath, Default: "", DefaultNote: "none",
			Description: "File that holds the password, instead of falkor.password."},
		{Name: "falkor.tls", Kind: KindBool, Default: false,
			Description: "Connect with TLS."},
		{Name: "falkor.ca_file", Kind: KindPath, Default: "", DefaultNote: "the system's authorities",
			Description: "Certificates (PEM) of the authorities that may vouch for the server."},
		{Name: "falkor.tls_insecure", Kind: KindBool, Default: false,
			Description: "Do not check the server's certificate. Anyone on the way can then read and change everything."},
		{Name: "falkor.dial_timeout", Kind: KindDuration, Default: 5 * time.Second, Min: float64(100 * time.Millisecond), Max: float64(5 * time.Minute),
			Description: "How long one attempt to connect may take."},
		{Name: "falkor.reader.username", Kind: KindText, Default: "", Aliases: []string{"GRAPHMILL_READER_USERNAME"}, DefaultNote: "none", rule: "a user name",
			Description: "queryd's own user on that server, which can only read."},
		{Name: "falkor.reader.password", Kind: KindSecret, Default: Secret(""), Aliases: []string{"GRAPHMILL_READER_PASSWORD"}, DefaultNote: "none",
			Description: "Its password."},
		{Name: "falkor.reader.password_file", Kind: KindPath, Default: "", Aliases: []string{"GRAPHMILL_READER_PASSWORD_FILE"}, DefaultNote: "none",
			Description: "File that holds the reader's password, instead of falkor.reader.password."},
	}
}

func engineKeys() []Key {
	return []Key{
		{Name: "engine.linger", Kind: KindDuration, Default: time.Duration(0), Max: float64(7 * day),
			Description: "How long the local engine stays up after its last use. Worth it for large graphs: loading one rebuilds its indexes, which takes minutes."},
		{Name: "engine.start_timeout", Kind: KindDuration, Default: time.Minute, Min: float64(time.Second), Max: float64(day),
			Description: "How long a starting engine may make no progress; one that is loading a graph is waited for."},
		{Name: "engine.redis_server", Kind: KindPath, Default: "", DefaultNote: "looked up in the dependencies' folder",
			Description: "The redis-server executable, 7.2 or later."},
		{Name: "engine.module", Kind: KindPath, Default: "", DefaultNote: "looked up in the dependencies' folder",
			Description: "FalkorDB's module, falkordb.so."},
		{Name: "engine.max_memory", Kind: KindSize, Default: int64(0), Max: 16 * tib, DefaultNote: "80 % of the machine's or the container's",
			Description: "Most memory the local engine may use; a write beyond it fails."},
		{Name: "engine.deps_dir", Kind: KindPath, Default: "", Aliases: []string{"GRAPHMILL_DEPS_DIR"}, DefaultNote: ".deps beside the program's folder, else <data_dir>/deps, else ./.deps",
			Description: "Folder of the fetched engine and libraries, as make deps fills it."},
	}
}

func corpusKeys() []Key {
	return []Key{
		{Name: "corpus.include", Kind: KindList, Default: []string{}, Flag: "include", check: checkGlob, rule: ruleGlobs, DefaultNote: "every file of a known format",
			Description: "Only files under the root that match one of these globs."},
		{Name: "corpus.exclude", Kind: KindList, Default: []string{}, Flag: "exclude", check: checkGlob, rule: ruleGlobs, DefaultNote: "none",
			Description: "Never files that match one of these globs."},
		{Name: "corpus.max_file_bytes", Kind: KindSize, Default: int64(50 * mib), Min: kib, Max: 4 * gib,
			Description: "Largest file that is read; a larger one fails."},
		{Name: "corpus.max_text_bytes", Kind: KindSize, Default: int64(100 * mib), Min: kib, Max: 4 * gib,
			Description: "Most text one file may yield; more fails the file."},
		{Name: "corpus.max_pages", Kind: KindInt, Default: 20_000, Min: 1, Max: 10_000_000,
			Description: "Most pages of one PDF; a longer one fails."},
		{Name: "corpus.max_entries", Kind: KindInt, Default: 100_000, Min: 1, Max: 100_000_000,
			Description: "Most files and folders under the root; listing more stops with an error."},
		{Name: "corpus.file_timeout", Kind: KindDuration, Default: 2 * time.Minute, Min: float64(time.Second), Max: float64(day),
			Description: "How long reading and parsing one file may take."},
	}
}

func planKeys() []Key {
	return []Key{
		{Name: "plan.rules", Kind: KindRules, Default: []Rule{}, DefaultNote: "rules by format",
			Description: "Which strategies a file gets; the first rule whose match fits its path wins."},
		{Name: "plan.limits.chunkers", Kind: KindList, Default: slices.Clone(chunkerNames), Allowed: chunkerNames,
			Description: "Chunkers that a rule may choose; another choice is replaced, and the plan's reason says so."},
		{Name: "plan.limits.extractors", Kind: KindList, Default: slices.Clone(extractorNames), Allowed: extractorNames,
			Description: "Extractors that a rule may choose."},
		{Name: "plan.limits.resolvers", Kind: KindList, Default: slices.Clone(resolverNames), Allowed: resolverNames,
			Description: "Resolvers that a rule may choose."},
		{Name: "plan.limits.max_chunks", Kind: KindInt, Default: 1000, Min: 1, Max: 10_000_000,
			Description: "Most chunks of one file; a file with more fails before anything is extracted from it."},
		{Name: "plan.limits.tune_params", Kind: KindBool, Default: true,
			Description: "Whether a rule may set the chunker's numbers (chunk_tokens, overlap_tokens …)."},
		{Name: "plan.limits.max_llm_pairs", Kind: KindInt, Default: 500, Min: 1, Max: 100_000,
			Description: "Pairs of names that the resolver llm_verified may ask a language model about for one version of a document."},
	}
}

func modelKeys() []Key {
	return []Key{
		{Name: "extractors.gliner.model_dir", Kind: KindPath, Default: "", Flag: "model-dir", DefaultNote: "the model that comes with the program",
			Description: "Folder of a GLiNER span model: model.onnx, tokenizer.json, gliner_config.json."},
		{Name: "extractors.gliner.threshold", Kind: KindNumber, Default: 0.0, Max: 1, DefaultNote: "the model's own",
			Description: "Entities that the model is less sure of are dropped."},
		{Name: "extractors.gliner.unknown_threshold", Kind: KindNumber, Default: 0.0, Max: 1, DefaultNote: "the model's own",
			Description: "Entities that the model is less sure of are kept with the type Unknown."},
		{Name: "extractors.gliner.nested", Kind: KindBool, Default: false,
			Description: "Keep entities inside other entities."},
		{Name: "extractors.pattern", Kind: KindYAML, Default: []byte(nil), DefaultNote: "no patterns",
			Description: "Regular expressions for what has a form: ticket numbers, part numbers, laws. See the documentation of the pattern extractor."},
		{Name: "extractors.keep_bytes", Kind: KindSize, Default: int64(2 * gib), Max: 16 * tib,
			Description: "Most disk in the data directory for what was extracted, kept so that after an edit only the chunks that changed are extracted again. 0 keeps nothing."},
		{Name: "models.engine", Kind: KindText, Default: EngineONNXRuntime, Allowed: []string{EngineONNXRuntime, EngineHugot},
			Description: "What runs models. hugot needs no native library, is several times slower and runs no GLiNER model."},
		{Name: "models.runtime", Kind: KindPath, Default: "", DefaultNote: "looked up in the dependencies' folder",
			Description: "ONNX Runtime's library, libonnxruntime.so 1.26.0."},
		{Name: "models.threads", Kind: KindInt, Default: 0, Min: 0, Max: 256, DefaultNote: "1",
			Description: "Threads of one call of a model. Calls side by side (jobs) use the cores better."},
		{Name: "embedder.kind", Kind: KindText, Default: EmbedderONNX, Allowed: []string{EmbedderONNX, EmbedderHash, EmbedderOpenAI}, Flag: "embedder",
			Description: "What turns text into vectors. openai sends every text to the server of llm.openai; hash knows no meaning: for tests and benchmarks."},
		{Name: "embedder.model_dir", Kind: KindPath, Default: "", Flag: "embedder-dir", DefaultNote: "the model that comes with the program",
			Description: "Folder of a sentence embedding model: model.onnx, tokenizer.json, config.json."},
		{Name: "embedder.model", Kind: KindText, Default: "", Flag: "embedder-model", DefaultNote: "none", rule: "a model's name, such as text-embedding-3-small",
			Description: "Name of the model at the server, for embedder.kind openai; PROVIDER/NAME for one of azure or ollama."},
		{Name: "embedder.dimension", Kind: KindInt, Default: 0, Min: 0, Max: 4096, DefaultNote: "the model's own; hash: 384",
			Description: "Length of a vector. An onnx model has its own, and another number is an error; a model text-embedding-3 is asked for that many."},
		{Name: "embedder.send_dimensions", Kind: KindBool, Default: false,
			Description: "Ask the server for embedder.dimension also where the model's name does not begin with text-embedding-3, as a deployment's at Azure."},
		{Name: "embedder.batch", Kind: KindInt, Default: 128, Min: 1, Max: 2048,
			Description: "Most texts of one call to the server, for embedder.kind openai."},
		{Name: "embedder.window", Kind: KindInt, Default: 0, Min: 0, Max: 1_000_000, DefaultNote: "6000; 1400 for a server of your own",
			Description: "Longest text that is sent to the server, in estimated tokens, for embedder.kind openai; a longer one is the mean of its windows."},
	}
}

func runKeys() []Key {
	return []Key{
		{Name: "commit.max_rows", Kind: KindInt, Default: 0, Min: 0, Max: 100_000, DefaultNote: "500; 5000 while a graph is first built",
			Description: "Most rows one transaction writes, while every reader waits; a document with more is staged first."},
		{Name: "commit.max_documents", Kind: KindInt, Default: 0, Min: 0, Max: 1000, DefaultNote: "32; 320 while a graph is first built",
			Description: "Most small documents that share a transaction."},
		{Name: "limits.run_time", Kind: KindDuration, Default: time.Duration(0), Max: float64(30 * day), Flag: "run-time", DefaultNote: "no limit",
			Description: "How long a run may take; then it stops between two documents with exit code 4, and can be resumed."},
		{Name: "limits.max_cost", Kind: KindNumber, Default: 0.0, Max: 1_000_000, Flag: "max-cost", DefaultNote: "no limit",
			Description: "What a run may pay for language models and remote embedders, in the currency of the price table; where the next call could go beyond, it stops between two documents with exit code 4."},
		{Name: "limits.max_calls", Kind: KindInt, Default: 0, Min: 0, Max: 1_000_000_000, Flag: "max-calls", DefaultNote: "no limit",
			Description: "Most calls of language models and remote embedders in a run, retries counted."},
		{Name: "limits.max_tokens", Kind: KindInt, Default: 0, Min: 0, Max: 1_000_000_000_000, Flag: "max-tokens", DefaultNote: "no limit",
			Description: "Most tokens of language models and remote embedders in a run, questions and answers."},
		{Name: "limits.file_max_cost", Kind: KindNumber, Default: 0.0, Max: 1_000_000, Flag: "file-max-cost", DefaultNote: "no limit",
			Description: "What one file may cost; a file that would cost more fails, and the run goes on."},
		{Name: "limits.file_max_calls", Kind: KindInt, Default: 0, Min: 0, Max: 1_000_000_000, Flag: "file-max-calls", DefaultNote: "no limit",
			Description: "Most calls for one file."},
		{Name: "limits.file_max_tokens", Kind: KindInt, Default: 0, Min: 0, Max: 1_000_000_000_000, Flag: "file-max-tokens", DefaultNote: "no limit",
			Description: "Most tokens for one file."},
	}
}

// The strategies by name. Package configs imports none of them, so that a
// reader of the graph does not; a test compares.
var (
	chunkerNames   = []string{"contextual", "fixed", "sentence", "structural"}
	extractorNames = []string{"gliner", "llm", "pattern", "verify"}
	resolverNames  = []string{"exact", "llm_verified", "similar"}
)

// RuleParameters are the chunker's numbers that a rule may set.
func RuleParameters() []string {
	return []string{"chunk_tokens", "chunk_chars", "overlap_tokens", "overlap_chars", "overlap_sentences", "context_tokens"}
}
