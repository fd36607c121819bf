package pdf

import (
	"testing"

	"graphmill/pipeline/corpus/corpustest"
)

func TestRealFiles(t *testing.T) {
	corpustest.Golden(t, shared, "../../../testdata/formats/pdf")
}
