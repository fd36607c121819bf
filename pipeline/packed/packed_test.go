package packed

import (
	"errors"
	"reflect"
	"testing"
)

type row struct {
	Name   string
	Counts map[string]int
	Spans  [][2]int
	Score  float64
}

func TestWhatIsPackedComesBack(t *testing.T) {
	want := []row{{Name: "Ada\x00", Counts: map[string]int{"a": 1, "b": -2}, Spans: [][2]int{{0, 3}}, Score: 1.0 / 3}, {}}
	data, err := Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	var got []row
	if err := Decode(data, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v %+v", err, got)
	}
}

func TestAnyDamageIsTold(t *testing.T) {
	data, err := Encode(row{Name: "Ada"})
	if err != nil {
		t.Fatal(err)
	}
	var got row
	for i := range data {
		damaged := append([]byte(nil), data...)
		damaged[i] ^= 1
		if err := Decode(damaged, &got); !errors.Is(err, ErrDamaged) {
			t.Errorf("byte %d: %v", i, err)
		}
		if err := Decode(data[:i], &got); !errors.Is(err, ErrDamaged) {
			t.Errorf("%d bytes: %v", i, err)
		}
	}
	if err := Decode(data, new([]string)); !errors.Is(err, ErrDamaged) {
		t.Errorf("another type: %v", err)
	}
}
