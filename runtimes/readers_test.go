//go:build external

// Package runtimes_test runs the readers for Python and JavaScript against the
// Go package lockfile, over the same locks and trees.
package runtimes_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
)

var readers = map[string][]string{
	"python": {"python3", "-B", "python/skillpm_lock.py"},
	"node":   {"node", "typescript/skillpm-lock.mjs"},
}

const projectDir = "../testdata/lock/project"

// run returns what a reader prints for a command in a project, and its code if
// it refuses.
func run(t *testing.T, reader, dir string, args ...string) (answer any, code string) {
	t.Helper()
	argv := append(append([]string{}, readers[reader]...), args...)
	cmd := exec.CommandContext(t.Context(), argv[0], append(argv[1:], "-C", dir)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	exit, isExit := errors.AsType[*exec.ExitError](err)
	if err != nil && (!isExit || exit.ExitCode() != 2) {
		t.Fatalf("%v: %v\n%s", argv, err, stderr.String())
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	if isExit {
		return nil, answer.(map[string]any)["code"].(string)
	}
	return answer, ""
}

// plain turns a Go value into what JSON decodes to.
func plain(t *testing.T, v any) any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func load(t *testing.T, file string) *lockfile.Lock {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	l, err := lockfile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

type object = map[string]any

func wantList(l *lockfile.Lock) []object {
	var out []object
	for _, i := range l.List() {
		out = append(out, object{"key": i.Key, "name": i.Name, "description": i.Description, "version": i.Version, "digest": i.Digest, "path": i.Path, "signer": i.Signer, "use": i.Use, "prompt": i.Prompt})
	}
	return out
}

func wantEdges(l *lockfile.Lock) []object {
	var out []object
	for _, e := range l.Edges() {
		out = append(out, object{"from": e.From, "to": e.To, "requirement": e.Requirement, "chain": e.Chain})
	}
	return out
}

func wantSteps(steps []lockfile.Step) []object {
	out := []object{}
	for _, s := range steps {
		o := object{"name": s.Name, "version": s.Version, "digest": s.Digest, "path": s.Path}
		if s.Steps != nil {
			o["steps"] = wantSteps(s.Steps)
		}
		out = append(out, o)
	}
	return out
}

// Without the manifest every reader shows the same order, also of keys that
// JavaScript would put in front and of a file in another order.
func TestOrderVector(t *testing.T) {
	data, err := os.ReadFile("../testdata/lock/order/order.json")
	if err != nil {
		t.Fatal(err)
	}
	var want any
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	for reader := range readers {
		got, code := run(t, reader, "../testdata/lock/order", "order")
		if diff := cmp.Diff(want, got); diff != "" || code != "" {
			t.Errorf("%s: %s %s", reader, code, diff)
		}
	}
}

// Both readers answer from a lock as the Go package does.
func TestLocks(t *testing.T) {
	full := t.TempDir()
	copyFile(t, "../testdata/lock/full.lock", filepath.Join(full, lockfile.FileName))
	for _, dir := range []string{projectDir, full} {
		l := load(t, filepath.Join(dir, lockfile.FileName))
		plan, err := l.Plan("release")
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"order": l.Order(), "list": wantList(l), "edges": wantEdges(l), "parents release": l.Parents("release"),
		}
		for reader := range readers {
			t.Run(reader+"/"+filepath.Base(dir), func(t *testing.T) {
				for args, want := range want {
					got, _ := run(t, reader, dir, strings.Fields(args)...)
					if diff := cmp.Diff(plain(t, want), got); diff != "" {
						t.Errorf("%s: %s", args, diff)
					}
				}
				got, _ := run(t, reader, dir, "plan", "release")
				p := got.(map[string]any)
				if diff := cmp.Diff(plain(t, []any{wantSteps(plan.Steps), plan.Flat, plan.Depth, plan.Mode}), []any{p["steps"], p["flat"], p["depth"], p["mode"]}); diff != "" {
					t.Errorf("plan: %s", diff)
				}
			})
		}
	}
}

// Reading and verifying an installed project.
func TestProject(t *testing.T) {
	l := load(t, filepath.Join(projectDir, lockfile.FileName))
	d, err := lockfile.OpenDir(filepath.Join(projectDir, ".agents/skills/deploy"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	body, _, err := d.Body(0)
	if err != nil {
		t.Fatal(err)
	}
	var resources []object
	list, err := d.Resources()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		resources = append(resources, object{"path": r.Path, "size": r.Size, "exec": r.Exec})
	}
	for reader := range readers {
		t.Run(reader, func(t *testing.T) {
			got, code := run(t, reader, projectDir, "verify")
			if diff := cmp.Diff(plain(t, object{"verified": l.Order()}), got); diff != "" {
				t.Errorf("verify: %s %s", code, diff)
			}
			if got, _ := run(t, reader, projectDir, "body", "deploy"); got != string(body) {
				t.Errorf("body %q, want %q", got, body)
			}
			got, _ = run(t, reader, projectDir, "resources", "deploy")
			if diff := cmp.Diff(plain(t, resources), got); diff != "" {
				t.Error(diff)
			}
			for _, path := range []string{"../vault/SKILL.md", "/etc/passwd", "scripts/../../x", "scripts", `a\b`} {
				if _, code := run(t, reader, projectDir, "resource", "deploy", path); code != "path_unsafe" {
					t.Errorf("%s: %q", path, code)
				}
			}
			if _, code := run(t, reader, projectDir, "body", "nosuch"); code != "skill_not_found" {
				t.Errorf("no such skill: %q", code)
			}
		})
	}
}

// What was changed on disk is seen by all three alike.
func TestTampering(t *testing.T) {
	tests := []struct {
		name, code string
		change     func(dir string) error
	}{
		{"byte", "verify_changed", func(dir string) error { return os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte("x"), 0o644) }},
		{"mode", "verify_changed", func(dir string) error { return os.Chmod(filepath.Join(dir, "SKILL.md"), 0o755) }},
		{"extra", "verify_changed", func(dir string) error { return os.WriteFile(filepath.Join(dir, ".x"), nil, 0o644) }},
		{"gone", "verify_missing", os.RemoveAll},
		{"signature", "verify_extra", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, skill.SignatureFile), []byte("{}"), 0o644)
		}},
		{"link", "path_unsafe", func(dir string) error { return os.Symlink("/etc/passwd", filepath.Join(dir, "x")) }},
		{"line end in a name", "path_unsafe", func(dir string) error { return os.WriteFile(filepath.Join(dir, "a\nb"), nil, 0o644) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(projectDir)); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Join(dir, ".agents/skills/deploy/scripts/deploy.sh"), 0o755); err != nil {
				t.Fatal(err)
			}
			deploy := filepath.Join(dir, ".agents/skills/deploy")
			if err := tt.change(deploy); err != nil {
				t.Fatal(err)
			}
			if err := lockfile.VerifyDir(deploy, load(t, filepath.Join(dir, lockfile.FileName)).Get("deploy"), nil); skill.CodeOf(err) != tt.code {
				t.Errorf("go: %v", err)
			}
			for reader := range readers {
				if _, code := run(t, reader, dir, "verify", "deploy"); code != tt.code {
					t.Errorf("%s: %q, want %s", reader, code, tt.code)
				}
			}
		})
	}
}

