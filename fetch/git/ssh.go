package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"

	"github.com/skillpm/skillpm/fetch/internal/web"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// dialSSH reaches a repository over ssh, one connection for each host and user.
// Where the user's settings name a program of their own, or something that only
// OpenSSH can do (a jump host, a proxy command), OpenSSH is run instead.
func (s *Source) dialSSH(repo skill.Source, name string) (service, error) {
	target, err := s.sshTarget(repo, name)
	if err != nil {
		return nil, err
	}
	command := "git-upload-pack '" + strings.ReplaceAll(target.path, "'", `'\''`) + "'"
	if target.program != "" {
		return s.stream(name, func(ctx context.Context) (wire, error) {
			if err := s.sshGuard(target).CheckHost(ctx, target.addr()); err != nil {
				return nil, err
			}
			return s.runSSH(target, command)
		}), nil
	}
	return s.stream(name, func(ctx context.Context) (wire, error) {
		w, err := s.sshChannel(ctx, target, command)
		if err != nil && ctx.Err() == nil && !isFinding(err) {
			// The shared connection may have ended since it was last used.
			w, err = s.sshChannel(ctx, target, command)
		}
		return w, err
	}), nil
}

func isFinding(err error) bool {
	_, ok := errors.AsType[*diag.Error](err)
	return ok
}

// sshTarget is where and how to connect.
type sshTarget struct {
	repo             string // identity, for messages
	host, port, user string
	alias            string // the host as the user spelled it
	path             string
	keys             []string // identity files
	knownHosts       []string
	onlyKeys         bool   // IdentitiesOnly
	program          string // a command line to run instead, "" for none
	named            bool
}

func (t sshTarget) addr() string { return net.JoinHostPort(t.host, t.port) }

// sshPath returns the repository's path on the server: as spelled in scp form,
// absolute in a URL, where /~user means user's home.
func sshPath(repo skill.Source) (string, error) {
	spelled := repo.URL()
	if !strings.Contains(spelled, "://") {
		_, path, _ := strings.Cut(spelled, ":")
		return path, nil
	}
	u, err := url.Parse(spelled)
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(u.Path, "/~") {
		return u.Path[1:], nil
	}
	return u.Path, nil
}

// sshChannel runs command on the shared connection, which is given up if it
// cannot.
func (s *Source) sshChannel(ctx context.Context, t sshTarget, command string) (wire, error) {
	key := t.user + "@" + t.addr()
	client, err := s.ssh.Get(ctx, key, func() (*ssh.Client, error) { return s.connectSSH(ctx, t) })
	if err != nil {
		return nil, err
	}
	w, err := openChannel(ctx, client, command)
	if err != nil {
		s.ssh.Forget(key)
		_ = client.Close()
	}
	return w, err
}

func (s *Source) sshGuard(t sshTarget) *web.Guard {
	return web.NewGuard(func(host string) bool { return t.named || s.named(host) }, connectTimeout)
}

func (s *Source) connectSSH(ctx context.Context, t sshTarget) (*ssh.Client, error) {
	db, err := knownhosts.NewDB(existing(t.knownHosts)...)
	if err != nil {
		return nil, diag.New(diag.HostKeyUnknown, "%s: a known_hosts file cannot be read", t.repo).WithCause(redact(err))
	}
	keys := s.signers(ctx, t)
	defer keys.close()
	conn, err := s.sshGuard(t).DialContext(ctx, "tcp", t.addr())
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	known := t.addr() // as known_hosts has it
	client, channels, requests, err := ssh.NewClientConn(conn, known, &ssh.ClientConfig{
		User:              t.user,
		Auth:              []ssh.AuthMethod{ssh.PublicKeysCallback(keys.list)},
		HostKeyCallback:   t.checkHostKey(db),
		HostKeyAlgorithms: db.HostKeyAlgorithms(known),
		Timeout:           connectTimeout,
	})
	if err != nil {
		_ = conn.Close()
		return nil, explainSSH(ctxCause(ctx, err), t, keys)
	}
	return ssh.NewClient(client, channels, requests), nil
}

// checkHostKey refuses a key that known_hosts does not have, with the command
// that would add it.
func (t sshTarget) checkHostKey(db *knownhosts.HostKeyDB) ssh.HostKeyCallback {
	check := db.HostKeyCallback()
	return func(hostname string, remote net.Addr, key ssh.PublicKey) error {
		err := check(hostname, remote, key)
		switch {
		case err == nil:
			return nil
		case knownhosts.IsHostKeyChanged(err):
			return diag.New(diag.HostKeyUnknown, "%s: the ssh host `%s` shows another key than known_hosts has", t.repo, t.host).
				WithDetail("it shows %s %s", key.Type(), ssh.FingerprintSHA256(key)).
				WithHint("somebody may be in between; if the host's owner confirms the new key: ssh-keygen -R %s, then add it", quoteHost(t))
		}
		return diag.New(diag.HostKeyUnknown, "%s: the ssh host `%s` is not in known_hosts", t.repo, t.host).
			WithDetail("it shows %s %s", key.Type(), ssh.FingerprintSHA256(key)).
			WithHint("compare that with what the host publishes, then: ssh-keyscan -p %s %s >> ~/.ssh/known_hosts", t.port, t.host)
	}
}

func quoteHost(t sshTarget) string {
	if t.port == "22" {
		return t.host
	}
	return fmt.Sprintf("'[%s]:%s'", t.host, t.port)
}

func explainSSH(err error, t sshTarget, keys *sshKeys) error {
	if isFinding(err) {
		return err
	}
	if strings.Contains(err.Error(), "unable to authenticate") { // x/crypto has no type for it
		e := diag.New(diag.FetchAuth, "%s: the ssh server accepts none of your keys", t.repo)
		for _, note := range keys.notes {
			e.WithDetail("%s", note)
		}
		return e.WithHint("load the right key with ssh-add, or name it for `%s` in ~/.ssh/config", t.alias)
	}
	return err
}

// sshWire is one command on an ssh connection.
type sshWire struct {
	session *ssh.Session
	in      io.WriteCloser
	out     io.Reader
	stderr  *tail
}

func openChannel(ctx context.Context, client *ssh.Client, command string) (wire, error) {
	stop := context.AfterFunc(ctx, func() { _ = client.Close() })
	w, err := startCommand(client, command)
	if !stop() { // the connection is being closed: nobody may find it again
		if err == nil {
			_ = w.Close()
		}
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

func startCommand(client *ssh.Client, command string) (*sshWire, error) {
	session, err := client.NewSession()
	if err != nil {
		return nil, err
	}
	w := &sshWire{session: session, stderr: &tail{}}
	session.Stderr = w.stderr
	// A server that does not take it speaks v0, which is understood too.
	_ = session.Setenv("GIT_PROTOCOL", "version=2")
	if w.in, err = session.StdinPipe(); err == nil {
		if w.out, err = session.StdoutPipe(); err == nil {
			err = session.Start(command)
		}
	}
	if err != nil {
		_ = session.Close()
		return nil, err
	}
	return w, nil
}

func (w *sshWire) Read(b []byte) (int, error)  { return w.out.Read(b) }
func (w *sshWire) Write(b []byte) (int, error) { return w.in.Write(b) }
func (w *sshWire) Close() error                { return w.session.Close() }

func (w *sshWire) complaint() string {
	done := make(chan struct{})
	go func() {
		_ = w.session.Wait() // copies the rest of stderr
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Second):
	}
	return w.stderr.String()
}
