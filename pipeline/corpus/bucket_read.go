package corpus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"
)

// readTries is how often an object is read whose reading stopped in its midst.
// Requests that fail before they give anything the store tries again by itself.
const readTries = 3

// Read returns the whole object and the SHA-256 of its bytes in hexadecimal. It must
// be what listing found. The error is a *FileError, or the context's.
func (b *Bucket) Read(ctx context.Context, file File) (data []byte, sum string, err error) {
	if err := checkPath(file.Path); err != nil {
		return nil, "", err
	}
	data = make([]byte, 0, min(file.Size, b.options.MaxFileBytes)+1)
	begin := func() { data = data[:0] }
	sum, err = b.whole(ctx, file, b.options.MaxFileBytes, begin, func(block []byte) { data = append(data, block...) })
	if err != nil {
		return nil, "", err
	}
	return data, sum, nil
}

// Hash returns the SHA-256 of the object's bytes as Read does, without keeping
// them.
func (b *Bucket) Hash(ctx context.Context, file File) (sum string, err error) {
	if err := checkPath(file.Path); err != nil {
		return "", err
	}
	return b.whole(ctx, file, b.options.MaxFileBytes, func() {}, func([]byte) {})
}

// ReadWindow returns at most length bytes of the object from offset on. Only the
// window is read.
func (b *Bucket) ReadWindow(ctx context.Context, file File, offset int64, length int) (data []byte, err error) {
	if err := checkPath(file.Path); err != nil {
		return nil, err
	}
	if length = int(min(int64(length), max(0, file.Size-offset))); length == 0 {
		return []byte{}, ctx.Err()
	}
	err = b.reading(ctx, file, b.options.MaxFileBytes, offset, int64(length), func(content Content, alive func()) error {
		data = make([]byte, length)
		n, err := io.ReadFull(living{content, alive}, data)
		data = data[:n]
		return err
	})
	return data, err
}

// ReadParts gives use parts of the object, and its size. Blocks around what is asked
// for are read, and kept until use returns.
func (b *Bucket) ReadParts(ctx context.Context, file File, use func(parts io.ReaderAt, size int64) error) error {
	if file.Size > b.options.MaxFileBytes {
		return tooLarge(file.Path, file.Size, b.options.MaxFileBytes)
	}
	return use(&blocks{bucket: b, ctx: ctx, file: file, read: map[int64][]byte{}}, file.Size)
}

// blocks reads an object in large blocks: a request costs more than its bytes.
type blocks struct {
	bucket *Bucket
	ctx    context.Context
	file   File
	read   map[int64][]byte
}

func (p *blocks) ReadAt(data []byte, at int64) (n int, err error) {
	for n < len(data) {
		if at >= p.file.Size {
			return n, io.EOF
		}
		first := at - at%readBlock
		block, have := p.read[first]
		if !have {
			if len(p.read) >= previewReads/readBlock {
				return n, fmt.Errorf("a preview would read more than %d bytes of it", previewReads)
			}
			if block, err = p.bucket.ReadWindow(p.ctx, p.file, first, readBlock); err != nil {
				return n, err
			}
			p.read[first] = block
		}
		copied := copy(data[n:], block[min(at-first, int64(len(block))):])
		if copied == 0 {
			return n, io.ErrUnexpectedEOF
		}
		n, at = n+copied, at+int64(copied)
	}
	return n, nil
}

// whole reads all of an object; begin is called before each try.
func (b *Bucket) whole(ctx context.Context, file File, limit int64, begin func(), keep func(block []byte)) (sum string, err error) {
	err = b.reading(ctx, file, limit, 0, -1, func(content Content, alive func()) error {
		begin()
		digest := sha256.New()
		block := make([]byte, min(readBlock, max(content.Size, 4<<10)+1))
		for total := int64(0); ; {
			n, err := content.Read(block)
			alive()
			if total += int64(n); total > limit {
				return tooLarge(file.Path, total, limit)
			}
			digest.Write(block[:n])
			keep(block[:n])
			if errors.Is(err, io.EOF) && total == content.Size {
				sum = hex.EncodeToString(digest.Sum(nil))
				return nil
			}
			if errors.Is(err, io.EOF) {
				return io.ErrUnexpectedEOF
			}
			if err != nil {
				return err
			}
		}
	})
	return sum, err
}

// reading opens an object, checks that it is what was listed and not too large, and
// has it read; again where that stops in its midst.
func (b *Bucket) reading(ctx context.Context, file File, limit, offset, length int64, read func(content Content, alive func()) error) error {
	if file.Size > limit {
		return tooLarge(file.Path, file.Size, limit)
	}
	object := Object{Key: b.prefix + file.Path, Size: file.Size, ModTime: file.ModTime, Version: file.Version}
	var err error
	for range readTries {
		err = b.patiently(ctx, func(ctx context.Context, alive func()) error {
			content, err := b.objects.Open(ctx, object, offset, length)
			if err != nil {
				return err
			}
			defer content.Close()
			alive()
			if content.Size > limit {
				return tooLarge(file.Path, content.Size, limit)
			}
			if !file.ModTime.IsZero() && (content.Size != file.Size || file.Version == "" && !sameSecond(content.ModTime, file.ModTime)) {
				return changed(file.Path)
			}
			return read(content, alive)
		})
		own, known := errors.AsType[*FileError](err)
		switch {
		case err == nil, ctx.Err() != nil:
			return err
		case known && own.Kind == KindChanged:
			return changed(file.Path)
		case known:
			withPath := *own
			withPath.Path = file.Path
			return &withPath
		}
	}
	return &FileError{Kind: KindRead, Path: file.Path, Reason: "reading stopped", Err: err, Hint: "run again"}
}

// sameSecond compares times of which a store may tell seconds only.
func sameSecond(one, other time.Time) bool {
	return one.Truncate(time.Second).Equal(other.Truncate(time.Second))
}

// living tells with each block that something came.
type living struct {
	io.Reader
	alive func()
}

func (l living) Read(block []byte) (int, error) {
	n, err := l.Reader.Read(block)
	l.alive()
	return n, err
}
