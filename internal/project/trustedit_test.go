package project

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillpm/skillpm/internal/install"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/signing"
)

// An edit of the trust rules waits for whoever holds the project, says so, and
// then edits what that run wrote.
func TestEditPolicyWaits(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "skills.toml")
	if err := os.WriteFile(file, []byte("[skills]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	layout := install.Layout{Root: dir, State: workspace.StateDir, Files: []string{file}}
	other, err := install.Begin(t.Context(), layout, install.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var said string
	opt := workspace.Options{
		Dir: dir, Home: dir, ConfigDir: filepath.Join(dir, "config"), SystemDir: filepath.Join(dir, "system"), CacheDir: filepath.Join(dir, "cache"),
		Announce: func(m string) {
			said = m
			if err := other.Write(install.FileChange{Path: file, Data: []byte("# theirs\n[skills]\n")}); err != nil {
				t.Error(err)
			}
			if err := other.Close(); err != nil {
				t.Error(err)
			}
		},
	}
	err = EditPolicy(context.Background(), opt, false, func(f PolicyFile) ([]byte, error) {
		return signing.AddDeny(f.Path, f.Data, f.Scope, signing.DenyKey, "sha256:"+strings.Repeat("7", 64))
	})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said, "waiting for another run (process ") {
		t.Errorf("waiting, it said %q", said)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(data); !strings.Contains(text, "# theirs") || !strings.Contains(text, strings.Repeat("7", 64)) {
		t.Errorf("an edit was lost:\n%s", text)
	}
}
