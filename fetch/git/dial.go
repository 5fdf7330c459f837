package git

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/skillpm/skillpm/fetch/internal/web"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// dial chooses the transport for repo. Nothing is connected yet. host is the
// key under which capabilities are remembered. Messages name the repository as
// it was asked for, whatever address the user's git configuration makes of it.
func (s *Source) dial(repo skill.Source) (svc service, host string, err error) {
	name := repo.Repository()
	repo = s.rewritten(repo)
	host = repo.Transport() + "://" + repo.Host()
	switch repo.Transport() {
	case "https", "http":
		svc, err = s.dialHTTP(repo, name)
	case "ssh":
		svc, err = s.dialSSH(repo, name)
	case "git":
		svc, err = s.dialDaemon(repo, name)
	case "file":
		svc, err = s.dialFile(repo, name)
	default:
		err = diag.New(diag.Internal, "no transport for %s", repo)
	}
	return svc, host, err
}

// rewritten applies the user's url.<base>.insteadOf. A host that only stands in
// their git configuration is one they named.
func (s *Source) rewritten(repo skill.Source) skill.Source {
	address, ok := s.config().rewrite(repo.URL())
	if !ok {
		return repo
	}
	to, err := skill.ParseSource(address)
	if err != nil || to.Kind() != skill.SourceGit {
		return repo // what git itself would make of it is no address we know
	}
	s.configured.Store(to.Host(), true)
	return to
}

func (s *Source) dialHTTP(repo skill.Source, name string) (service, error) {
	if _, err := s.transport(); err != nil {
		return nil, err
	}
	base, err := url.Parse(repo.URL())
	if err != nil {
		return nil, diag.New(diag.RequirementSyntax, "%s is no URL", repo)
	}
	user, password := repo.Credentials()
	base.User = nil
	base.Path, base.RawPath = strings.TrimSuffix(base.Path, "/"), strings.TrimSuffix(base.RawPath, "/")
	if base.Scheme == "http" && !s.named(repo.Host()) {
		return nil, &web.Refused{Why: "plaintext http to a host that you did not name"}
	}
	if err := s.rt.Guard().CheckURL(base); err != nil {
		return nil, err
	}
	h := &httpService{src: s, repo: name}
	h.at.Store(&address{base: base, user: user, password: password})
	return h, nil
}

// named reports whether the user named host, to us or in their git configuration.
func (s *Source) named(host string) bool {
	_, configured := s.configured.Load(host)
	return configured || s.opt.Named != nil && s.opt.Named(host)
}

// transport returns the HTTP transport that all repositories share.
func (s *Source) transport() (*web.Transport, error) {
	s.webOnce.Do(func() {
		s.rt, s.webErr = web.New(web.Config{
			Named: s.named, Getenv: s.getenv, Proxy: s.config().get("http.proxy"),
			CAFiles:        []string{s.opt.CAFile, s.getenv("GIT_SSL_CAINFO"), expandHome(s.config().get("http.sslcainfo"), s.opt.Home)},
			ConnectTimeout: connectTimeout, Patience: s.opt.Patience,
		})
		if s.webErr != nil {
			s.webErr = diag.New(diag.FetchFailed, "cannot use the network settings").WithCause(s.webErr)
		}
	})
	return s.rt, s.webErr
}

func (s *Source) getenv(key string) string { return lookup(s.opt.Environ, key) }

// lookup returns the last value of key in an environment.
func lookup(environ []string, key string) string {
	value := ""
	for _, e := range environ {
		if k, v, ok := strings.Cut(e, "="); ok && k == key {
			value = v
		}
	}
	return value
}

// headers adds the user's http.extraHeader, which is how some CI systems hand
// out a token for one host.
func (s *Source) headers(r *http.Request) {
	key, value, ok := strings.Cut(s.config().forURL(r.URL.Scheme+"://"+r.URL.Host+r.URL.Path, "extraheader"), ":")
	if ok && !strings.ContainsAny(value, "\r\n") {
		r.Header.Set(strings.TrimSpace(key), strings.TrimSpace(value))
	}
}

// moved tells the user once that a repository has another address now.
func (s *Source) moved(repo, to string) {
	s.mu.Lock()
	told := s.warned[repo]
	s.warned[repo] = true
	s.mu.Unlock()
	if told || s.opt.Notify == nil {
		return
	}
	s.opt.Notify(diag.Warn(diag.RepositoryMoved, "%s has moved to %s", repo, diag.Escape(to)).
		WithHint("write the new address in skills.toml"))
}

// recall returns what is remembered about a host, from this run or an earlier
// one.
func (s *Source) recall(host string) (string, bool) {
	s.mu.Lock()
	fact, ok := s.facts[host]
	s.mu.Unlock()
	if !ok && s.opt.Facts != nil {
		fact, ok = s.opt.Facts.Get("git " + host)
	}
	return fact, ok
}

// remember keeps what a host's server can do.
func (s *Source) remember(host string, c caps) { s.note(host, c.fact()) }

// note keeps one word under a key, for this run and later ones.
func (s *Source) note(key, word string) {
	s.mu.Lock()
	old, known := s.facts[key]
	s.facts[key] = word
	s.mu.Unlock()
	if s.opt.Facts == nil || known && old == word {
		return
	}
	if before, ok := s.opt.Facts.Get("git " + key); !ok || before != word {
		s.opt.Facts.Put("git "+key, word)
	}
}
