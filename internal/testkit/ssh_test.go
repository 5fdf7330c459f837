//go:build external

package testkit_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillpm/skillpm/internal/testkit"
)

func TestSSHServerServes(t *testing.T) {
	root := t.TempDir()
	if _, err := testkit.Replay(root, []byte(archive)); err != nil {
		t.Fatal(err)
	}
	s, err := testkit.ServeSSH(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	dir := filepath.Join(t.TempDir(), ".ssh")
	if err := s.WriteClientFiles(dir); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_SSH_COMMAND", "ssh -F none -o BatchMode=yes -o UserKnownHostsFile="+dir+"/known_hosts -i "+dir+"/id_ed25519")
	if out := git(t, "ls-remote", s.URL+"/acme/skills.git"); !strings.Contains(out, "refs/heads/side") {
		t.Errorf("listed\n%s", out)
	}
}
