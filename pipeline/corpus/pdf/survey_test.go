package pdf

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"graphmill/pipeline/corpus"
)

func TestSurvey(t *testing.T) {
	dir := os.Getenv("PDFSET")
	if dir == "" {
		t.Skip()
	}
	p := New(Options{CacheDir: "/tmp/wzc"})
	defer p.Close()
	files, _ := filepath.Glob(dir + "/*.pdf")
	for _, f := range files {
		data, _ := os.ReadFile(f)
		t0 := time.Now()
		doc, err := p.Parse(context.Background(), corpus.File{Path: filepath.Base(f), Format: corpus.PDF}, data, corpus.Limits{})
		took := time.Since(t0)
		if err != nil {
			fmt.Println(filepath.Base(f), err)
			continue
		}
		out, _ := exec.Command("pdftotext", f, "-").Output()
		theirs, ours := wordsIn(string(out)), wordsIn(doc.Text)
		heads := 0
		for _, b := range doc.Blocks {
			if b.Kind == corpus.Heading {
				heads++
			}
		}
		shared := overlap(theirs, ours)
		os.WriteFile("/tmp/pdfout/"+filepath.Base(f)+".txt", []byte(doc.Text), 0o644)
		var ms runtime.MemStats
		runtime.ReadMemStats(&ms)
		fmt.Printf("%-26s pages %4d %6.2fs %5.0f p/s words %6d/%6d recall %.4f precision %.4f pairs %.4f heads %d blocks %d sys %dM notes %q title %q date %s\n", filepath.Base(f), len(doc.Pages), took.Seconds(), float64(len(doc.Pages))/took.Seconds(), len(ours), len(theirs), float64(shared)/float64(len(theirs)), float64(shared)/float64(len(ours)), agreement(pairs(theirs), pairs(ours)), heads, len(doc.Blocks), ms.Sys>>20, doc.Notes, doc.Title, doc.Date)
	}
}
