package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/fetch/internal/web"
	"github.com/skillpm/skillpm/skill"
)

// The last rung: the git program does the talking, where a server wants a way
// of signing in that only it has (NTLM, Kerberos), or where [git] cli says so. It
// fetches into a temporary repository, from which everything is then read, and
// checked, as from any server.

// cliRefs lists refs by git ls-remote.
func (s *Source) cliRefs(ctx context.Context, repo skill.Source, prefixes []string) (*fetch.Refs, error) {
	out, err := s.runGit(ctx, repo, "ls-remote", "--symref", "--", s.rewritten(repo).URL())
	if err != nil {
		return nil, err
	}
	refs := &fetch.Refs{}
	for line := range strings.Lines(out) {
		id, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if target, symref := strings.CutPrefix(id, "ref: "); ok && symref {
			if name == "HEAD" && legalRef(target) {
				refs.Head = target
			}
			continue
		}
		if _, err := formatOf(fetch.ID(id)); !ok || err != nil || len(name) > maxRefName {
			return nil, errNotGit
		}
		if err := addRef(refs, name, fetch.ID(id)); err != nil {
			return nil, err
		}
	}
	sortRefs(refs)
	return refs.Select(prefixes...), nil
}

// cliOpen fetches the wanted commits into a temporary repository.
func (s *Source) cliOpen(ctx context.Context, repo skill.Source, wants []fetch.Want) (fetch.Snapshot, error) {
	f, err := formatOf(wants[0].Commit)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "skillpm-git-*")
	if err != nil {
		return nil, err
	}
	remove := func() error { return os.RemoveAll(dir) }
	snap, err := s.cliOpenIn(ctx, dir, f, repo, wants)
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	return &cliSnapshot{snap, remove}, nil
}

func (s *Source) cliOpenIn(ctx context.Context, dir string, f format, repo skill.Source, wants []fetch.Want) (*snapshot, error) {
	if _, err := s.runGit(ctx, repo, "init", "--quiet", "--bare", "--template=", "--object-format="+f.name, "--", dir); err != nil {
		return nil, err
	}
	args := []string{"-C", dir, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance",
		"--recurse-submodules=no", "--", s.rewritten(repo).URL()}
	for _, w := range wants {
		if _, err := f.parse(w.Commit); err != nil {
			return nil, err
		}
		args = append(args, string(w.Commit))
	}
	if _, err := s.runGit(ctx, repo, args...); err != nil {
		return nil, err
	}
	local, err := FileSource(dir)
	if err != nil {
		return nil, err
	}
	svc, err := s.dialFile(local, repo.Repository())
	if err != nil {
		return nil, err
	}
	ses := &session{src: s, repo: repo.Repository(), host: "file://", svc: svc}
	return ses.open(ctx, wants)
}

// cliSnapshot removes its repository when it is closed.
type cliSnapshot struct {
	*snapshot
	remove func() error
}

// Close implements fetch.Snapshot.
func (c *cliSnapshot) Close() error {
	return errors.Join(c.snapshot.Close(), c.session.svc.close(), c.remove())
}

// runGit runs git without a way to ask anybody.
func (s *Source) runGit(ctx context.Context, repo skill.Source, args ...string) (string, error) {
	program, err := s.gitProgram(repo.Repository(), "only git can reach it")
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errSlow)
	defer cancel()
	patience := cmp.Or(s.opt.Patience, web.DefaultPatience)
	cmd := exec.CommandContext(ctx, program, append([]string{
		"-c", "core.askPass=", "-c", "protocol.ext.allow=never",
		"-c", "http.followRedirects=false", // it would not ask us where to
		"-c", "http.lowSpeedLimit=1", "-c", fmt.Sprintf("http.lowSpeedTime=%d", max(1, patience/time.Second)),
	}, args...)...)
	cmd.Env = quiet(s.opt)
	if s.sshProgram() == "" {
		cmd.Env = append(cmd.Env, "GIT_SSH_COMMAND=ssh -o BatchMode=yes -o StrictHostKeyChecking=yes")
	}
	return output(ctx, cmd)
}

// output runs cmd and returns what it wrote to standard output. What it wrote to
// standard error becomes the error.
func output(ctx context.Context, cmd *exec.Cmd) (string, error) {
	var out bytes.Buffer
	said := &tail{}
	cmd.Stdout, cmd.Stderr = &out, said
	if err := runCommand(ctx, cmd); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		text := said.String()
		if text == "" {
			text = err.Error()
		}
		return "", &remoteError{cleanMessage([]byte(text))}
	}
	return out.String(), nil
}

// runCommand runs cmd, which was made with ctx, and returns soon after ctx ends.
// git leaves helpers behind for a moment that hold its pipes: after a normal end
// they are waited for, or output could be lost, but not after a cancellation.
func runCommand(ctx context.Context, cmd *exec.Cmd) error {
	cmd.WaitDelay = reapDelay
	done := make(chan error, 1)
	go func() { done <- cmd.Run() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case <-done:
	case <-time.After(killDelay):
	}
	return context.Cause(ctx)
}

// allowed makes the check of a host that otherwise comes with dialling it. git
// will dial by itself, so for a host nobody named this is no proof against a name
// that changes in between; such hosts get here only after they were spoken to
// already, unless the user has git do everything.
func (s *Source) allowed(ctx context.Context, repo skill.Source) error {
	repo = s.rewritten(repo)
	port := map[string]string{"https": "443", "ssh": "22"}[repo.Transport()]
	if port == "" { // a named host, or none
		return nil
	}
	addr := repo.Host()
	if _, _, err := net.SplitHostPort(addr); err != nil {
		addr = net.JoinHostPort(strings.Trim(addr, "[]"), port)
	}
	return web.NewGuard(s.named, connectTimeout).CheckHost(ctx, addr)
}

// onlyGit reports whether err is a server's demand that only the git program
// may be able to meet.
func (s *Source) onlyGit(err error) bool {
	e, ok := errors.AsType[*statusError](err)
	return ok && e.status == 401 && e.foreign && s.opt.CLI != CLINever
}
