//go:build external

package main

import "testing"

// TestExternalScripts runs the scripts that need sshd or docker-registry.
func TestExternalScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "external")
}
