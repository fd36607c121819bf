package corpus

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// mute is a store that takes requests and never answers.
type mute struct{}

func (mute) Page(ctx context.Context, _, _ string, _ int) ([]Object, string, error) {
	<-ctx.Done()
	return nil, "", ctx.Err()
}

func (mute) Open(ctx context.Context, _ Object, _, _ int64) (Content, error) {
	<-ctx.Done()
	return Content{}, ctx.Err()
}

func (mute) Close() error { return nil }

func TestAStoreThatDoesNotAnswerIsGivenUp(t *testing.T) {
	b, err := NewBucket(mute{}, "docs", "s3://silent/docs", Options{})
	if err != nil {
		t.Fatal(err)
	}
	b.patience = 10 * time.Millisecond
	for _, err := range b.List(t.Context()) {
		if !errors.Is(err, ErrSilent) || !strings.Contains(err.Error(), "s3://silent/docs") || !strings.Contains(err.Error(), "check the endpoint") {
			t.Errorf("list: %v", err)
		}
	}
	if _, _, err := b.Read(t.Context(), File{Path: "a.txt"}); !errors.Is(err, ErrSilent) || !errors.Is(err, ErrRead) {
		t.Errorf("read: %v", err)
	}
	if !b.Exists("a.txt") {
		t.Error("what no answer was given about was taken for gone")
	}
}

// short is a store whose objects end before their size.
type short struct{ mute }

func (short) Open(context.Context, Object, int64, int64) (Content, error) {
	return Content{ReadCloser: io.NopCloser(strings.NewReader("half")), Size: 8}, nil
}

func TestAnObjectThatEndsBeforeItsSizeIsNotTaken(t *testing.T) {
	b, err := NewBucket(short{}, "docs", "s3://short/docs", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if data, _, err := b.Read(t.Context(), File{Path: "a.txt", Size: 8}); !errors.Is(err, ErrRead) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("read: %q, %v", data, err)
	}
}
