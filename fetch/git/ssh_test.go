//go:build external

package git_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/skillpm/skillpm/fetch/fetchtest"
	"github.com/skillpm/skillpm/fetch/git"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/testkit"
)

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

// sshFixture serves a repository and returns its address, and a home directory
// with key and known_hosts.
func sshFixture(t *testing.T) (url, addr, user, home string, key []byte) {
	t.Helper()
	root := t.TempDir()
	monorepo(t, root)
	s, home := serveSSH(t, root)
	return s.URL + "/acme/skills.git", s.Addr, s.User, home, s.ClientKey
}

func TestSSHHostKeys(t *testing.T) {
	url, addr, _, home, _ := sshFixture(t)
	opt := git.Options{Named: only(addr), Home: home}
	known := filepath.Join(home, ".ssh", "known_hosts")
	if err := os.Remove(known); err != nil {
		t.Fatal(err)
	}
	_, err := newSource(t, opt).Refs(t.Context(), parse(t, url))
	if diag.CodeOf(err) != diag.HostKeyUnknown || !strings.Contains(diag.All(err)[0].Hint, "ssh-keyscan -p") || !strings.Contains(diag.All(err)[0].Details[0], "SHA256:") {
		t.Errorf("unknown host: %v", err)
	}
	host, port, _ := strings.Cut(addr, ":")
	pub, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := ssh.NewPublicKey(pub)
	if err != nil {
		t.Fatal(err)
	}
	line := "[" + host + "]:" + port + " " + string(ssh.MarshalAuthorizedKey(other))
	if err := os.WriteFile(known, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = newSource(t, opt).Refs(t.Context(), parse(t, url))
	if diag.CodeOf(err) != diag.HostKeyUnknown || !strings.Contains(err.Error(), "another key") {
		t.Errorf("changed key: %v", err)
	}
}

func TestSSHKeys(t *testing.T) {
	url, addr, _, home, key := sshFixture(t)
	opt := git.Options{Named: only(addr), Home: home}
	file := filepath.Join(home, ".ssh", "id_ed25519")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	_, err := newSource(t, opt).Refs(t.Context(), parse(t, url))
	if diag.CodeOf(err) != diag.FetchAuth {
		t.Errorf("no key: %v, want fetch_auth", err)
	}
	parsed, err := ssh.ParseRawPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKeyWithPassphrase(parsed.(*ed25519.PrivateKey), "", []byte("open sesame"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, pemOf(block), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = newSource(t, opt).Refs(t.Context(), parse(t, url))
	if diag.CodeOf(err) != diag.FetchAuth || !strings.Contains(strings.Join(diag.All(err)[0].Details, " "), "passphrase") {
		t.Errorf("locked key: %v", err)
	}
	opt.Environ = []string{"SSH_AUTH_SOCK=" + serveAgent(t, parsed)}
	if _, err = newSource(t, opt).Refs(t.Context(), parse(t, url)); err != nil {
		t.Errorf("ssh-agent: %v", err)
	}
}

// serveAgent is an ssh-agent with one key.
func serveAgent(t *testing.T, key any) (socket string) {
	t.Helper()
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: key}); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "agent") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = agent.ServeAgent(ring, conn) }()
		}
	}()
	return filepath.Join(dir, "s")
}

func TestSSHConfig(t *testing.T) {
	url, addr, user, home, _ := sshFixture(t)
	host, port, _ := strings.Cut(addr, ":")
	dir := filepath.Join(home, ".ssh")
	if err := os.Rename(filepath.Join(dir, "id_ed25519"), filepath.Join(dir, "special")); err != nil {
		t.Fatal(err)
	}
	config := "Host work\n  HostName " + host + "\n  Port " + port + "\n  User " + user + "\n  IdentityFile ~/.ssh/special\n"
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	path := url[strings.Index(url, port)+len(port):]
	for _, spelling := range []string{"ssh://work" + path, user + "@work:" + path} {
		if _, err := newSource(t, git.Options{Home: home}).Refs(t.Context(), parse(t, spelling)); err != nil {
			t.Errorf("%s: %v", spelling, err)
		}
	}
}

// What only OpenSSH understands is left to OpenSSH.
func TestSSHProgram(t *testing.T) {
	url, addr, _, home, _ := sshFixture(t)
	dir := filepath.Join(home, ".ssh")
	command := "ssh -F none -o UserKnownHostsFile=" + dir + "/known_hosts -i " + dir + "/id_ed25519"
	opt := git.Options{Named: only(addr), Home: home, Environ: []string{"PATH=" + os.Getenv("PATH"), "GIT_SSH_COMMAND=" + command}}
	if _, err := newSource(t, opt).Refs(t.Context(), parse(t, url)); err != nil {
		t.Error(err)
	}
	opt.Environ[1] = "GIT_SSH_COMMAND=ssh -F none -o UserKnownHostsFile=/dev/null -i " + dir + "/id_ed25519"
	if _, err := newSource(t, opt).Refs(t.Context(), parse(t, url)); diag.CodeOf(err) != diag.HostKeyUnknown {
		t.Errorf("unknown host: %v, want host_key_unknown", err)
	}
}

func pemOf(block *pem.Block) []byte { return pem.EncodeToMemory(block) }
