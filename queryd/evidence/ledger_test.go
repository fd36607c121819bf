package evidence

import (
	"slices"
	"sync"
	"testing"
)

func TestNumbersRunAcrossCallsAndSkipWhatIsEmpty(t *testing.T) {
	l := NewLedger(0)
	if got := l.Add(Item{Content: "a"}, Item{Content: " \n"}, Item{Content: "b"}); !slices.Equal(got, []int{1, 0, 2}) {
		t.Errorf("numbers %v", got)
	}
	if got := l.Add(Item{Content: "c", Tool: "status"}); !slices.Equal(got, []int{3}) {
		t.Errorf("numbers %v", got)
	}
	if item, ok := l.Item(3); !ok || item.Tool != "status" || item.N != 3 {
		t.Errorf("item 3 is %+v", item)
	}
	if _, ok := l.Item(0); ok {
		t.Error("there is an item 0")
	}
}

func TestDroppedItemsAreGoneAndTheirNumbersToo(t *testing.T) {
	l := NewLedger(0)
	l.Add(Item{Content: "a"}, Item{Content: "b"})
	l.Drop([]int{2, 7})
	if _, ok := l.Item(2); ok {
		t.Error("item 2 is still there")
	}
	if got := l.Add(Item{Content: "c"}); got[0] != 3 {
		t.Errorf("the next number is %d", got[0])
	}
}

func TestTheOldestItemsGoFirst(t *testing.T) {
	l := NewLedger(3)
	l.Add(Item{Content: "a"}, Item{Content: "b"}, Item{Content: "c"}, Item{Content: "d"}, Item{Content: "e"})
	for n, want := range map[int]bool{1: false, 2: false, 3: true, 4: true, 5: true} {
		if _, ok := l.Item(n); ok != want {
			t.Errorf("item %d is kept: %v", n, ok)
		}
	}
	l.Drop([]int{4})
	l.Add(Item{Content: "f"})
	if _, ok := l.Item(3); !ok {
		t.Error("a dropped item still counts against the capacity")
	}
}

func TestOneCallsNumbersStandTogether(t *testing.T) {
	l := NewLedger(0)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			got := l.Add(Item{Content: "a"}, Item{Content: "b"}, Item{Content: "c"})
			if got[1] != got[0]+1 || got[2] != got[0]+2 {
				t.Errorf("numbers %v", got)
			}
		})
	}
	group.Wait()
}
