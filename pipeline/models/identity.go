package models

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// files of a model folder whose bytes decide what the model answers, in the
// order in which they are hashed. Those that are missing are left out.
var identityFiles = []string{
	"model.onnx", "model.onnx_data", "tokenizer.json", "gliner_config.json", "graphmill.json",
	"sentence_bert_config.json", filepath.Join("1_Pooling", "config.json"),
}

// quantizedMark begins the names of the operators that choose a range of
// activations anew for each batch (DynamicQuantizeLinear, -MatMul, -LSTM).
var quantizedMark = []byte("DynamicQuantize")

// folder is what a look at a model folder's bytes tells.
type folder struct {
	hash string // SHA-256 over identityFiles, hexadecimal
	// dynamic is true when the model quantises activations by the batch: then
	// its numbers depend on what else is in the batch.
	dynamic bool
}

func inspectFolder(dir string) (folder, error) {
	sum := sha256.New()
	var found folder
	for _, name := range identityFiles {
		file, err := os.Open(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return folder{}, fmt.Errorf("read model %s: %w", dir, err)
		}
		fmt.Fprintf(sum, "%s\n", filepath.ToSlash(name))
		marked, err := copyAndFind(sum, file, quantizedMark)
		file.Close()
		if err != nil {
			return folder{}, fmt.Errorf("read model %s: %w", filepath.Join(dir, name), err)
		}
		if name == "model.onnx" {
			found.dynamic = marked
		}
	}
	found.hash = hex.EncodeToString(sum.Sum(nil))
	return found, nil
}

// identity is how a model is named in fingerprints and in the graph.
func (f folder) identity(name string) string { return name + "@" + f.hash[:12] }

// copyAndFind copies r to w and reports whether mark occurs in it.
func copyAndFind(w io.Writer, r io.Reader, mark []byte) (bool, error) {
	const keep = 64 // at least len(mark)-1, so that a mark across two reads is seen
	buf := make([]byte, keep+1<<20)
	held, found := 0, false
	for {
		n, err := r.Read(buf[held:])
		w.Write(buf[held : held+n])
		held += n
		found = found || bytes.Contains(buf[:held], mark)
		if held > keep {
			held = copy(buf, buf[held-keep:held])
		}
		if err == io.EOF {
			return found, nil
		}
		if err != nil {
			return false, err
		}
	}
}
