//go:build !faults

// Package faultpoint names the instants at which a process may die. In a program
// that is built as usual its functions are empty and leave no code. Built with
// the tag faults, the program does at one of them what its environment says; the
// tests that kill it there stand in ingestd (faultpoint_test.go).
//
// A name says what comes before or after what: "before commit", "after commit",
// "between lock and token".
package faultpoint

import "time"

// Reach is called at an instant. The name may be made of several words.
func Reach(when string, what string) {}

// Now is the time of day.
func Now() time.Time { return time.Now() }
