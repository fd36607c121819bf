//go:build !linux

package pdf

import "errors"

func reserve(uint64) ([]byte, error) { return nil, errors.ErrUnsupported }

func use([]byte) error { return errors.ErrUnsupported }

func unreserve([]byte) {}