// Hostile and damaged locks get the code that the Go package gives.
func TestRefusals(t *testing.T) {
	golden, err := os.ReadFile(filepath.Join(projectDir, lockfile.FileName))
	if err != nil {
		t.Fatal(err)
	}
	change := func(from, to string) string {
		if !strings.Contains(string(golden), from) {
			t.Fatalf("nothing to change: %s", from)
		}
		return strings.Replace(string(golden), from, to, 1)
	}
	locks := map[string]string{
		"crlf is fine":  strings.ReplaceAll(string(golden), "\n", "\r\n"),
		"key twice":     change(`"vault": {`, `"notes": {`),
		"trailing data": string(golden) + "{}",
		"truncated":     string(golden[:len(golden)-3]),
		"conflict":      change("  \"skills\"", "<<<<<<< HEAD\n  \"skills\""),
		"newer":         change(`"lockVersion": 1`, `"lockVersion": 2`),
		"foreign":       `{"version":1,"skills":{"a":{"source":"x/y","computedHash":"z"}}}`,
		"target climbs": change(`".claude/skills"`, `"../x"`),
		"absolute":      change(`".claude/skills"`, `"/etc"`),
		"key climbs":    change(`"vault": {`, `"..": {`),
		"digest":        change(`"digest": "sha256:`, `"digest": "sha1:`),
	}
	locks["half surrogate"] = change("Deploys and then", `\ud800 and then`)
	for name, text := range locks {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, lockfile.FileName), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := lockfile.Parse([]byte(text))
			for reader := range readers {
				if _, code := run(t, reader, dir, "order"); code != skill.CodeOf(err) {
					t.Errorf("%s: %q, Go says %q", reader, code, skill.CodeOf(err))
				}
			}
		})
	}
}

// The tree vectors, computed by the readers from files on disk: independent
// proofs that the digest is what docs/formats.md says.
func TestTreeVectors(t *testing.T) {
	data, err := os.ReadFile("../testdata/tree/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Name, Digest string
		Files        []struct {
			Path, Text, Hex, SHA256 string
			Exec                    bool
		}
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	l := &lockfile.Lock{Root: lockfile.Root{Requires: map[string]string{}}, Targets: []string{"s"}}
	for i, v := range vectors {
		if v.Digest == "" || len(v.Files) == 0 || v.Files[0].SHA256 != "" {
			continue
		}
		key := fmt.Sprintf("v%d", i)
		l.Skills = append(l.Skills, &lockfile.Entry{
			Key: key, Version: "1.0.0", Digest: skill.Digest(v.Digest),
			Source: lockfile.Source{Type: lockfile.TypeGit, URL: "https://git.example/x", Commit: strings.Repeat("0", 40)},
		})
		for _, f := range v.Files {
			content := []byte(f.Text)
			if f.Hex != "" {
				if content, err = hex.DecodeString(f.Hex); err != nil {
					t.Fatal(err)
				}
			}
			mode := fs.FileMode(0o644)
			if f.Exec {
				mode = 0o755
			}
			p := filepath.Join(dir, "s", key, filepath.FromSlash(f.Path))
			if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p, content, mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(l.Skills) < 8 {
		t.Fatalf("only %d vectors", len(l.Skills))
	}
	if err := os.WriteFile(filepath.Join(dir, lockfile.FileName), l.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	for reader := range readers {
		if _, code := run(t, reader, dir, "verify"); code != "" {
			t.Errorf("%s: %s", reader, code)
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
