package main

import (
	"testing"

	"graphmill/pipeline/engine/enginetest"
)

func testConversation(t *testing.T, f *enginetest.Fixture) {}
func testPlans(t *testing.T, f *enginetest.Fixture) {}
