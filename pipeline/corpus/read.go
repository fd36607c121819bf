package corpus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// readBlock is how much is read between two looks at the context.
const readBlock = 1 << 20

// Read returns the whole file and the SHA-256 of its bytes in hexadecimal. The
// file must be what listing found: a regular file of the same size and time,
// before and after reading. The error is a *FileError, or the context's.
func (r *Root) Read(ctx context.Context, file File) (data []byte, sum string, err error) {
	err = r.withFile(file, func(handle *os.File, size int64) error {
		data = make([]byte, 0, size+1)
		sum, err = r.readAll(ctx, file, handle, func(block []byte) { data = append(data, block...) })
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return data, sum, nil
}

// Hash returns the SHA-256 of the file's bytes as Read does, without keeping
// them.
func (r *Root) Hash(ctx context.Context, file File) (sum string, err error) {
	err = r.withFile(file, func(handle *os.File, _ int64) error {
		sum, err = r.readAll(ctx, file, handle, func([]byte) {})
		return err
	})
	return sum, err
}

// ReadWindow returns at most length bytes of the file from offset on. Only the
// window is read.
func (r *Root) ReadWindow(ctx context.Context, file File, offset int64, length int) (data []byte, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err = r.withFile(file, func(handle *os.File, size int64) error {
		length := min(int64(length), max(0, size-offset))
		data = make([]byte, length)
		n, err := handle.ReadAt(data, offset)
		data = data[:n]
		if err := ignoreEOF(err); err != nil {
			return readError(file.Path, err)
		}
		return nil
	})
	return data, err
}

// ReadParts gives use parts of the file, and its size. Only what is asked for is
// read.
func (r *Root) ReadParts(_ context.Context, file File, use func(parts io.ReaderAt, size int64) error) error {
	return r.withFile(file, func(handle *os.File, size int64) error { return use(handle, size) })
}

// withFile opens the file, checks on the open handle that it is what was listed
// and not too large, and checks again after use that it has not changed.
func (r *Root) withFile(file File, use func(handle *os.File, size int64) error) error {
	if err := checkPath(file.Path); err != nil {
		return err
	}
	// Opening a device can have effects, so look first. The handle is what
	// counts, and is looked at again below.
	if info, err := r.root.Lstat(file.Path); err == nil && !info.Mode().IsRegular() {
		return notRegular(file.Path, info.Mode())
	}
	handle, err := openBelow(r.root, file.Path, false)
	if err != nil {
		return readError(file.Path, err)
	}
	defer handle.Close()
	before, err := handle.Stat()
	if err != nil {
		return readError(file.Path, err)
	}
	if !before.Mode().IsRegular() {
		return notRegular(file.Path, before.Mode())
	}
	if before.Size() > r.options.MaxFileBytes {
		return tooLarge(file.Path, before.Size(), r.options.MaxFileBytes)
	}
	if !file.ModTime.IsZero() && (before.Size() != file.Size || !before.ModTime().Equal(file.ModTime)) {
		return changed(file.Path)
	}
	if err := use(handle, before.Size()); err != nil {
		return err
	}
	after, err := handle.Stat()
	if err != nil {
		return readError(file.Path, err)
	}
	if after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
		return changed(file.Path)
	}
	return nil
}

func checkPath(path string) error {
	if !isPath(path) || isAbsolute(path) {
		return &FileError{Kind: KindOutside, Path: path, Reason: "it is not a path under the files root"}
	}
	if hiddenPath(path) {
		return &FileError{Kind: KindHidden, Path: path, Reason: "hidden files are refused"}
	}
	return nil
}

// isPath reports whether a name may be that of a file under a root.
func isPath(name string) bool {
	return fs.ValidPath(name) && name != "." && !strings.ContainsRune(name, 0)
}

func (r *Root) readAll(ctx context.Context, file File, handle *os.File, keep func([]byte)) (string, error) {
	var digest hash.Hash = sha256.New()
	// Most files are small, and a block for each would be the run's largest cost.
	block := make([]byte, min(readBlock, max(file.Size, 4<<10)+1))
	for total := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := handle.Read(block)
		if total += int64(n); total > r.options.MaxFileBytes {
			return "", tooLarge(file.Path, total, r.options.MaxFileBytes)
		}
		digest.Write(block[:n])
		keep(block[:n])
		if errors.Is(err, io.EOF) {
			return hex.EncodeToString(digest.Sum(nil)), nil
		}
		if err != nil {
			return "", readError(file.Path, err)
		}
	}
}

func tooLarge(path string, size, limit int64) error {
	return &FileError{Kind: KindTooLarge, Path: path,
		Reason: fmt.Sprintf("the file has %d bytes, more than the limit corpus.max_file_bytes of %d", size, limit),
		Hint:   "raise corpus.max_file_bytes or split the file"}
}

func changed(path string) error {
	return &FileError{Kind: KindChanged, Path: path, Reason: "the file changed while it was being read", Hint: "run again when nothing writes to it"}
}

func notRegular(path string, mode fs.FileMode) error {
	return &FileError{Kind: KindNotRegular, Path: path, Reason: "it is " + specialKind(mode) + ", not a regular file"}
}

// readError is an error of the file system as the file's own error.
func readError(path string, err error) error {
	cause := plain(err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &FileError{Kind: KindVanished, Path: path, Reason: "the file is not there (any more)"}
	case errors.Is(err, fs.ErrPermission):
		return &FileError{Kind: KindPermission, Path: path, Reason: "permission denied", Hint: "make the file and its folders readable"}
	case replacedByLink(err):
		return &FileError{Kind: KindNotRegular, Path: path, Reason: "a link or another kind of file stands in its place"}
	case cannotOpenSpecial(err):
		return &FileError{Kind: KindNotRegular, Path: path, Reason: "it is a special file"}
	}
	return &FileError{Kind: KindRead, Path: path, Reason: "reading stopped", Err: cause}
}

func isAbsolute(path string) bool { return filepath.IsAbs(path) || filepath.VolumeName(path) != "" }
