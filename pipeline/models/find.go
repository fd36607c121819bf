package models

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Places says where native libraries and model folders may lie.
type Places struct {
	// DepsDir is what GRAPHMILL_DEPS_DIR names; "" if nothing.
	DepsDir string
	// DataDir is the data directory; its deps and models folders are looked in.
	DataDir string
	// Executable is the running program; "" asks the system.
	Executable string
	// WorkDir is where the walk upwards begins; "" is the working directory.
	WorkDir string
}

// libraryName is the file name of ONNX Runtime's shared library.
func libraryName() string {
	if runtime.GOOS == "darwin" {
		return "libonnxruntime.dylib"
	}
	return "libonnxruntime.so"
}

// FindLibrary returns the absolute path of ONNX Runtime's shared library:
// configured if it is set, else the first that exists of DepsDir, .deps beside
// the executable's folder, the data directory's deps, and .deps here or in any
// folder above.
func FindLibrary(configured string, places Places) (string, error) {
	if configured != "" {
		path, err := filepath.Abs(configured)
		if err == nil {
			_, err = os.Stat(path)
		}
		if err != nil {
			return "", fmt.Errorf("find ONNX Runtime: models.runtime names %s: %w", configured, err)
		}
		return path, nil
	}
	relative := filepath.Join("onnxruntime", libraryName())
	var tried []string
	for _, dir := range places.depsDirs() {
		path := filepath.Join(dir, relative)
		if isFile(path) {
			return filepath.Abs(path)
		}
		tried = append(tried, path)
	}
	return "", fmt.Errorf("find ONNX Runtime: no %s in %s; run `make deps`, or set models.runtime to the file (version %s), or models.engine to hugot for embeddings without it",
		libraryName(), strings.Join(tried, ", "), RuntimeVersion)
}

// FindModel returns the folder of a model. A name that is a path, or a folder
// that exists, is taken as it stands; else the folder models is looked for
// beside the executable's folder, in the data directory, and here or in any
// folder above.
func FindModel(name string, places Places) (string, error) {
	if isDir(name) {
		return filepath.Abs(name)
	}
	var tried []string
	if !strings.ContainsAny(name, `/\`) && name != "" {
		for _, dir := range places.modelDirs() {
			path := filepath.Join(dir, name)
			if isDir(path) {
				return filepath.Abs(path)
			}
			tried = append(tried, path)
		}
	}
	return "", fmt.Errorf("find model %q: no such folder (looked in %s); give the path of a folder with model.onnx and tokenizer.json "+
		"(--embedder-dir, embedder.model_dir; --model-dir, extractors.gliner.model_dir), or do not copy the program alone: `make install` lays out the models too, and a link to the program in bin/ works",
		name, strings.Join(append(tried, name), ", "))
}

func (p Places) depsDirs() []string {
	var dirs []string
	if p.DepsDir != "" {
		dirs = append(dirs, p.DepsDir)
	}
	if home := p.home(); home != "" {
		dirs = append(dirs, filepath.Join(home, ".deps"))
	}
	if p.DataDir != "" {
		dirs = append(dirs, filepath.Join(p.DataDir, "deps"))
	}
	return once(append(dirs, p.upwards(".deps")...))
}

func (p Places) modelDirs() []string {
	var dirs []string
	if home := p.home(); home != "" {
		dirs = append(dirs, filepath.Join(home, "models"))
	}
	if p.DataDir != "" {
		dirs = append(dirs, filepath.Join(p.DataDir, "models"))
	}
	return once(append(dirs, p.upwards("models")...))
}

// once leaves out what was named before.
func once(dirs []string) []string {
	var found []string
	for _, dir := range dirs {
		if dir = filepath.Clean(dir); !slices.Contains(found, dir) {
			found = append(found, dir)
		}
	}
	return found
}

// home is the folder above the executable's, links resolved.
func (p Places) home() string {
	path := p.Executable
	if path == "" {
		var err error
		if path, err = os.Executable(); err != nil {
			return ""
		}
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	return filepath.Dir(filepath.Dir(path))
}

func (p Places) upwards(name string) []string {
	dir := p.WorkDir
	if dir == "" {
		var err error
		if dir, err = os.Getwd(); err != nil {
			return nil
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	var dirs []string
	for {
		dirs = append(dirs, filepath.Join(dir, name))
		parent := filepath.Dir(dir)
		if parent == dir {
			return dirs
		}
		dir = parent
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
