package ci

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

// These tests hold the scripts to their order and statuses with a recorder in
// the place of skillpm; scripts under cmd/skillpm run them with the real one.

// bin returns a directory with a skillpm that notes its arguments in log and
// fails with status 3 when the arguments begin with fail.
func bin(t *testing.T, fail string) (dir, log string) {
	t.Helper()
	dir, log = t.TempDir(), filepath.Join(t.TempDir(), "log")
	script := "#!/bin/sh\necho \"$*\" >>'" + log + "'\ncase \"$*\" in '" + fail + "'*) exit 3 ;; esac\n"
	if fail == "" {
		script = "#!/bin/sh\necho \"$*\" >>'" + log + "'\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "skillpm"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir, log
}

// run runs a script of this directory in dir and returns its exit status and
// what the recorder saw.
func run(t *testing.T, script, dir, fail string, env ...string) (status int, calls string) {
	t.Helper()
	path, log := bin(t, fail)
	script, err := filepath.Abs(script)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+path+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(log)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if status = cmd.ProcessState.ExitCode(); status != 0 && fail == "" {
		t.Errorf("%s: %s", script, out)
	}
	return status, string(data)
}

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		fail, env string
		status    int
		calls     string
	}{
		{"", "STRICT=false", 0, "lock --check\ninstall --frozen\nverify\n"},
		{"", "STRICT=true", 0, "lock --check\ninstall --frozen\nverify --strict\n"},
		{"lock", "STRICT=", 3, "lock --check\n"},
		{"install", "STRICT=", 3, "lock --check\ninstall --frozen\n"},
		{"verify", "STRICT=", 3, "lock --check\ninstall --frozen\nverify\n"},
	} {
		status, calls := run(t, "check.sh", t.TempDir(), test.fail, test.env)
		if status != test.status || calls != test.calls {
			t.Errorf("with %s and a failing %q: status %d after\n%s", test.env, test.fail, status, calls)
		}
	}
}

func TestGet(t *testing.T) {
	if _, calls := run(t, "get.sh", t.TempDir(), "", "VERSION=v1.2.0"); calls != "version\n" {
		t.Errorf("a skillpm on PATH was called with %q", calls)
	}
}

func TestPreCommit(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %s", args, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		git("add", "-A")
	}
	git("init", "-q")
	write("main.go", "package main\n")
	steps := []struct{ name, text, calls string }{
		{"notes.md", "x\n", ""},
		{".agents/skills/pdf/SKILL.md", "installed\n", ""},
		{"skills.toml", "[skills]\n", "lock --check\n"},
		{"skills/with blank/SKILL.md", "---\n", "lock --check\nvalidate skills/with blank/SKILL.md\n"},
	}
	for _, s := range steps {
		write(s.name, s.text)
		if _, calls := run(t, "pre-commit.sh", dir, ""); calls != s.calls {
			t.Errorf("after %s: %s", s.name, cmp.Diff(s.calls, calls))
		}
	}
	git("-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "all")
	write("tools/agent/skills.toml", "[skills]\n")
	if status, calls := run(t, "pre-commit.sh", dir, "lock"); status != 3 || calls != "lock --check\n" {
		t.Errorf("a lock out of date in a sub-directory: status %d after %q", status, calls)
	}
	write("skills.toml", "[skills] # changed\n")
	if status, _ := run(t, "pre-commit.sh", dir, "lock"); status != 3 {
		t.Errorf("a lock out of date lets the commit through with status %d", status)
	}
}

// The YAML files are YAML, and what they call is here. An expression of GitHub
// inside run: would be text of a command.
func TestFiles(t *testing.T) {
	for _, name := range []string{"action.yml", "workflow.yml", "pre-commit-config.yaml"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var document map[string]any
		if err := yaml.Unmarshal(data, &document); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for line := range strings.Lines(string(data)) {
			command, ok := strings.CutPrefix(strings.TrimSpace(line), "run: ")
			if !ok {
				continue
			}
			if strings.Contains(command, "${{") {
				t.Errorf("%s: an expression in a command: %s", name, command)
			}
			_, script, _ := strings.Cut(command, "$ACTION/")
			if _, err := os.Stat(strings.Trim(script, `"`)); err != nil {
				t.Errorf("%s calls %q: %v", name, command, err)
			}
		}
	}
}
