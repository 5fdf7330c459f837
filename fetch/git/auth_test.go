package git_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillpm/skillpm/fetch/fetchtest"
	"github.com/skillpm/skillpm/fetch/git"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/testkit"
)

const secret = "hunter2:with,odd chars"

// helperScript is a credential helper that logs what git tells it.
func helperScript(t *testing.T, user, password string) (gitconfig, log string) {
	t.Helper()
	dir := t.TempDir()
	log = filepath.Join(dir, "log")
	script := filepath.Join(dir, "helper")
	body := fmt.Sprintf("#!/bin/sh\necho \"$1\" >> %s\n[ \"$1\" = get ] && printf 'username=%s\\npassword=%s\\n'\nexit 0\n", log, user, password)
	if err := os.WriteFile(script, []byte(body), 0o755); err != nil {
		t.Fatal(err)
	}
	gitconfig = filepath.Join(dir, "gitconfig")
	if err := os.WriteFile(gitconfig, []byte("[credential]\n\thelper = "+script+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return gitconfig, log
}

func TestCredentials(t *testing.T) {
	root := t.TempDir()
	monorepo(t, root)
	s := fetchtest.Serve(t, root, testkit.Shape{User: "u", Password: secret})
	host, port, _ := strings.Cut(s.Host(), ":")
	write := func(name, text string) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	helper, log := helperScript(t, "u", secret)
	wrong, _ := helperScript(t, "u", "wrong")
	path := "PATH=" + os.Getenv("PATH")
	netrcSecret := "machine other login x password y\nmachine " + host + "\n login u\n password hunter2\n"
	simple := fetchtest.Serve(t, root, testkit.Shape{User: "u", Password: "hunter2"})
	for _, tt := range []struct {
		name     string
		server   *testkit.Server
		url      string
		opt      git.Options
		code     diag.Code
		requests int
	}{
		{"none", s, "", git.Options{}, diag.RepositoryNotFoundOrPrivate, 1},
		{"token with port", s, "", git.Options{Environ: []string{"SKILLPM_TOKEN_" + strings.ReplaceAll(host, ".", "_") + "_" + port + "=u:" + secret}}, "", 1},
		{"token without port", s, "", git.Options{Environ: []string{"SKILLPM_TOKEN_" + strings.ReplaceAll(host, ".", "_") + "=u:" + secret}}, "", 1},
		{"wrong token", s, "", git.Options{Environ: []string{"SKILLPM_TOKEN_127_0_0_1=u:wrong"}}, diag.FetchAuth, 1},
		{"in the URL", simple, "http://u:hunter2@" + simple.Host(), git.Options{}, "", 2},
		{"netrc", simple, "", git.Options{Environ: []string{"NETRC=" + write("netrc", netrcSecret)}}, "", 2},
		{"netrc of the home directory", simple, "", git.Options{Home: filepath.Dir(write(".netrc", netrcSecret))}, "", 2},
		{"netrc for another user", simple, "http://v@" + simple.Host(), git.Options{Environ: []string{"NETRC=" + write("netrc", netrcSecret)}}, diag.RepositoryNotFoundOrPrivate, 1},
		{"helper", s, "", git.Options{Environ: []string{path, "GIT_CONFIG_GLOBAL=" + helper}}, "", 2},
		{"helper with a wrong password", s, "", git.Options{Environ: []string{path, "GIT_CONFIG_GLOBAL=" + wrong}}, diag.FetchAuth, 2},
		{"helper, but no git", s, "", git.Options{CLI: git.CLINever, Environ: []string{path, "GIT_CONFIG_GLOBAL=" + helper}}, diag.RepositoryNotFoundOrPrivate, 1},
		{"extraHeader for one host", simple, "", git.Options{Environ: []string{"GIT_CONFIG_COUNT=1",
			"GIT_CONFIG_KEY_0=http." + simple.URL + "/.extraheader", "GIT_CONFIG_VALUE_0=Authorization: Basic dTpodW50ZXIy"}}, "", 1},
		{"extraHeader for all hosts", simple, "", git.Options{Environ: []string{"GIT_CONFIG_COUNT=1",
			"GIT_CONFIG_KEY_0=http.extraheader", "GIT_CONFIG_VALUE_0=Authorization: Basic dTpodW50ZXIy"}}, diag.RepositoryNotFoundOrPrivate, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.opt.Named = only(tt.server.Host())
			base := tt.url
			if base == "" {
				base = tt.server.URL
			}
			tt.server.Requests()
			_, err := newSource(t, tt.opt).Refs(t.Context(), parse(t, base+"/acme/skills"), "HEAD")
			if got := diag.CodeOf(err); got != tt.code {
				t.Errorf("code %q (%v), want %q", got, err, tt.code)
			}
			if n := len(tt.server.Requests()); n != tt.requests {
				t.Errorf("%d requests, want %d", n, tt.requests)
			}
			if err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(fmt.Sprintf("%+v", diag.All(err)[0]), "hunter2")) {
				t.Errorf("the secret is in %v", err)
			}
		})
	}
	b, err := os.ReadFile(log)
	if err != nil || string(b) != "get\nstore\n" {
		t.Errorf("the helper was told %q, %v", b, err)
	}
}

// A helper is asked once for a host, and what worked is sent at once from then on.
func TestCredentialsAreFoundOnce(t *testing.T) {
	root := t.TempDir()
	monorepo(t, root)
	s := fetchtest.Serve(t, root, testkit.Shape{User: "u", Password: secret})
	helper, log := helperScript(t, "u", secret)
	src := newSource(t, git.Options{Named: only(s.Host()), Environ: []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_GLOBAL=" + helper}})
	for range 3 {
		if _, err := src.Refs(t.Context(), parse(t, s.URL+"/acme/skills"), "HEAD"); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.Requests()); n != 4 {
		t.Errorf("%d requests, want 4", n)
	}
	if b, _ := os.ReadFile(log); string(b) != "get\nstore\n" {
		t.Errorf("the helper was told %q", b)
	}
}

func TestInsteadOf(t *testing.T) {
	root := t.TempDir()
	monorepo(t, root)
	s := fetchtest.Serve(t, root, testkit.Shape{})
	home := t.TempDir()
	files := map[string]string{
		".gitconfig": "[include]\n\tpath = more.inc\n[url \"http://127.0.0.1:1/\"]\n\tinsteadOf = https://example.com/\n",
		"more.inc":   "[url \"" + s.URL + "/\"]\n\tinsteadOf = https://example.com/team/\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	src := newSource(t, git.Options{Home: home, Environ: []string{"GIT_CONFIG_NOSYSTEM=1"}})
	if _, err := src.Refs(t.Context(), parse(t, "example.com/team/acme/skills"), "HEAD"); err != nil {
		t.Error(err)
	}
	_, err := src.Refs(t.Context(), parse(t, "example.com/team/acme/gone"), "HEAD")
	if diag.CodeOf(err) != diag.RepositoryNotFoundOrPrivate || !strings.Contains(err.Error(), "example.com/team/acme/gone") {
		t.Errorf("messages name what was asked for, not %v", err)
	}
}
