package git_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/skillpm/skillpm/fetch/fetchtest"
	"github.com/skillpm/skillpm/fetch/git"
	"github.com/skillpm/skillpm/internal/testkit"
)

func TestDaemon(t *testing.T) {
	fetchtest.Run(t, func(t *testing.T, root string) fetchtest.Rung {
		d, err := testkit.ServeDaemon(root)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(d.Close)
		host := d.URL[len("git://"):]
		return fetchtest.Rung{Source: newSource(t, git.Options{Named: only(host)}), Base: d.URL}
	})
}

func TestFile(t *testing.T) {
	fetchtest.Run(t, func(t *testing.T, root string) fetchtest.Rung {
		for _, name := range []string{"skills", "empty"} { // file:// has no server to add .git
			if err := os.Symlink(name+".git", filepath.Join(root, "acme", name)); err != nil {
				t.Fatal(err)
			}
		}
		return fetchtest.Rung{Source: newSource(t, git.Options{Environ: os.Environ()}), Base: "file://" + filepath.ToSlash(root)}
	})
}

func TestSSH(t *testing.T) {
	for name, option := range map[string]testkit.SSHOption{"v2": testkit.PassProtocol, "v0": ""} {
		t.Run(name, func(t *testing.T) {
			fetchtest.Run(t, func(t *testing.T, root string) fetchtest.Rung {
				s, home := serveSSH(t, root, option)
				opt := git.Options{Named: only(s.Addr), Home: home}
				return fetchtest.Rung{Source: newSource(t, opt), Base: s.URL}
			})
		})
	}
}

// serveSSH starts sshd and returns it with a home directory that has the keys.
func serveSSH(t *testing.T, root string, options ...testkit.SSHOption) (*testkit.SSHServer, string) {
	t.Helper()
	s, err := testkit.ServeSSH(root, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	home := t.TempDir()
	if err := s.WriteClientFiles(filepath.Join(home, ".ssh")); err != nil {
		t.Fatal(err)
	}
	return s, home
}
