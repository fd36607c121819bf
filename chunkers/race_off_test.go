//go:build !race

package chunkers

const raceDetector = false
