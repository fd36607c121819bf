package chunkers

import (
	"path/filepath"
	"strings"
	"testing"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/corpus/corpustest"
	"graphmill/pipeline/corpus/htmldoc"
	"graphmill/pipeline/corpus/plaintext"
	"graphmill/pipeline/graph"
)

// Translated manuals, from the file to its sentences: the .sentences files hold
// one a line, with line breaks in them shown as "⏎".
func TestLanguages(t *testing.T) {
	for _, path := range corpustest.Files(t, "../testdata/formats/languages") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			var parser corpus.Parser = htmldoc.Parser{}
			if filepath.Ext(path) == ".txt" {
				parser = plaintext.Parser{}
			}
			document := corpustest.Load(t, parser, path)
			var shown strings.Builder
			for _, r := range DocumentSentences(document) {
				shown.WriteString(strings.ReplaceAll(document.Text[r.Start:r.End], "\n", "⏎") + "\n")
			}
			corpustest.Compare(t, path+".sentences", shown.String())
			checkSentences(t, document.Text, DocumentSentences(document))
			for _, strategy := range Catalogue() {
				mustChunk(t, strategy.Name, nil, document)
				checkNames(t, filepath.Base(path), mustChunk(t, strategy.Name, Params{ChunkTokens: 64}, document))
			}
		})
	}
}

// names are some that the manuals hold, and their keys.
var names = map[string]map[string]string{
	"de-handbook.html": {
		"Red Hat Enterprise Linux": "red hat enterprise linux", "SUSE Software Solutions Germany GmbH": "suse software solutions germany gmbh",
		"Canonical Ltd.": "canonical ltd.", "Raphaël": "raphaël", "Apache Software Foundation": "apache software foundation",
	},
	"fr-handbook.html": {"Bruce Schneier": "bruce schneier", "Définir une politique de sécurité": "définir une politique de sécurité"},
	"ja-handbook.html": {"Debian デスクトップ環境": "debian デスクトップ環境", "パッケージ管理ツール": "パッケージ管理ツール"},
	"zh-handbook.html": {"Bruce Schneier": "bruce schneier", "安全策略": "安全策略"},
	"ar-handbook.html": {"سام هارتمان": "سام هارتمان", "محطة الفضاء الدولية": "محطة الفضاء الدولية"},
	"ru-handbook.html": {"Falcot Corp": "falcot corp", "Сент-Этьен": "сент-этьен", "Монпелье": "монпелье"},
}

// checkNames checks that names stand whole in a passage, and that their keys are
// those of the names as people write them.
func checkNames(t *testing.T, file string, chunks []Chunk) {
	t.Helper()
	for name, key := range names[file] {
		found := false
		for _, chunk := range chunks {
			if at := strings.Index(chunk.Text, name); at >= 0 && !found {
				found = true
				if got := graph.NameKey(chunk.Text[at : at+len(name)]); got != key {
					t.Errorf("the key of %s is %q", name, got)
				}
			}
		}
		if !found {
			t.Errorf("%s is in no passage", name)
		}
	}
}
