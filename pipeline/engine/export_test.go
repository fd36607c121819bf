package engine

import "os"

// ServerArguments adds arguments to the server's, so that a test can have it load slowly.
func ServerArguments(options Options, arguments ...string) Options {
	options.serverArguments = arguments
	return options
}

// MakePrivate is the check of a directory that the engine's files go into.
var MakePrivate = makePrivate

// PinnedSums are the checksums that Find compares in untrusted directories.
var PinnedSums = []string{serverSHA256, moduleSHA256}

// Openers are the processes that have a file of the engine's directory open.
func Openers(dataDir, name string) ([]int, error) {
	layout, err := openLayout(dataDir, false)
	return layout.openers(name), err
}

// HoldServerLock takes server.lock as a server does, for a child to inherit.
func HoldServerLock(dataDir string) (*os.File, error) {
	layout, err := openLayout(dataDir, true)
	if err != nil {
		return nil, err
	}
	lock, err := tryLock(layout.path("server.lock"), 2)
	if err != nil || lock == nil {
		return nil, err
	}
	return lock.file, nil
}
