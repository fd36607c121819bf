package models

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	ort "github.com/yalue/onnxruntime_go"
)

// The library is the judge of what a model takes and gives.
func TestNamesOfAModelAreTheLibrarys(t *testing.T) {
	for _, name := range []string{"minilm", "gliner-minilm-en"} {
		file := filepath.Join("..", "..", "models", name, "model.onnx")
		inputs, outputs, err := onnxNames(file)
		if err != nil {
			t.Fatal(err)
		}
		ins, outs, err := ort.GetInputOutputInfo(file)
		if err != nil {
			t.Fatal(err)
		}
		names := func(infos []ort.InputOutputInfo) (names []string) {
			for _, info := range infos {
				names = append(names, info.Name)
			}
			return names
		}
		if !reflect.DeepEqual(inputs, names(ins)) || !reflect.DeepEqual(outputs, names(outs)) {
			t.Errorf("%s: %v → %v, the library says %v → %v", name, inputs, outputs, names(ins), names(outs))
		}
	}
	for name, content := range map[string]string{"empty": "", "text": "no model at all", "cut": "\x3a\xff\xff\x7f"} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if inputs, _, err := onnxNames(file); err == nil {
			t.Errorf("%s: %v", name, inputs)
		}
	}
}
