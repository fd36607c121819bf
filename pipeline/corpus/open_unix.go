//go:build unix

package corpus

import (
	"errors"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// openBelow opens a file or folder under root, folder by folder from the
// handle that root holds, and follows no symbolic link, not even one that stays
// inside: what was listed under a path is what is read. O_NONBLOCK keeps a named
// pipe that was put there meanwhile from blocking, O_NOCTTY a terminal from
// becoming ours.
func openBelow(root *os.Root, name string, folder bool) (*os.File, error) {
	start, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer start.Close()
	fd := int(start.Fd())
	const through = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK
	last := unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY
	if folder {
		last = through
	}
	parts := strings.Split(path.Clean(name), "/")
	for i, part := range parts {
		flags := through
		if i == len(parts)-1 {
			flags = last
		}
		next, err := openat(fd, part, flags)
		if i > 0 {
			unix.Close(fd)
		}
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: name, Err: err}
		}
		fd = next
	}
	return os.NewFile(uintptr(fd), name), nil
}

func openat(fd int, name string, flags int) (int, error) {
	if name == ".." {
		return -1, errors.New("path escapes from the root")
	}
	for {
		next, err := unix.Openat(fd, name, flags, 0)
		if err != unix.EINTR {
			return next, err
		}
	}
}

// replacedByLink reports whether err says that a link, or something else that
// is not a folder, stands where a file's folder or the file was.
func replacedByLink(err error) bool {
	return errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EMLINK)
}

// cannotOpenSpecial reports whether err says that the file is a socket or a
// device without a driver.
func cannotOpenSpecial(err error) bool {
	return errors.Is(err, unix.ENXIO) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EOPNOTSUPP)
}
