// Package git reads git repositories over https, http, ssh, git:// and from
// disk: it is the fetch.Source for git hosts. Nothing is cloned or checked out:
// commits and directories are fetched into memory, then exactly the files that
// are wanted. For one skill at a known commit that is two requests, at the same
// time where the lock knows its directory.
//
// It speaks protocol v2 itself over every transport, and v0 to servers that
// know no better (go-git's client has neither v2 nor limits; its hashing and
// object types are used). The git program is run to serve a repository on disk,
// to ask the user's credential helpers, and where a server wants what only it
// can do, unless [git] cli says never.
//
//	src, err := git.New(git.Options{Home: home, Environ: os.Environ()})
//	defer src.Close()
//	refs, err := src.Refs(ctx, repo, "HEAD", "refs/tags/")
//
// What a server sends is bounded (limits.go) and every object is hashed again.
package git

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/fetch/internal/web"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/par"
	"github.com/skillpm/skillpm/skill"
)

// CLI says when the git program may be run to reach a repository.
type CLI string

// The values of [git] cli.
const (
	CLIAuto   CLI = "auto" // only where nothing else can
	CLIAlways CLI = "always"
	CLINever  CLI = "never" // also not for credentials
)

// Facts remembers what was learnt about hosts between runs. Implementations are
// safe for concurrent use; losing facts costs requests, not correctness.
type Facts interface {
	Get(key string) (string, bool)
	Put(key, value string)
}

// Options configures New. The zero value is usable: no host is named, nothing
// is remembered, the environment is empty.
type Options struct {
	// Named reports whether the user wrote this host (host or host:port, lower
	// case) on the command line or in a file of their own. Only named hosts may
	// be private, loopback or link-local, or be spoken to over http or git://.
	// Nil means none.
	Named func(host string) bool
	// CLI defaults to CLIAuto.
	CLI CLI
	// Environ is the environment, as os.Environ gives it: proxies,
	// SKILLPM_TOKEN_<HOST>, NETRC, SSH_AUTH_SOCK, SSL_CERT_FILE, GIT_CONFIG_….
	Environ []string
	// Home is the user's home directory, "" if there is none.
	Home     string
	Facts    Facts
	Progress fetch.Progress
	// Notify is told of what the user should know although nothing failed, as
	// that a repository has moved. Nil drops it.
	Notify func(*diag.Error)
	// UserAgent is sent to servers as the client's name; "" means skillpm.
	UserAgent string
	// CAFile is a PEM file of further certificate authorities.
	CAFile string
	// Patience is the longest wait for a server to answer, or for more of its
	// answer to come; 0 means a minute. One that sends next to nothing is given
	// up after twice that.
	Patience time.Duration
}

// Source is the fetch.Source for git repositories.
type Source struct {
	opt      Options
	agent    string // as the protocol's agent
	progress fetch.Progress
	auth     *keyring

	webOnce sync.Once
	rt      *web.Transport
	webErr  error

	configOnce func() *gitConfig
	configured sync.Map                      // hosts named in the user's git configuration
	ssh        par.Once[string, *ssh.Client] // by user and address

	mu       sync.Mutex
	sessions map[string]*session
	facts    map[string]string
	warned   map[string]bool
}

var _ fetch.Source = (*Source)(nil)

// New returns a Source. It opens nothing until it is used.
func New(opt Options) (*Source, error) {
	s := &Source{
		opt: opt, agent: opt.UserAgent, progress: opt.Progress,
		sessions: map[string]*session{}, facts: map[string]string{}, warned: map[string]bool{},
	}
	if s.agent == "" {
		s.agent = "skillpm"
	}
	if s.progress == nil {
		s.progress = silent{}
	}
	s.auth = newKeyring(opt)
	s.configOnce = sync.OnceValue(s.readConfig)
	return s, nil
}

type silent struct{}

func (silent) Phase(string, string) {}
func (silent) Bytes(string, int64)  {}

// Refs implements fetch.Source.
func (s *Source) Refs(ctx context.Context, repo skill.Source, prefixes ...string) (*fetch.Refs, error) {
	ses, err := s.session(repo)
	if err != nil {
		return nil, err
	}
	var refs *fetch.Refs
	if s.opt.CLI != CLIAlways {
		refs, err = ses.refs(ctx, prefixes)
	}
	if s.opt.CLI == CLIAlways || s.onlyGit(err) {
		if err = s.allowed(ctx, repo); err == nil {
			refs, err = s.cliRefs(ctx, repo, prefixes)
		}
	}
	if err != nil {
		return nil, explain(err, ses.repo)
	}
	return refs, nil
}

// Open implements fetch.Source.
func (s *Source) Open(ctx context.Context, repo skill.Source, wants []fetch.Want) (fetch.Snapshot, error) {
	ses, err := s.session(repo)
	if err != nil {
		return nil, err
	}
	if len(wants) == 0 {
		return nil, diag.New(diag.Internal, "%s: no commit is wanted", ses.repo)
	}
	var snap fetch.Snapshot
	if s.opt.CLI != CLIAlways {
		snap, err = ses.open(ctx, wants)
	}
	if s.opt.CLI == CLIAlways || s.onlyGit(err) {
		if err = s.allowed(ctx, repo); err == nil {
			snap, err = s.cliOpen(ctx, repo, wants)
		}
	}
	if err != nil {
		return nil, explain(err, ses.repo)
	}
	return snap, nil
}

// Close ends connections. Snapshots are closed by whoever opened them.
func (s *Source) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, ses := range s.sessions {
		errs = append(errs, ses.svc.close())
	}
	for _, client := range s.ssh.Values() {
		_ = client.Close() // its channels are closed; the server may have ended it
	}
	if s.rt != nil {
		s.rt.CloseIdleConnections()
	}
	return errors.Join(errs...)
}

// session returns the one session for repo. Repositories with one identity share
// it: whichever spelling comes first in a run decides the transport.
func (s *Source) session(repo skill.Source) (*session, error) {
	if repo.Kind() != skill.SourceGit {
		return nil, diag.New(diag.Internal, "%s is no git repository", repo)
	}
	name := repo.Repository()
	s.mu.Lock()
	defer s.mu.Unlock()
	if ses := s.sessions[name]; ses != nil {
		return ses, nil
	}
	svc, host, err := s.dial(repo)
	if err != nil {
		return nil, explain(err, name)
	}
	ses := &session{src: s, repo: name, host: host, svc: svc}
	s.sessions[name] = ses
	return ses, nil
}
