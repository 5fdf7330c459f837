package testkit_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillpm/skillpm/internal/testkit"
)

const archive = `
repo acme/skills
commit one first
tag -a v1.0.0
exec skills/pdf/run.sh
link skills/pdf/LICENSE ../../LICENSE
commit two
tag v1.1.0
branch side v1.0.0
commit two on the side
repo acme/wide sha256
commit one
-- one/LICENSE --
free
-- one/skills/pdf/SKILL.md --
one
-- two/LICENSE --
free
-- two/skills/pdf/SKILL.md --
two
-- two/skills/pdf/run.sh --
#!/bin/sh
`

func git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*", "GIT_TERMINAL_PROMPT=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestReplayMakesWhatGitAccepts(t *testing.T) {
	root := t.TempDir()
	repos, err := testkit.Replay(root, []byte(archive))
	if err != nil {
		t.Fatal(err)
	}
	for name := range repos {
		git(t, "-C", filepath.Join(root, name+".git"), "fsck", "--strict")
	}
	listing := git(t, "-C", filepath.Join(root, "acme/skills.git"), "ls-tree", "-r", "v1.1.0")
	for _, want := range []string{"100755 blob", "120000 blob", "skills/pdf/SKILL.md"} {
		if !strings.Contains(listing, want) {
			t.Errorf("no %q in\n%s", want, listing)
		}
	}
	// Ids must not change from run to run or machine to machine.
	if got, want := repos["acme/skills"].Ref("refs/tags/v1.1.0"), "abf9787be6546e8b7f9e2ad55ef2e5d0b22b4a16"; got != want {
		t.Errorf("v1.1.0 is %s, want %s", got, want)
	}
}

func TestServersServe(t *testing.T) {
	root := t.TempDir()
	if _, err := testkit.Replay(root, []byte(archive)); err != nil {
		t.Fatal(err)
	}
	web, err := testkit.Serve(root, testkit.Shape{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(web.Close)
	daemon, err := testkit.ServeDaemon(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(daemon.Close)
	for _, base := range []string{web.URL, daemon.URL} {
		if out := git(t, "ls-remote", base+"/acme/skills.git"); !strings.Contains(out, "refs/tags/v1.0.0^{}") {
			t.Errorf("%s lists\n%s", base, out)
		}
	}
	log := web.Requests()
	if len(log) != 2 || !log[0].Version2 || log[1].Method != "POST" || log[1].In == 0 || log[1].Out == 0 {
		t.Errorf("log: %v", log)
	}
}
