package git_test

import (
	"net/http"
	"os"
	"testing"

	"github.com/skillpm/skillpm/fetch/fetchtest"
	"github.com/skillpm/skillpm/fetch/git"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/testkit"
)

// gitEnv is an environment in which git finds no configuration of the machine.
func gitEnv() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull}
}

func TestGitProgram(t *testing.T) {
	fetchtest.Run(t, func(t *testing.T, root string) fetchtest.Rung {
		s := fetchtest.Serve(t, root, testkit.Shape{})
		opt := git.Options{Named: only(s.Host()), CLI: git.CLIAlways, Environ: gitEnv()}
		return fetchtest.Rung{Source: newSource(t, opt), Base: s.URL}
	})
}

// A server that wants Kerberos or NTLM is left to git, which may know it.
func TestGitProgramForOtherAuth(t *testing.T) {
	root := t.TempDir()
	monorepo(t, root)
	s := fetchtest.Serve(t, root, testkit.Shape{})
	s.SetFault(func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if r.UserAgent() != "git/2 (skillpm)" {
			return false // stands for a git that can sign in
		}
		w.Header().Set("WWW-Authenticate", "Negotiate")
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	repo := parse(t, s.URL+"/acme/skills")
	if _, err := newSource(t, git.Options{Named: only(s.Host()), Environ: gitEnv()}).Refs(t.Context(), repo); err != nil {
		t.Error(err)
	}
	_, err := newSource(t, git.Options{Named: only(s.Host()), CLI: git.CLINever}).Refs(t.Context(), repo)
	if diag.CodeOf(err) != diag.RepositoryNotFoundOrPrivate {
		t.Errorf("%v", err)
	}
}

func TestNoGitProgram(t *testing.T) {
	src := newSource(t, git.Options{CLI: git.CLINever})
	if _, err := src.Refs(t.Context(), parse(t, "file:///srv/acme/skills")); diag.CodeOf(err) != diag.FetchFailed {
		t.Errorf("%v", err)
	}
}
