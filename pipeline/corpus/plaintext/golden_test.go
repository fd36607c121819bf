package plaintext

import (
	"testing"

	"graphmill/pipeline/corpus/corpustest"
)

func TestRealFiles(t *testing.T) {
	corpustest.Golden(t, Parser{}, "../../../testdata/formats/text")
}
