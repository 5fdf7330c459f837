package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/fetch/fetchtest"
	"github.com/skillpm/skillpm/internal/testkit"
)

// TestGuides runs the guides: every ```console block of a page is one shell
// session from the page's first line to its last, against git servers that
// answer for git.example.com and, with a password, private.example.com. What the
// page prints must be what comes out; "…" stands for anything in a line, and
// alone on a line for any lines. A comment <!-- setup … --> holds commands that
// the reader is spared.
//
// UPDATE_SCRIPTS=1 writes into the pages what came out instead.
func TestGuides(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"guide-developers.md", "guide-ci.md", "guide-authors.md", "import.md"} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			testGuide(t, filepath.Join(repoRoot, "docs", page))
		})
	}
}

func testGuide(t *testing.T, page string) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	steps := guideSteps(string(text))
	if len(steps) == 0 {
		t.Fatalf("%s has no console block", page)
	}
	runSteps(t, steps, guideEnv(t))
	if os.Getenv("UPDATE_SCRIPTS") != "" {
		if err := os.WriteFile(page, []byte(updated(string(text), steps)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, s := range steps {
		if !s.hidden && !matches(s.want, s.got) {
			t.Errorf("%s:%d: $ %s\n%s", page, s.line, s.command, cmp.Diff(s.want, s.got))
		}
	}
	if t.Failed() {
		t.Log("if that is as it should be: UPDATE_SCRIPTS=1 go test ./cmd/skillpm -run TestGuides, and read the diff")
	}
}

// step is one command of a guide with what it prints.
type step struct {
	command    string
	want, got  string
	hidden     bool
	line       int // of the command
	start, end int // of want, as offsets in the page
}

// guideSteps reads the sessions of a page.
func guideSteps(page string) []*step {
	var steps []*step
	block, offset := "", 0
	for n, line := range strings.SplitAfter(page, "\n") {
		trimmed := strings.TrimSuffix(line, "\n")
		switch {
		case block == "" && (trimmed == "```console" || trimmed == "<!-- setup"):
			block = trimmed
		case block == "```console" && trimmed == "```" || block != "" && trimmed == "-->":
			block = ""
		case block == "<!-- setup":
			steps = append(steps, &step{command: trimmed, hidden: true, line: n + 1})
		case block != "" && strings.HasPrefix(line, "$ "):
			end := offset + len(line)
			steps = append(steps, &step{command: trimmed[2:], line: n + 1, start: end, end: end})
		case block != "":
			s := steps[len(steps)-1]
			s.want += line
			s.end = offset + len(line)
		}
		offset += len(line)
	}
	return steps
}

// updated returns the page with what the commands printed.
func updated(page string, steps []*step) string {
	var b strings.Builder
	last := 0
	for _, s := range steps {
		if s.hidden || matches(s.want, s.got) {
			continue
		}
		b.WriteString(page[last:s.start])
		b.WriteString(s.got)
		last = s.end
	}
	return b.String() + page[last:]
}

// matches reports whether got is what the page promises.
func matches(want, got string) bool {
	pattern := regexp.QuoteMeta(want)
	pattern = regexp.MustCompile(`(?m)^…\n`).ReplaceAllString(pattern, `(?:.*\n)*`)
	pattern = strings.ReplaceAll(pattern, "…", `.*`)
	return regexp.MustCompile(`^` + pattern + `$`).MatchString(got)
}

// freshKey is what differs in every run: the name of a key that was just made.
var freshKey = regexp.MustCompile(`by key [0-9a-f]{64}`)

// mark divides the output of a command from that of the next.
const mark = "\x1e"

// runSteps gives all commands to one shell, so that directories, variables and
// $? carry over, and fills in what each printed.
func runSteps(t *testing.T, steps []*step, env []string) {
	t.Helper()
	var script strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&script, "%s\n__status=$?; printf '\\036'; (exit $__status)\n", s.command)
	}
	work := ""
	for _, e := range env {
		if dir, ok := strings.CutPrefix(e, "WORK="); ok {
			work = dir
		}
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script.String())
	cmd.Dir = filepath.Join(work, "project")
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	if len(out) == 0 && err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(strings.ReplaceAll(string(out), work, "/home/you"), mark)
	if len(parts) != len(steps)+1 {
		t.Fatalf("%d commands gave %d outputs:\n%s", len(steps), len(parts)-1, out)
	}
	for i, s := range steps {
		s.got = freshKey.ReplaceAllString(parts[i], "by key …")
		if s.got != "" && !strings.HasSuffix(s.got, "\n") {
			s.got += "\n"
		}
		if s.hidden && s.got != "" {
			t.Logf("line %d: %s", s.line, s.got)
		}
	}
}

// guideEnv is the machine of a guide's reader: an empty home, a project, and a
// network in which two git hosts exist.
func guideEnv(t *testing.T) []string {
	t.Helper()
	work, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"project", "tmp"} {
		if err := os.MkdirAll(filepath.Join(work, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	remotes := filepath.Join(work, ".remotes")
	if _, err := testkit.ReplayFile(remotes, filepath.Join("testdata", "guides.txtar")); err != nil {
		t.Fatal(err)
	}
	public := fetchtest.Serve(t, remotes, testkit.Shape{TLS: true})
	private := fetchtest.Serve(t, remotes, testkit.Shape{TLS: true, User: "you", Password: "secret"})
	ca := filepath.Join(work, ".ca.pem")
	if err := os.WriteFile(ca, public.CA, 0o644); err != nil {
		t.Fatal(err)
	}
	proxy := serveProxy(t, map[string]string{
		"git.example.com:443": public.Host(), "private.example.com:443": private.Host(),
	})
	return []string{
		"WORK=" + work, "HOME=" + work, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + filepath.Join(work, "tmp"),
		"HTTPS_PROXY=" + proxy, "SSL_CERT_FILE=" + ca, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=You", "GIT_AUTHOR_EMAIL=you@example.com", "GIT_COMMITTER_NAME=You", "GIT_COMMITTER_EMAIL=you@example.com",
		"GIT_AUTHOR_DATE=2026-02-01T10:00:00Z", "GIT_COMMITTER_DATE=2026-02-01T10:00:00Z", "LC_ALL=C", "TZ=UTC",
	}
}

// serveProxy starts an HTTP proxy whose CONNECT leads each host to the address
// that hosts gives it, and nowhere else, and returns its URL.
func serveProxy(t *testing.T, hosts map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to, ok := hosts[r.Host]
		if r.Method != http.MethodConnect || !ok {
			http.Error(w, "no such host", http.StatusBadGateway)
			return
		}
		if err := tunnel(r.Context(), w, to); err != nil {
			t.Errorf("proxy to %s: %v", r.Host, err)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// tunnel joins the connection under w with one to address until both ended.
func tunnel(ctx context.Context, w http.ResponseWriter, address string) error {
	far, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer far.Close()
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return err
	}
	defer near.Close()
	if _, err := io.WriteString(near, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(far, buffered)
		_ = far.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(near, far)
	_ = near.Close()
	<-done
	return nil
}

// runSkillpm returns what the binary prints.
func runSkillpm(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "skillpm", args...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"HOME=" + cmd.Dir, "PATH=" + os.Getenv("PATH")}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("skillpm %s: %v\n%s", strings.Join(args, " "), err, out.String())
	}
	return out.String()
}
