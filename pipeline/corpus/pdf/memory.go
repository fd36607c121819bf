package pdf

import (
	"sync"

	"github.com/tetratelabs/wazero/experimental"
)

// memories gives WebAssembly instances their memory outside of Go's heap: on the
// heap, every step of growing copies it all and leaves the old copy to the
// collector, so that an instance of 512 MiB takes more than three times as much.
// Here it takes what was touched, and all of it goes back with the instance.
type memories struct {
	mu   sync.Mutex
	made []*memory // not claimed yet
}

// Allocate implements experimental.MemoryAllocator.
func (m *memories) Allocate(_, largest uint64) experimental.LinearMemory {
	reserved, err := reserve(largest)
	if err != nil { // address space is limited
		return new(heapMemory)
	}
	made := &memory{reserved: reserved}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.made = append(m.made, made)
	return made
}

// claim returns what was made since it was last called.
func (m *memories) claim() []*memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	made := m.made
	m.made = nil
	return made
}

// memory is a range of addresses, of which a growing part may be used.
type memory struct {
	reserved []byte
	used     uint64
}

// Reallocate implements experimental.LinearMemory; the address never changes.
func (m *memory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.reserved)) {
		return nil
	}
	if size > m.used {
		if err := use(m.reserved[m.used:size]); err != nil {
			return nil
		}
		m.used = size
	}
	return m.reserved[:size:size]
}

// Free does nothing: an instance is killed while its code may still run, and
// would run into addresses that are gone. See release.
func (m *memory) Free() {}

// release gives memory back. Nothing of its instance may run any more.
func release(claimed []*memory) {
	for _, m := range claimed {
		unreserve(m.reserved)
	}
}

// heapMemory is memory on Go's heap.
type heapMemory []byte

// Reallocate implements experimental.LinearMemory.
func (h *heapMemory) Reallocate(size uint64) []byte {
	if size > uint64(len(*h)) {
		*h = append(*h, make([]byte, size-uint64(len(*h)))...)
	}
	return (*h)[:size:size]
}

// Free implements experimental.LinearMemory.
func (h *heapMemory) Free() {}
