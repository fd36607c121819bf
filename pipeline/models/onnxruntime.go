//go:build cgo

package models

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	ort "github.com/yalue/onnxruntime_go"
)

// onnxRuntime is the default engine: ONNX Runtime's shared library, opened at
// run time.
type onnxRuntime struct {
	mu     sync.Mutex
	open   int
	closed bool
}

// NewONNXRuntime opens the library at path (see [FindLibrary]). The library
// allows one environment a process, so a second engine is refused until the
// first is closed.
func NewONNXRuntime(library string) (Engine, error) {
	if ort.IsInitialized() {
		return nil, errors.New("open ONNX Runtime: it is already open in this process; close that engine or share it")
	}
	ort.SetSharedLibraryPath(library)
	if err := ort.InitializeEnvironment(ort.WithLogLevelError()); err != nil {
		if ort.IsInitialized() {
			err = errors.Join(err, ort.DestroyEnvironment())
		}
		return nil, fmt.Errorf("open ONNX Runtime %s: %w; version %s for this machine is needed, `make deps` fetches it", library, err, RuntimeVersion)
	}
	return &onnxRuntime{}, nil
}

func (e *onnxRuntime) Name() string { return DefaultEngine }

// Close unloads the library. Its sessions must be closed before.
func (e *onnxRuntime) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	if e.open > 0 {
		return fmt.Errorf("close ONNX Runtime: %d sessions are still open", e.open)
	}
	e.closed = true
	if err := ort.DestroyEnvironment(); err != nil {
		return fmt.Errorf("close ONNX Runtime: %w", err)
	}
	return nil
}

func (e *onnxRuntime) Load(modelFile string, options SessionOptions) (Session, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, fmt.Errorf("load model %s: ONNX Runtime is closed", modelFile)
	}
	if !isFile(modelFile) {
		return nil, fmt.Errorf("load model %s: no such file; a model folder holds model.onnx and tokenizer.json", modelFile)
	}
	session, err := loadONNXSession(modelFile, options)
	if err != nil {
		return nil, fmt.Errorf("load model %s: %w", modelFile, err)
	}
	e.open++
	session.engine = e
	return session, nil
}

func loadONNXSession(modelFile string, options SessionOptions) (*onnxSession, error) {
	settings, err := ONNXSessionSettings(options)
	if err != nil {
		return nil, err
	}
	defer settings.Destroy()
	s := &onnxSession{}
	if s.inputs, s.outputs, err = onnxNames(modelFile); err != nil {
		return nil, err
	}
	s.session, err = ort.NewDynamicAdvancedSession(modelFile, s.inputs, s.outputs, settings)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// WrapONNXSession makes a [Session] of one that another package has loaded with
// the same library. Closing it destroys the session; the caller sees to it that
// this happens before the engine is closed.
func WrapONNXSession(session *ort.DynamicAdvancedSession, inputs, outputs []string) Session {
	return &onnxSession{session: session, inputs: inputs, outputs: outputs}
}

// ONNXSessionSettings are the library's own form of options; the caller destroys
// them.
func ONNXSessionSettings(options SessionOptions) (*ort.SessionOptions, error) {
	settings, err := ort.NewSessionOptions()
	if err != nil {
		return nil, err
	}
	threads := max(options.IntraOpThreads, 1)
	err = errors.Join(
		settings.SetIntraOpNumThreads(threads),
		settings.SetInterOpNumThreads(1),
		settings.SetExecutionMode(ort.ExecutionModeSequential),
		settings.SetCpuMemArena(!options.NoArena),
		// A memory pattern plans one input shape; lengths differ call by call.
		settings.SetMemPattern(false),
		// A thread that waits must not burn the core that another call needs.
		settings.AddSessionConfigEntry("session.intra_op.allow_spinning", "0"),
		// Without VNNI the fast integer product of x86 saturates: another machine's
		// results, and worse ones. This takes the exact product there, which costs a
		// sixth of the speed, and changes nothing where there is VNNI.
		settings.AddSessionConfigEntry("session.x64quantprecision", "1"),
	)
	if err != nil {
		return nil, errors.Join(err, settings.Destroy())
	}
	return settings, nil
}

type onnxSession struct {
	engine          *onnxRuntime // nil for a wrapped one
	inputs, outputs []string
	mu              sync.RWMutex // Run reads, Close writes
	session         *ort.DynamicAdvancedSession
}

func (s *onnxSession) Inputs() []string  { return slices.Clone(s.inputs) }
func (s *onnxSession) Outputs() []string { return slices.Clone(s.outputs) }

func (s *onnxSession) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == nil {
		return nil
	}
	err := s.session.Destroy()
	s.session = nil
	if s.engine != nil {
		s.engine.mu.Lock()
		s.engine.open--
		s.engine.mu.Unlock()
	}
	return err
}

