package pdf

import "golang.org/x/sys/unix"

// reserve takes a range of addresses that nothing may touch yet.
func reserve(size uint64) ([]byte, error) {
	return unix.Mmap(-1, 0, int(size), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
}

// use makes a part of it memory, zeroed; it takes what is touched.
func use(part []byte) error { return unix.Mprotect(part, unix.PROT_READ|unix.PROT_WRITE) }

func unreserve(reserved []byte) { _ = unix.Munmap(reserved) }
