package pdf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// wasmPage is the WebAssembly page size in bytes.
const wasmPage = 64 << 10

// engine owns the WebAssembly runtime. It starts with the first file and lends
// one fresh instance a file, so that no file sees what another left behind.
type engine struct {
	options Options
	slots   chan struct{} // as many as instances may live at once

	making   sync.Mutex // so that an instance's memory is known
	memories memories

	mu     sync.Mutex
	pool   pdfium.Pool
	cache  wazero.CompilationCache
	note   string
	closed bool
}

var (
	errClosed = errors.New("the PDF parser is closed")
	// errStart is no fault of the file that happened to be first.
	errStart = errors.New("start PDF engine")
)

func newEngine(options Options) *engine {
	return &engine{options: options, slots: make(chan struct{}, options.Instances)}
}

// lend waits for a free slot and calls use with a fresh instance. When ctx is
// done while use runs, the instance is killed, which makes the call that is
// under way return with an error. A panic in use becomes an error.
func (e *engine) lend(ctx context.Context, use func(pdfium.Pdfium) error) error {
	select {
	case e.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-e.slots }()
	pool, err := e.start(ctx)
	if err != nil {
		return err
	}
	instance, claimed, err := e.instance(ctx, pool)
	// By then the instance is killed and its code has returned.
	defer release(claimed)
	if err != nil {
		return fmt.Errorf("%w instance: %w", errStart, err)
	}
	killed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(killed)
		_ = instance.Kill()
	})
	err = callSafely(instance, use)
	if !stop() {
		<-killed
		return errors.Join(ctx.Err(), err)
	}
	// The library's Close walks its own state, which a trap may have left torn;
	// Kill only drops the instance.
	if kill := instance.Kill(); kill != nil && err == nil {
		return fmt.Errorf("stop PDF engine instance: %w", kill)
	}
	return err
}

// instance makes an instance and says which memory is its own.
func (e *engine) instance(ctx context.Context, pool pdfium.Pool) (pdfium.Pdfium, []*memory, error) {
	e.making.Lock()
	defer e.making.Unlock()
	instance, err := pool.GetInstanceWithContext(ctx)
	return instance, e.memories.claim(), err
}

func callSafely(instance pdfium.Pdfium, use func(pdfium.Pdfium) error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("PDF engine: %v", cause)
		}
	}()
	return use(instance)
}

// start gets the engine once; a failed start is tried again by the next file.
func (e *engine) start(ctx context.Context) (pdfium.Pool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errClosed
	}
	if e.pool != nil {
		return e.pool, nil
	}
	pool, err := e.open(ctx)
	if err != nil {
		return nil, err
	}
	e.pool = pool
	return pool, nil
}

// open loads the engine from its cache, or compiles it here: the cache saves time
// and memory, and nothing that is wrong with it is a reason to read no PDF.
func (e *engine) open(ctx context.Context) (pdfium.Pool, error) {
	if e.options.CacheDir != "" {
		pool, err := e.openCached(ctx)
		if err == nil {
			return pool, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e.note = fmt.Sprintf("the PDF engine was compiled for this run alone: cache %s: %s; keeping it takes a directory that can be written to, 22 MB of disk and 400 MB of memory", e.options.CacheDir, brief(err))
	}
	return e.load(nil)
}

// takeNote gives what an operator should know of the start, once.
func (e *engine) takeNote() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	note := e.note
	e.note = ""
	return note
}

// load makes the engine from a cache, which is filled if it is empty and may be nil.
func (e *engine) load(cache wazero.CompilationCache) (pdfium.Pool, error) {
	config := wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling).
		WithMemoryLimitPages(uint32(e.options.MemoryBytes / wasmPage)).
		// Without it a file that hangs could not be stopped. It costs about
		// three times the engine's time a page, which extraction still dwarfs.
		WithCloseOnContextDone(true)
	if cache != nil {
		config = config.WithCompilationCache(cache)
	}
	pool, err := webassembly.Init(webassembly.Config{
		Context:       experimental.WithMemoryAllocator(context.Background(), &e.memories),
		MaxIdle:       0,
		MaxTotal:      e.options.Instances,
		FSConfig:      wazero.NewFSConfig(), // nothing mounted
		RuntimeConfig: config,
		Stdout:        io.Discard,
		Stderr:        io.Discard,
		RandomSource:  zeroes{},
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errStart, err)
	}
	return pool, nil
}

func (e *engine) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	var err error
	if e.pool != nil {
		err = e.pool.Close()
	}
	if e.cache != nil {
		err = errors.Join(err, e.cache.Close(context.Background()))
	}
	return err
}

// zeroes is the engine's source of randomness: the same file gives the same
// text.
type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
