package lockfile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// What git leaves of two locks that grew apart still gives the entries of both,
// whether their lines ran into each other or were merged into something that is
// no lock any more.
func TestConflictedByGit(t *testing.T) {
	base := graph("root: m\nm:")
	tests := []struct{ name, ours, theirs string }{
		{"both add at one place", "root: a m\nm:\na:", "root: b m\nm:\nb:"},
		{"add and remove", "root: a m\nm:\na:", "root:"},
		{"one changes what the other removes", "root: m\nm: x\nx:", "root: z\nz:"},
		{"far apart", "root: a m\na:\nm:", "root: m z\nm:\nz:"},
	}
	for _, tt := range tests {
		for _, style := range []string{"--ours-and-theirs", "--diff3", "--zdiff3"} {
			t.Run(tt.name+style, func(t *testing.T) {
				ours, theirs := complete(graph(tt.ours)), complete(graph(tt.theirs))
				merged := mergeFile(t, style, complete(base).Bytes(), ours.Bytes(), theirs.Bytes())
				left, right, err := Conflicted(merged)
				if !HasConflict(merged) {
					left, right, err = Salvage(merged), Salvage(merged), nil
				}
				if err != nil {
					t.Fatalf("%v\n%s", err, merged)
				}
				for _, e := range append(ours.Skills, theirs.Skills...) {
					l, r := left.Get(e.Key), right.Get(e.Key)
					stands := bytes.Contains(merged, fmt.Appendf(nil, "    %q: {\n", e.Key))
					if stands && l == nil && r == nil {
						t.Errorf("lost `%s`\n%s", e.Key, merged)
					}
				}
			})
		}
	}
}

// complete gives the entries of graph what a lock must say of them.
func complete(l *Lock) *Lock {
	for _, e := range l.Skills {
		e.Source = Source{Type: TypeGit, URL: "https://git.example/" + e.Key, Commit: hex40}
	}
	return l
}

func mergeFile(t *testing.T, style string, base, ours, theirs []byte) []byte {
	t.Helper()
	dir := t.TempDir()
	args := []string{"merge-file", "-p"}
	if style == "--diff3" || style == "--zdiff3" {
		args = append(args, style)
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{"ours", ours}, {"base", base}, {"theirs", theirs}} {
		p := filepath.Join(dir, f.name)
		if err := os.WriteFile(p, f.data, 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, p)
	}
	out, err := exec.CommandContext(t.Context(), "git", args...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() > 127) {
		t.Fatalf("git %v: %v", args, err)
	}
	return out
}
