package graph

import (
	"reflect"
	"testing"
)

// Whatever field an extraction gets, a place in it moves along: else a chunk that
// is taken over from before an edit would point to somewhere else.
func TestEveryPlaceOfAnExtractionMoves(t *testing.T) {
	e := Extraction{Mentions: make([]Mention, 2), Relations: make([]RelationMention, 2)}
	places := 0
	eachRange(reflect.ValueOf(&e).Elem(), func(r *Range) { places++; *r = Range{Start: 10 * places, End: 10*places + 5} })
	if places < 4 {
		t.Fatalf("only %d places found", places)
	}
	moved, at := e.Moved(7), 0
	eachRange(reflect.ValueOf(&moved).Elem(), func(r *Range) {
		if at++; *r != (Range{Start: 10*at + 7, End: 10*at + 12}) {
			t.Errorf("place %d is %v", at, *r)
		}
	})
	if at != places || e.Mentions[0].Range.Start != 10 {
		t.Errorf("%d places after, the original begins at %d", at, e.Mentions[0].Range.Start)
	}
}

// eachRange visits every Range in a value; of an empty slice it makes two
// elements, so that a new list of places is met too.
func eachRange(v reflect.Value, visit func(*Range)) {
	if r, ok := v.Addr().Interface().(*Range); ok {
		visit(r)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			eachRange(v.Field(i), visit)
		}
	case reflect.Slice:
		if v.Len() == 0 && v.Type().Elem().Kind() == reflect.Struct {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		}
		for i := range v.Len() {
			eachRange(v.Index(i), visit)
		}
	}
}
