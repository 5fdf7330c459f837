package git

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/kevinburke/ssh_config"
	sshagent "github.com/xanzy/ssh-agent"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/skillpm/skillpm/fetch/internal/web"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// sshTarget reads ~/.ssh/config, as far as it concerns repo's host.
func (s *Source) sshTarget(repo skill.Source, identity string) (sshTarget, error) {
	path, err := sshPath(repo)
	if err != nil {
		return sshTarget{}, diag.New(diag.RequirementSyntax, "%s is no ssh address", repo)
	}
	name, _ := repo.Credentials()
	host, port := splitHost(repo.Host())
	if strings.HasPrefix(host, "-") || strings.HasPrefix(name, "-") || strings.HasPrefix(path, "-") {
		return sshTarget{}, diag.New(diag.RequirementSyntax, "%s: a user, host or path that begins with a hyphen", repo)
	}
	dir := filepath.Join(s.opt.Home, ".ssh")
	t := sshTarget{
		repo: identity, alias: host, host: host, port: port, user: name, path: path, named: s.named(repo.Host()),
		knownHosts: []string{filepath.Join(dir, "known_hosts"), filepath.Join(dir, "known_hosts2"), "/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"},
		program:    s.sshProgram(),
	}
	text, err := os.ReadFile(filepath.Join(dir, "config"))
	if err == nil {
		if err := t.configure(text, s.opt.Home); err != nil && t.program == "" {
			t.program = "ssh" // it has what we do not understand
		}
	}
	t.defaults(dir)
	return t, nil
}

func splitHost(hostport string) (host, port string) {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		return strings.Trim(hostport, "[]"), ""
	}
	return host, port
}

// sshProgram returns the command that the user chose for ssh, as git does.
func (s *Source) sshProgram() string {
	for _, key := range []string{"GIT_SSH_COMMAND", "GIT_SSH"} {
		if v := s.getenv(key); v != "" {
			return v
		}
	}
	return s.config().get("core.sshcommand")
}

// errBeyond says that a configuration asks for what only OpenSSH does.
var errBeyond = errors.New("needs OpenSSH")

func (t *sshTarget) configure(text []byte, home string) error {
	cfg, err := ssh_config.DecodeBytes(text)
	if err != nil {
		return err
	}
	get := func(key string) string {
		v, _ := cfg.Get(t.alias, key) // only an Include that cannot be read fails
		return strings.Trim(v, `"`)
	}
	for _, key := range []string{"ProxyJump", "ProxyCommand"} {
		if v := get(key); v != "" && !strings.EqualFold(v, "none") {
			return errBeyond
		}
	}
	if v := get("HostName"); v != "" {
		if v = strings.ReplaceAll(v, "%h", t.alias); strings.Contains(v, "%") {
			return errBeyond
		}
		// Who writes a host's address into their own configuration has named it.
		t.host, t.named = v, true
	}
	if v := get("Port"); v != "" && t.port == "" {
		t.port = v
	}
	if v := get("User"); v != "" && t.user == "" {
		t.user = v
	}
	t.onlyKeys = strings.EqualFold(get("IdentitiesOnly"), "yes")
	files, err := cfg.GetAll(t.alias, "IdentityFile")
	if err != nil {
		return err
	}
	for _, f := range files {
		t.keys = append(t.keys, expandHome(f, home))
	}
	if v := get("UserKnownHostsFile"); v != "" {
		t.knownHosts = nil
		for f := range strings.FieldsSeq(v) {
			t.knownHosts = append(t.knownHosts, expandHome(f, home))
		}
	}
	return nil
}

func (t *sshTarget) defaults(dir string) {
	if t.port == "" {
		t.port = "22"
	}
	if t.user == "" {
		if me, err := user.Current(); err == nil {
			t.user = me.Username
		}
	}
	if len(t.keys) == 0 {
		for _, name := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
			t.keys = append(t.keys, filepath.Join(dir, name))
		}
	}
}

func expandHome(p, home string) string {
	p = strings.Trim(p, `"`)
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		return filepath.Join(home, rest)
	}
	return strings.ReplaceAll(p, "%d", home)
}

func existing(files []string) []string {
	var list []string
	for _, f := range files {
		if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() {
			list = append(list, f)
		}
	}
	return list
}

// sshKeys are the keys to offer to one server.
type sshKeys struct {
	agent  agent.Agent
	conn   net.Conn
	target sshTarget
	notes  []string // for the error, if none is accepted
}

func (s *Source) signers(ctx context.Context, t sshTarget) *sshKeys {
	k := &sshKeys{target: t}
	if socket := s.getenv("SSH_AUTH_SOCK"); socket != "" {
		conn, err := web.DialUnix(ctx, socket)
		if err != nil {
			k.notes = append(k.notes, "ssh-agent does not answer at SSH_AUTH_SOCK")
			return k
		}
		k.agent, k.conn = agent.NewClient(conn), conn
		context.AfterFunc(ctx, func() { _ = conn.Close() }) // it may never answer
	} else if runtime.GOOS == "windows" && sshagent.Available() { // agents there have no socket
		if a, conn, err := sshagent.New(); err == nil {
			k.agent, k.conn = a, conn
		}
	}
	return k
}

func (k *sshKeys) close() {
	if k.conn != nil {
		_ = k.conn.Close()
	}
}

// list returns the agent's keys, then those on disk. A key with a passphrase
// cannot be used without asking for it, so only an agent can.
func (k *sshKeys) list() ([]ssh.Signer, error) {
	var signers []ssh.Signer
	if k.agent != nil && !k.target.onlyKeys {
		fromAgent, err := k.agent.Signers()
		if err != nil {
			k.notes = append(k.notes, "ssh-agent does not list its keys")
		}
		signers = append(signers, fromAgent...)
	}
	for _, file := range k.target.keys {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		signer, err := ssh.ParsePrivateKey(text)
		if _, locked := errors.AsType[*ssh.PassphraseMissingError](err); locked {
			k.notes = append(k.notes, file+" has a passphrase: load it with ssh-add")
			continue
		}
		if err != nil {
			k.notes = append(k.notes, file+" is no private key")
			continue
		}
		signers = append(signers, signer)
	}
	if len(signers) == 0 {
		k.notes = append(k.notes, "there is no key to offer")
	}
	return signers, nil
}

// runSSH runs the user's ssh program, which must not ask anything.
func (s *Source) runSSH(t sshTarget, command string) (wire, error) {
	args := []string{"-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", "SendEnv=GIT_PROTOCOL"}
	if t.port != "22" {
		args = append(args, "-p", t.port)
	}
	destination := t.alias
	if t.user != "" {
		destination = t.user + "@" + destination
	}
	args = append(args, destination, command)
	env := quiet(s.opt)
	if !strings.ContainsAny(t.program, " \t'\"$\\") {
		return startProcess(env, t.program, args...)
	}
	// As in git, a command with blanks is for the shell; arguments follow it.
	return startProcess(env, "sh", append([]string{"-c", t.program + ` "$@"`, t.program}, args...)...)
}

func unescapePath(p string) string {
	if u, err := url.PathUnescape(p); err == nil {
		return u
	}
	return p
}
