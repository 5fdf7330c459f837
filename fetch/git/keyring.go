package git

import (
	"cmp"
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/skillpm/skillpm/internal/par"
)

// credential is a user and password (or token) for one host.
type credential struct {
	user, password string
	helper         bool // from git's helpers, which are told whether it worked
}

// keyring finds credentials: in the URL, in SKILLPM_TOKEN_<HOST>, in ~/.netrc
// and with git's helpers, in that order. What worked is used from then on. It
// keeps nothing on disk and never asks anybody.
type keyring struct {
	opt    Options
	netrc  func() []netrcEntry
	filled par.Once[string, *credential] // answers of helpers

	mu     sync.Mutex
	proven map[string]*credential // by scheme and host
	told   map[*credential]bool   // helpers that know it worked
}

func newKeyring(opt Options) *keyring {
	k := &keyring{opt: opt, proven: map[string]*credential{}, told: map[*credential]bool{}}
	k.netrc = sync.OnceValue(k.readNetrc)
	return k
}

// seeker walks through the credentials there are for one URL.
type seeker struct {
	k     *keyring
	u     *url.URL
	given *credential // in the URL itself
	user  string
	moved bool // the user did not name this address: a server led to it
	step  int
}

func (k *keyring) seek(at *address) *seeker {
	s := &seeker{k: k, u: at.base, user: at.user, moved: at.moved}
	if at.password != "" {
		s.given = &credential{user: at.user, password: at.password}
	}
	return s
}

// ofHost reports whether what is meant for a host, whatever its port, is meant
// for this URL. A server must not be able to lead it to another service there.
func (s *seeker) ofHost() bool {
	return !s.moved || s.u.Scheme == "https" && (s.u.Port() == "" || s.u.Port() == "443")
}

func keyOf(u *url.URL) string { return u.Scheme + "://" + u.Host }

// first returns what to send unasked: what has worked on this host, or a token
// that the user set for it. All else waits until the server demands it.
func (s *seeker) first() *credential {
	s.k.mu.Lock()
	c := s.k.proven[keyOf(s.u)]
	s.k.mu.Unlock()
	if c == nil && s.given == nil {
		c = s.token()
	}
	return c
}

// next returns the next credential to try, nil if there is none. helpers says
// whether git's helpers may be asked, which is slow.
func (s *seeker) next(ctx context.Context, tried *credential, helpers bool) (*credential, error) {
	for {
		s.step++
		var c *credential
		switch s.step {
		case 1:
			c = s.given
		case 2:
			c = s.token()
		case 3:
			c = s.fromNetrc()
		case 4:
			if !helpers {
				continue
			}
			var err error
			if c, err = s.k.fill(ctx, s.u, s.user); err != nil {
				return nil, err
			}
		default:
			return nil, nil
		}
		if c != nil && (tried == nil || c.user != tried.user || c.password != tried.password) {
			return c, nil
		}
	}
}

// good notes that a credential worked and tells git's helpers once.
func (k *keyring) good(ctx context.Context, u *url.URL, c *credential) {
	k.mu.Lock()
	k.proven[keyOf(u)] = c
	tell := c.helper && !k.told[c]
	k.told[c] = true
	k.mu.Unlock()
	if tell {
		k.helper(ctx, "approve", u, c)
	}
}

// bad notes that a credential was refused.
func (k *keyring) bad(ctx context.Context, u *url.URL, c *credential) {
	k.mu.Lock()
	if k.proven[keyOf(u)] == c {
		delete(k.proven, keyOf(u))
	}
	k.mu.Unlock()
	if c.helper {
		k.helper(ctx, "reject", u, c)
	}
}

// tokenVariable is the name of the variable with a host's token:
// SKILLPM_TOKEN_ and the host, with its port if it has one, in upper case, every
// other character than A-Z and 0-9 being an underscore.
func tokenVariable(host string) string {
	return "SKILLPM_TOKEN_" + strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(host))
}

// token reads SKILLPM_TOKEN_<HOST> (with the port, then without): a token, or
// user:password. Over plaintext http a token is sent to named hosts only, which
// are the only ones spoken to over http.
func (s *seeker) token() *credential {
	value := lookup(s.k.opt.Environ, tokenVariable(s.u.Host))
	if s.ofHost() {
		value = cmp.Or(value, lookup(s.k.opt.Environ, tokenVariable(s.u.Hostname())))
	} else if s.u.Port() == "" {
		value = "" // the name says nothing of plaintext
	}
	if value == "" {
		return nil
	}
	if name, password, ok := strings.Cut(value, ":"); ok {
		return &credential{user: name, password: password}
	}
	// GitHub wants this name; GitLab and Gitea take any.
	return &credential{user: cmp.Or(s.user, "x-access-token"), password: value}
}

func (k *keyring) readNetrc() []netrcEntry {
	files := []string{lookup(k.opt.Environ, "NETRC")}
	if k.opt.Home != "" {
		files = append(files, filepath.Join(k.opt.Home, ".netrc"), filepath.Join(k.opt.Home, "_netrc"))
	}
	for _, file := range files {
		if file == "" {
			continue
		}
		if b, err := os.ReadFile(file); err == nil {
			return parseNetrc(string(b))
		}
	}
	return nil
}

func (s *seeker) fromNetrc() *credential {
	if !s.ofHost() {
		return nil
	}
	for _, e := range s.k.netrc() {
		if (e.machine == "" || strings.EqualFold(e.machine, s.u.Hostname())) && (s.user == "" || e.login == s.user) && e.password != "" {
			return &credential{user: e.login, password: e.password}
		}
	}
	return nil
}

// netrcEntry is one machine of a .netrc; machine is "" for the default.
type netrcEntry struct{ machine, login, password string }

// parseNetrc reads the format of ftp(1): blank-separated words, of which macdef
// runs to the next empty line. The default entry counts only after all others.
func parseNetrc(text string) []netrcEntry {
	var list []netrcEntry
	var fallback []netrcEntry
	current := &netrcEntry{}
	macro := false
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if macro && len(words) > 0 {
			continue
		}
		macro = false
		for i := 0; i < len(words); i++ {
			value := ""
			if i+1 < len(words) {
				value = words[i+1]
			}
			switch words[i] {
			case "machine":
				list = append(list, netrcEntry{machine: value})
				current = &list[len(list)-1]
				i++
			case "default":
				fallback = append(fallback, netrcEntry{})
				current = &fallback[len(fallback)-1]
			case "login":
				current.login = value
				i++
			case "password":
				current.password = value
				i++
			case "account":
				i++
			case "macdef":
				macro = true
				i = len(words)
			default:
				if strings.HasPrefix(words[i], "#") {
					i = len(words)
				}
			}
		}
	}
	return append(list, fallback...)
}
