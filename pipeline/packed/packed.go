// Package packed writes values as bytes that are small and tell when they are
// damaged: a SHA-256 sum, and behind it gob in deflate. It owns the form alone;
// what the values mean, and whether another version still means the same, is said
// by whoever names or sends them.
package packed

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
)

// ErrDamaged says that bytes are not what Encode made.
var ErrDamaged = errors.New("packed data is damaged")

// Encode packs a value. As gob has it, what is empty comes back as nothing.
func Encode(value any) ([]byte, error) {
	data := bytes.NewBuffer(make([]byte, sha256.Size))
	deflated, err := flate.NewWriter(data, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(gob.NewEncoder(deflated).Encode(value), deflated.Close()); err != nil {
		return nil, fmt.Errorf("pack %T: %w", value, err)
	}
	sum := sha256.Sum256(data.Bytes()[sha256.Size:])
	copy(data.Bytes(), sum[:])
	return data.Bytes(), nil
}

// Decode unpacks what Encode made into the value that a pointer names. The error
// is an ErrDamaged for bytes that are anything else.
func Decode(data []byte, value any) error {
	if len(data) < sha256.Size {
		return ErrDamaged
	}
	if sum := sha256.Sum256(data[sha256.Size:]); !bytes.Equal(sum[:], data[:sha256.Size]) {
		return ErrDamaged
	}
	if err := gob.NewDecoder(flate.NewReader(bytes.NewReader(data[sha256.Size:]))).Decode(value); err != nil {
		return fmt.Errorf("unpack %T: %w: %w", value, ErrDamaged, err)
	}
	return nil
}
