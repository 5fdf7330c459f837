package testkit

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/ssh"
)

// SSHServer is sshd over a directory of bare repositories, with keys made for it.
type SSHServer struct {
	URL       string // ssh://user@127.0.0.1:PORT and the absolute root
	Addr      string // 127.0.0.1:PORT
	User      string
	ClientKey []byte // PEM, private
	HostKey   string // authorized_keys form: "ssh-ed25519 AAAA…"
	// Log is the file with sshd's messages.
	Log string

	dir string
	cmd *exec.Cmd
}

// SSHOption changes the server's sshd_config.
type SSHOption string

// PassProtocol lets clients set GIT_PROTOCOL, as the public hosts do. Without
// it a server speaks protocol v0.
const PassProtocol SSHOption = "AcceptEnv GIT_PROTOCOL"

// ServeSSH starts sshd over root on a free loopback port, for the user running
// the test. Without options GIT_PROTOCOL is passed.
func ServeSSH(root string, options ...SSHOption) (*SSHServer, error) {
	if len(options) == 0 {
		options = []SSHOption{PassProtocol}
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	me, err := user.Current()
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "skillpm-sshd-")
	if err != nil {
		return nil, err
	}
	s := &SSHServer{
		URL:  fmt.Sprintf("ssh://%s@127.0.0.1:%d%s", me.Username, port, root),
		Addr: fmt.Sprintf("127.0.0.1:%d", port), User: me.Username,
		Log: filepath.Join(dir, "log"), dir: dir,
	}
	if err := s.configure(port, options); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	if err := s.start(port); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *SSHServer) configure(port int, options []SSHOption) error {
	hostPEM, hostPub, err := newKey()
	if err != nil {
		return err
	}
	clientPEM, clientPub, err := newKey()
	if err != nil {
		return err
	}
	s.ClientKey, s.HostKey = clientPEM, hostPub
	lines := []string{
		fmt.Sprintf("Port %d", port), "ListenAddress 127.0.0.1",
		"HostKey " + filepath.Join(s.dir, "host"), "PidFile " + filepath.Join(s.dir, "pid"),
		"AuthorizedKeysFile " + filepath.Join(s.dir, "authorized"),
		"StrictModes no", "PasswordAuthentication no", "KbdInteractiveAuthentication no",
		"UsePAM no", "PermitRootLogin yes", "LogLevel VERBOSE",
	}
	for _, o := range options {
		if o != "" {
			lines = append(lines, string(o))
		}
	}
	for name, content := range map[string]string{
		"host": string(hostPEM), "authorized": clientPub + "\n", "config": strings.Join(lines, "\n") + "\n",
	} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (s *SSHServer) start(port int) error {
	program, err := exec.LookPath("sshd")
	if err != nil {
		return fmt.Errorf("tests need sshd (apt-get install openssh-server) and /usr/sbin on PATH: %w", err)
	}
	if os.Geteuid() == 0 { // privilege separation needs it, and a container without init has none
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			return err
		}
	}
	s.cmd = exec.Command(program, "-D", "-f", filepath.Join(s.dir, "config"), "-E", s.Log)
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("sshd (install openssh-server): %w", err)
	}
	if err := awaitPort(port); err != nil {
		log, _ := os.ReadFile(s.Log)
		return fmt.Errorf("%w: %s", err, log)
	}
	return nil
}

// WriteClientFiles writes id_ed25519 and known_hosts into dir.
func (s *SSHServer) WriteClientFiles(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "id_ed25519"), s.ClientKey, 0o600); err != nil {
		return err
	}
	host, port, _ := strings.Cut(s.Addr, ":")
	return os.WriteFile(filepath.Join(dir, "known_hosts"), fmt.Appendf(nil, "[%s]:%s %s\n", host, port, s.HostKey), 0o600)
}

// Close stops the server and removes its keys.
func (s *SSHServer) Close() {
	if s.cmd != nil && s.cmd.Process != nil {
		stop(s.cmd)
	}
	_ = os.RemoveAll(s.dir)
}

func newKey() (private []byte, public string, err error) {
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, "", err
	}
	block, err := ssh.MarshalPrivateKey(key, "test")
	if err != nil {
		return nil, "", err
	}
	sshPub, err := ssh.NewPublicKey(pub)
	if err != nil {
		return nil, "", err
	}
	return pem.EncodeToMemory(block), strings.TrimSpace(string(ssh.MarshalAuthorizedKey(sshPub))), nil
}
