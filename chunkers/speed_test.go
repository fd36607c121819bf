package chunkers

import (
	"strings"
	"testing"

	"graphmill/pipeline/corpus"
)

const english = "The committee met in Geneva on 12 March 1998, and Dr. Smith of Acme Inc. presented version 3.2 of the report. " +
	"Nobody objected; the U.S. delegation asked for more time, e.g. two weeks, to read its 400 pages. "

// oneLine is 10 MB without a line break.
func oneLine(sample string) *corpus.Document {
	return &corpus.Document{Text: strings.Repeat(sample, 10<<20/len(sample))}
}

func BenchmarkChunk(b *testing.B) {
	documents := map[string]*corpus.Document{
		"english":  oneLine(english),
		"russian":  oneLine("Комитет собрался в Женеве 12 марта 1998 г. и заслушал доклад проф. Иванова. Возражений не было. "),
		"chinese":  oneLine("委员会于一九九八年三月在日内瓦开会，史密斯博士介绍了报告。没有人反对。"),
		"unbroken": oneLine("x"),
		"marks":    oneLine("\u0301"),
		"stops":    oneLine("a. "),
	}
	for _, name := range []string{"fixed", "sentence", "structural"} {
		for kind, document := range documents {
			b.Run(name+"/"+kind, func(b *testing.B) {
				chunker, err := New(name, nil)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(document.Text)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := chunker.Chunk(document); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
