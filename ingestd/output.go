package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"graphmill/commandline"
)

// toStdout is the name of standard output, where a verb can write to it.
const toStdout = "-"

// writable refuses, before any work is done, a file that could not be written after
// it. What cannot be written is wrong usage.
func writable(name string) error {
	if name == "" {
		return commandline.Usage("no file is named; name one")
	}
	if name == toStdout {
		return commandline.Usage("standard output is not written to here; name a file (./- is one of that name)")
	}
	folder := filepath.Dir(name)
	info, err := os.Stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return commandline.Usage("write %s: there is no folder %s; make it first, or name another", name, folder)
	case err == nil && !info.IsDir():
		return commandline.Usage("write %s: %s is no folder; name another", name, folder)
	}
	trial, err := os.CreateTemp(folder, ".graphmill-*")
	if err != nil {
		return commandline.Usage("write %s: the folder %s cannot be written to (%v); name another", name, folder, plainPath(err))
	}
	return errors.Join(trial.Close(), os.Remove(trial.Name()))
}

// plainPath is an error without the name of a file that nobody asked for.
func plainPath(err error) error {
	if inner := (*os.PathError)(nil); errors.As(err, &inner) {
		return inner.Err
	}
	return err
}

// unwritten refuses a file that is there: somebody may have edited it.
func unwritten(out string) error {
	if _, err := os.Lstat(out); err == nil {
		return commandline.Usage("%s exists, and may have been edited; name another file, or remove it", out)
	}
	return writable(out)
}

// create writes a file that is not there yet.
func create(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return unwritten(path)
	}
	if err != nil {
		return err
	}
	if _, err = file.Write(text); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, plainPath(err)), file.Close())
	}
	return file.Close()
}

// replaceable is the file that a setting or flag names and that is to be replaced
// as a whole; "" for none. A link is followed, and what is no file is refused: it
// would be replaced, /dev/null too.
func replaceable(what, named string) (string, error) {
	name := named
	if target, err := os.Readlink(named); err == nil {
		if name = target; !filepath.IsAbs(target) {
			name = filepath.Join(filepath.Dir(named), target)
		}
	}
	if name == "" {
		return "", nil
	}
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return "", commandline.Usage("%s %s: it is no file, and what stands there would be replaced; name a file", what, named)
	}
	return name, nil
}
