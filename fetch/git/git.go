// Package git reads git repositories over https, http, ssh, git:// and from
// disk: it is the fetch.Source for git hosts. Nothing is cloned or checked out.
package git

import (
	"context"
	"errors"

	"github.com/skillpm/skillpm/fetch"
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
	// be private, loopback or link-local. Nil means none.
	Named func(host string) bool
	// CLI defaults to CLIAuto.
	CLI CLI
	// Getenv reads the environment: proxies, SKILLPM_TOKEN_<HOST>, NETRC,
	// SSH_AUTH_SOCK, SSL_CERT_FILE. Nil means an empty one.
	Getenv func(string) string
	// Home is the user's home directory, "" if there is none.
	Home string
	// Spelling returns the spelling to fetch a repository with, given its
	// identity (skill.Source.Repository); nil or false means the source's own.
	// It lets one repository have one transport in a run.
	Spelling func(repository string) (skill.Source, bool)
	Facts    Facts
	Progress fetch.Progress
	// UserAgent is sent to servers; "" means skillpm.
	UserAgent string
	// CAFile is a PEM file of further certificate authorities.
	CAFile string
}

// Source is the fetch.Source for git repositories.
type Source struct{ opt Options }

var _ fetch.Source = (*Source)(nil)

// New returns a Source. It opens nothing until it is used.
func New(opt Options) (*Source, error) { return &Source{opt: opt}, nil }

// Refs implements fetch.Source.
func (s *Source) Refs(ctx context.Context, repo skill.Source, prefixes ...string) (*fetch.Refs, error) {
	return nil, errors.New("not yet")
}

// Open implements fetch.Source.
func (s *Source) Open(ctx context.Context, repo skill.Source, wants []fetch.Want) (fetch.Snapshot, error) {
	return nil, errors.New("not yet")
}

// Close ends idle connections and removes spilled files.
func (s *Source) Close() error { return nil }
