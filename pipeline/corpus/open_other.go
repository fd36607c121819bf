//go:build !unix

package corpus

import "os"

// openBelow opens a file or folder under root. Here a link that stays inside
// the root and is put there between listing and reading is followed.
func openBelow(root *os.Root, name string, _ bool) (*os.File, error) {
	return root.Open(name)
}

func replacedByLink(error) bool { return false }

func cannotOpenSpecial(error) bool { return false }
