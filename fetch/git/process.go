package git

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/skillpm/skillpm/skill"
)

// dialFile reaches a repository on disk. Reading one safely (alternates, packs
// of every version, both object formats) is git's own business, so its
// upload-pack serves it to us, and what it sends is checked like any server's. environ is added
// to git's environment.
func (s *Source) dialFile(repo skill.Source, name string, environ ...string) (service, error) {
	program, err := s.gitProgram(name, "a repository on disk is read by git")
	if err != nil {
		return nil, err
	}
	u := strings.TrimPrefix(repo.URL(), "file://")
	dir := filepath.FromSlash(unescapePath(u))
	return s.stream(name, func(context.Context) (wire, error) {
		// The command line is git's protected configuration, so this repository
		// is served whoever owns it (the user named it), and in full; hooks and
		// programs that its own configuration names are not run by upload-pack.
		return startProcess(append(quiet(s.opt), environ...), program, "-c", "safe.directory=*",
			"-c", "uploadpack.allowFilter=true", "upload-pack", "--", dir)
	}), nil
}

func (s *Source) gitProgram(repo, why string) (string, error) {
	if s.opt.CLI == CLINever {
		return "", needGit(repo, why, s.opt.CLI)
	}
	program, err := exec.LookPath("git")
	if err != nil {
		return "", needGit(repo, why, s.opt.CLI)
	}
	return program, nil
}

// processWire is a child process whose standard input and output are the wire.
type processWire struct {
	in     io.WriteCloser
	out    io.ReadCloser
	stderr *tail
	cmd    *exec.Cmd
	done   chan struct{}
	once   sync.Once
}

// startProcess runs a program with GIT_PROTOCOL asking for version 2. It lives
// until Close: its connection outlasts the call that made it.
func startProcess(env []string, program string, args ...string) (wire, error) {
	cmd := exec.Command(program, args...)
	cmd.Env = append(env, "GIT_PROTOCOL=version=2")
	w := &processWire{cmd: cmd, stderr: &tail{}, done: make(chan struct{})}
	cmd.Stderr = w.stderr
	cmd.WaitDelay = killDelay
	var err error
	if w.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if w.out, err = cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return w, nil
}

func (w *processWire) Read(b []byte) (int, error)  { return w.out.Read(b) }
func (w *processWire) Write(b []byte) (int, error) { return w.in.Write(b) }

// wait reaps the process once.
func (w *processWire) wait() {
	w.once.Do(func() {
		_ = w.cmd.Wait() // its message, if any, is in stderr
		close(w.done)
	})
}

func (w *processWire) complaint() string {
	go w.wait()
	select {
	case <-w.done:
	case <-time.After(killDelay):
	}
	return w.stderr.String()
}

func (w *processWire) Close() error {
	err := errors.Join(w.in.Close(), w.cmd.Process.Kill())
	w.wait()
	return err
}

// tail keeps the beginning of what a program writes to standard error.
type tail struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer and takes everything.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := maxMessage - t.b.Len(); room > 0 {
		t.b.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}
