package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// stateCommands are the commands that work on a project, or on the user's own
// skills with -g. changes says that a second run is another case, since what it
// did is done.
var stateCommands = []struct {
	args    string
	changes bool
	after   bool // an installation is tried afterwards
	noFlag  bool // there is no -g
}{
	{args: "install", after: true}, {args: "install --frozen"}, {args: "install --frozen --no-manifest"}, {args: "install --offline"},
	{args: "update", after: true}, {args: "update tool", changes: true}, {args: "lock", after: true}, {args: "lock --check"}, {args: "outdated"},
	{args: "list"}, {args: "list --layers"}, {args: "tree"}, {args: "why tool"}, {args: "info tool"},
	{args: "verify"}, {args: "verify --strict"}, {args: "verify --no-manifest"},
	{args: "doctor"}, {args: "prompt"}, {args: "sbom"}, {args: "search tool"},
	{args: "add $SKILLS/other", after: true}, {args: "add --no-install $SKILLS/other", after: true}, {args: "remove tool", changes: true, after: true},
	{args: "init", changes: true, after: true}, {args: "import auto", after: true},
	{args: "fetch", noFlag: true}, {args: "trust list", noFlag: true}, {args: "trust revoke --as key abc", after: true, noFlag: true},
	{args: "trust revoke --user --as key abc", noFlag: true}, {args: "trust remove nothing", noFlag: true}, {args: "lock --install-merge-driver", noFlag: true},
}

// stateWorlds are the states that a command can find. Paths are relative to the
// world's directory; home is its HOME.
var stateWorlds = []struct {
	name   string
	global bool
	dir    string // where the command runs
	flags  []string
	keep   []string // of skills.toml, skills.lock and what is installed
}{
	{name: "locked", dir: "home/project", keep: []string{"skills.toml", "skills.lock", ".agents"}},
	{name: "fresh checkout", dir: "home/project", keep: []string{"skills.toml", "skills.lock"}},
	{name: "sub-directory", dir: "home/project/sub", keep: []string{"skills.toml", "skills.lock", ".agents"}},
	{name: "-C", dir: "elsewhere", flags: []string{"-C", "../home/project"}, keep: []string{"skills.toml", "skills.lock", ".agents"}},
	{name: "manifest only", dir: "home/project", keep: []string{"skills.toml"}},
	{name: "lock only", dir: "home/project", keep: []string{"skills.lock"}},
	{name: "neither", dir: "home/project"},
	{name: "-g, locked", global: true, dir: "elsewhere", keep: []string{"skills.toml", "skills.lock"}},
	{name: "-g, manifest only", global: true, dir: "elsewhere", keep: []string{"skills.toml"}},
	{name: "-g, lock only", global: true, dir: "elsewhere", keep: []string{"skills.lock"}},
	{name: "-g, neither", global: true, dir: "elsewhere"},
}

const (
	stateSkill    = "---\nname: NAME\ndescription: A skill of a test.\n---\nText.\n"
	stateManifest = "[skills]\ntool = { path = \"own/tool\" }\n"
)

// Every command in every state, twice: no mistake of skillpm, nothing that waits
// for another run, and what was answered once is answered again.
func TestStates(t *testing.T) {
	t.Parallel()
	for _, world := range stateWorlds {
		t.Run(world.name, func(t *testing.T) {
			t.Parallel()
			template := newStateWorld(t, world.global, world.keep)
			for _, c := range stateCommands {
				if world.global && c.noFlag {
					continue
				}
				w := template.copy(t)
				args := append(slices.Clone(world.flags), strings.Fields(strings.ReplaceAll(c.args, "$SKILLS", w.skills(world.global)))...)
				if world.global {
					args = append(args, "-g")
				}
				first, firstOut := w.run(t, world.dir, args)
				second, secondOut := w.run(t, world.dir, args)
				for _, out := range []string{firstOut, secondOut} {
					if strings.Contains(out, "[internal]") || strings.Contains(out, "[project_locked]") {
						t.Errorf("%s: %s", c.args, out)
					}
				}
				if first != second && !c.changes && !answered(c.args, second) {
					t.Errorf("%s: status %d, then %d\n%s---\n%s", c.args, first, second, firstOut, secondOut)
				}
				if c.after {
					w.installs(t, world.dir, world.flags, world.global)
				}
			}
		})
	}
}

// answered reports whether a first run that failed may have made the second one
// succeed: it wrote what that one reads.
func answered(args string, second int) bool { return strings.HasPrefix(args, "import") && second == 0 }

// installs checks that nothing keeps an installation from being tried.
func (w stateWorld) installs(t *testing.T, dir string, flags []string, global bool) {
	t.Helper()
	args := append(slices.Clone(flags), "install")
	if global {
		args = append(args, "-g")
	}
	if status, out := w.run(t, dir, args); status == 70 || strings.Contains(out, "[project_locked]") {
		t.Errorf("a later install: status %d\n%s", status, out)
	}
}

// stateWorld is a directory with a home, a project and a place that is neither.
type stateWorld struct{ dir string }

func newStateWorld(t *testing.T, global bool, keep []string) stateWorld {
	t.Helper()
	w := stateWorld{t.TempDir()}
	for _, name := range []string{"home/project/sub", "elsewhere"} {
		if err := os.MkdirAll(filepath.Join(w.dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	root, args := filepath.Join(w.dir, "home/project"), []string{"install"}
	if global {
		root, args = filepath.Join(w.dir, "home/.config/skillpm/global"), []string{"install", "-g"}
	}
	if len(keep) > 0 || !global { // where nothing is, not even the directory is
		for _, name := range []string{"tool", "other"} {
			w.write(t, filepath.Join(root, "own", name, "SKILL.md"), strings.ReplaceAll(stateSkill, "NAME", name))
		}
	}
	if len(keep) == 0 {
		return w
	}
	w.write(t, filepath.Join(root, "skills.toml"), stateManifest)
	if status, out := w.run(t, "home/project", args); status != 0 {
		t.Fatalf("the world cannot be made: %s", out)
	}
	for _, name := range []string{"skills.toml", "skills.lock", ".agents", ".skillpm"} {
		if !slices.Contains(keep, name) && (name != ".skillpm" || !slices.Contains(keep, ".agents")) {
			if err := os.RemoveAll(filepath.Join(root, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return w
}

func (w stateWorld) copy(t *testing.T) stateWorld {
	t.Helper()
	c := stateWorld{t.TempDir()}
	if err := os.CopyFS(c.dir, os.DirFS(w.dir)); err != nil {
		t.Fatal(err)
	}
	return c
}

func (w stateWorld) write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// skills is the directory of skills that a command may name.
func (w stateWorld) skills(global bool) string {
	if global {
		return filepath.Join(w.dir, "home/.config/skillpm/global/own")
	}
	return filepath.Join(w.dir, "home/project/own")
}

func (w stateWorld) run(t *testing.T, dir string, args []string) (status int, out string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "skillpm", args...)
	cmd.Dir = filepath.Join(w.dir, filepath.FromSlash(dir))
	cmd.Env = []string{"HOME=" + filepath.Join(w.dir, "home"), "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"}
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	if err := cmd.Run(); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			t.Fatal(err)
		}
		return exit.ExitCode(), b.String()
	}
	return 0, b.String()
}