// Run computes the model once. A context that ends during the call stops it at
// the next node of the graph.
func (s *onnxSession) Run(ctx context.Context, inputs map[string]Tensor) (map[string]Tensor, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.session == nil {
		return nil, errors.New("run model: session is closed")
	}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	values := make([]ort.Value, 0, len(s.inputs))
	defer func() { destroyAll(values) }()
	for _, name := range s.inputs {
		tensor, ok := inputs[name]
		if !ok {
			return nil, fmt.Errorf("run model: input %q is missing; the model wants %s", name, strings.Join(s.inputs, ", "))
		}
		value, err := toValue(tensor, &pinner)
		if err != nil {
			return nil, fmt.Errorf("run model: input %q: %w", name, err)
		}
		values = append(values, value)
	}
	results := make([]ort.Value, len(s.outputs))
	defer func() { destroyAll(results) }()
	if err := s.run(ctx, values, results); err != nil {
		return nil, err
	}
	outputs := make(map[string]Tensor, len(results))
	for i, result := range results {
		tensor, err := fromValue(result)
		if err != nil {
			return nil, fmt.Errorf("run model: output %q: %w", s.outputs[i], err)
		}
		outputs[s.outputs[i]] = tensor
	}
	return outputs, nil
}

func (s *onnxSession) run(ctx context.Context, values, results []ort.Value) error {
	options, err := ort.NewRunOptions()
	if err != nil {
		return fmt.Errorf("run model: %w", err)
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		options.Terminate()
	})
	err = s.session.RunWithOptions(values, results, options)
	if !stop() {
		<-done // the options are in use until then
	}
	destroyErr := options.Destroy()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err = errors.Join(err, destroyErr); err != nil {
		return fmt.Errorf("run model: %w", err)
	}
	return nil
}

func destroyAll(values []ort.Value) {
	for _, v := range values {
		if v != nil {
			v.Destroy()
		}
	}
}

// toValue hands a tensor's memory to the library, pinned while it reads it.
func toValue(t Tensor, pinner *runtime.Pinner) (ort.Value, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	shape := ort.NewShape(t.Shape...)
	switch {
	case len(t.Int64) > 0:
		pinner.Pin(&t.Int64[0])
		return ort.NewTensor(shape, t.Int64)
	case len(t.Float32) > 0:
		pinner.Pin(&t.Float32[0])
		return ort.NewTensor(shape, t.Float32)
	default:
		pinner.Pin(&t.Bool[0])
		return ort.NewTensor(shape, t.Bool)
	}
}

// fromValue copies a result out of the library's memory.
func fromValue(v ort.Value) (Tensor, error) {
	switch v := v.(type) {
	case *ort.Tensor[float32]:
		return Tensor{Shape: v.GetShape(), Float32: slices.Clone(v.GetData())}, nil
	case *ort.Tensor[int64]:
		return Tensor{Shape: v.GetShape(), Int64: slices.Clone(v.GetData())}, nil
	case *ort.Tensor[bool]:
		return Tensor{Shape: v.GetShape(), Bool: slices.Clone(v.GetData())}, nil
	}
	return Tensor{}, fmt.Errorf("element type of %T is not supported (float32, int64 and bool are)", v)
}
