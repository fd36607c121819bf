# graphmill. `make demo` builds everything and answers a question about examples/corpus; `make test` is what CI runs.
# Needs Linux on x86-64 (glibc 2.35 or newer), Go 1.26, gcc, Python 3 with pip. Everything else is fetched into .deps/.

GO ?= go
# Both programs open libonnxruntime.so at run time, which takes cgo.
export CGO_ENABLED = 1

# The demo keeps its graph here, away from the user's own (~/.local/share/graphmill).
DEMO_DATA ?= $(CURDIR)/.demo
DEMO_CORPUS ?= examples/corpus
DEMO_CONFIG ?= examples/graphmill.yaml
DEMO_QUESTION ?= Who founded Debian, and when?

TEST_TIMEOUT ?= 20m
SOAK_TIME ?= 10m
FUZZ_TIME ?= 1m
BENCH ?= .
BENCH_CORPUS ?= examples/corpus
# Where make install puts things, and what it takes. DESTDIR stands before PREFIX, for packages.
PREFIX ?= /usr/local
BIN ?= bin
DEPS ?= .deps
# A folder to measure both programs on; without one, they are only tried.
INTEROP_CORPUS ?=

.DEFAULT_GOAL := help
.PHONY: help deps clients llm build install test test-race check fmt demo soak bench interop clean distclean tools

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name what; do printf '%-18s %s\n' "$$name" "$$what"; done

tools:
	@command -v $(GO) >/dev/null || { echo "make: Go is not installed; next: get 1.26 or newer from https://go.dev/dl/ and put it on the PATH" >&2; exit 1; }
	@command -v "$$($(GO) env CC | cut -d' ' -f1)" >/dev/null || { echo "make: no C compiler ($$($(GO) env CC)), which cgo needs; next: apt-get install gcc libc6-dev" >&2; exit 1; }
	@command -v python3 >/dev/null || { echo "make: Python 3 is not installed, which fetches the engine; next: apt-get install python3 python3-pip" >&2; exit 1; }

deps: tools ## fetch the graph engine and ONNX Runtime into .deps/ (nothing when they are there)
	@scripts/fetch-deps

build: tools ## build bin/ingestd and bin/queryd
	$(GO) build -o bin/ ./ingestd ./queryd

# The programs look for .deps and models beside the folder they really lie in: links to them may stand anywhere. Nothing is
# built or fetched here, so that root needs no Go.
install: ## put programs, engine and models under PREFIX (/usr/local), after make deps build
	@for file in $(BIN)/ingestd $(BIN)/queryd $(DEPS)/engine/redis-server $(DEPS)/engine/falkordb.so $(DEPS)/onnxruntime; do \
	  [ -e "$$file" ] || { echo "make: $$file is not there; next: make deps build, then make install" >&2; exit 1; }; done
	@set -e; home="$(DESTDIR)$(PREFIX)/lib/graphmill"; \
	install -d "$$home/bin" "$$home/.deps/engine" "$$home/.deps/onnxruntime" "$(DESTDIR)$(PREFIX)/bin"; \
	install -m 755 $(BIN)/ingestd $(BIN)/queryd "$$home/bin"; \
	install -m 755 $(DEPS)/engine/redis-server $(DEPS)/engine/falkordb.so "$$home/.deps/engine"; \
	install -m 755 $(DEPS)/onnxruntime/* "$$home/.deps/onnxruntime"; \
	for model in models/*/; do install -d "$$home/$$model"; install -m 644 "$$model"* "$$home/$$model"; done; \
	install -m 644 LICENSE NOTICE "$$home"; \
	for name in ingestd queryd; do ln -sfn "../lib/graphmill/bin/$$name" "$(DESTDIR)$(PREFIX)/bin/$$name"; done; \
	echo "ingestd and queryd are in $(PREFIX)/bin, what they need in $(PREFIX)/lib/graphmill"

check: tools ## formatting and go vet
	@unformatted="$$("$$($(GO) env GOROOT)/bin/gofmt" -l $$(git ls-files --cached --others --exclude-standard '*.go'))"; \
	if [ -n "$$unformatted" ]; then echo "make: not formatted:" $$unformatted "; next: make fmt" >&2; exit 1; fi
	$(GO) vet ./...

clients: tools ## install the MCP clients that the tests use into .deps/ (nothing when they are there)
	-@scripts/fetch-clients

llm: tools ## install the small language model that the tests ask into .deps/ (nothing when it is there)
	-@scripts/fetch-llm

test: deps clients llm check ## everything CI runs: checks, all tests, and the short ones again under the race detector
	$(GO) test -timeout $(TEST_TIMEOUT) ./...
	$(GO) test -race -short -timeout $(TEST_TIMEOUT) ./...

test-race: deps ## all tests under the race detector
	$(GO) test -race -timeout 30m ./...

fmt: tools ## format the code
	"$$($(GO) env GOROOT)/bin/gofmt" -w $$(git ls-files --cached --others --exclude-standard '*.go')

demo: export GRAPHMILL_DATA_DIR = $(DEMO_DATA)
demo: export DEMO_QUESTION := $(DEMO_QUESTION)
demo: deps build ## build, ingest examples/corpus, and answer a question about it
	bin/ingestd run --root $(DEMO_CORPUS) --config $(DEMO_CONFIG)
	@echo
	bin/queryd call retrieve "$$(python3 -c 'import json, os; print(json.dumps({"question": os.environ["DEMO_QUESTION"]}))')"

soak: deps ## the long tests: kill -9 again and again for SOAK_TIME, then every fuzz target for FUZZ_TIME
	GRAPHMILL_SOAK=$(SOAK_TIME) $(GO) test -run Soak -count 1 -timeout 2h ./...
	scripts/fuzz $(FUZZ_TIME)

bench: export BENCH_CORPUS := $(BENCH_CORPUS)
bench: export BENCH := $(BENCH)
bench: deps ## measure ingestion of BENCH_CORPUS, and retrieval, against their limits; BENCH chooses sections
	$(GO) run ./bench

interop: export INTEROP_CORPUS := $(INTEROP_CORPUS)
interop: deps build ## graphrag-sdk on our graph, queryd on its (installs it: 5.7 GB in the cache folder); INTEROP_CORPUS measures both
	python3 scripts/interop/interop

clean: ## remove what was built
	rm -rf bin coverage.out

distclean: clean ## also remove what was fetched, and the demo's graph
	@if [ -d $(DEMO_DATA)/engine ]; then GRAPHMILL_DATA_DIR=$(DEMO_DATA) $(GO) run ./ingestd db stop; fi
	rm -rf .deps $(DEMO_DATA)
