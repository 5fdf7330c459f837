package skill

import (
	"net/url"
	"path"
	"strings"
)

// SourceKind says where a source's bytes come from.
type SourceKind int

const (
	// SourceGit is a directory of a git repository.
	SourceGit SourceKind = iota + 1
	// SourcePath is a directory of the project itself.
	SourcePath
	// SourceIndex is a site with an agent-skills discovery index.
	SourceIndex
)

// Source says where a skill lives. Two sources are the same skill when their
// Identity is equal, however they were spelled.
type Source struct {
	kind SourceKind
	// scheme is what the identity speaks: "" for https and ssh, else http, git or file.
	scheme string
	// transport is the scheme to fetch with: https, http, ssh, git or file.
	transport string
	user      string // ssh user, or the user of an https URL
	password  string // never printed
	scp       bool   // spelled user@host:path
	host      string // lower case, with a port that is not the transport's own
	repo      string // identity form: no leading or trailing slash, no .git
	raw       string // repository part for fetching: decoded, case and .git kept
	subpath   string
	explicit  bool // "//" was written
}

// Kind returns the kind; 0 for the zero Source.
func (src Source) Kind() SourceKind { return src.kind }

// IsZero reports whether src is the zero Source: no source was given.
func (src Source) IsZero() bool { return src.kind == 0 }

// Host returns the host in lower case, with its port unless that is the
// transport's own; empty for file and path sources.
func (src Source) Host() string { return src.host }

// Transport returns the scheme to fetch with: https, http, ssh, git or file.
func (src Source) Transport() string { return src.transport }

// Subpath returns the skill's directory inside the repository, "" for its root.
func (src Source) Subpath() string { return src.subpath }

// HasSubpath reports whether the spelling contained "//", so that an empty
// Subpath means the root and not "not said".
func (src Source) HasSubpath() bool { return src.explicit }

// Path returns the clean slash path of a path source.
func (src Source) Path() string {
	if src.kind == SourcePath {
		return src.repo
	}
	return ""
}

// Credentials returns the user and password of the spelling. They must not be
// written or printed anywhere.
func (src Source) Credentials() (user, password string) { return src.user, src.password }

// Name returns the last path element: of the subpath, else of the repository.
func (src Source) Name() string {
	if src.subpath != "" {
		return path.Base(src.subpath)
	}
	return path.Base(src.repo)
}

// Repository returns the identity without "//subpath".
func (src Source) Repository() string {
	switch src.kind {
	case SourcePath:
		return "path:" + src.repo
	case SourceIndex:
		return src.indexURL()
	}
	repo := escapePath(src.repo)
	switch {
	case src.scheme == "file":
		return "file:///" + repo
	case src.scheme != "":
		return src.scheme + "://" + src.host + "/" + repo
	case !strings.ContainsAny(src.host, ".:") && src.host != "localhost":
		// Without its scheme such a host would read as an owner at github.com.
		return "https://" + src.host + "/" + repo
	}
	return src.host + "/" + repo
}

// pathEscaper encodes what would end a token, a path or the decoding itself, so
// that an identity reads back as the same source.
var pathEscaper = strings.NewReplacer("%", "%25", " ", "%20", "?", "%3F", "#", "%23")

func escapePath(p string) string { return pathEscaper.Replace(p) }

// Identity returns the one spelling under which equal sources are equal:
// [http://|git://|file://]host[:port]/repository//subpath for git, "path:" and
// the path for a path source, the URL for an index. ParseSource reads it back.
func (src Source) Identity() string {
	if src.kind == SourceGit {
		return src.Repository() + "//" + escapePath(src.subpath)
	}
	return src.Repository()
}

func (src Source) indexURL() string {
	u := src.transport + "://" + src.host
	if src.repo != "" {
		return "index:" + u + "/" + escapePath(src.repo)
	}
	return u
}

// URL returns the address to fetch from with the protocol it was spelled with,
// without subpath, credentials and trailing slash. It is what the lock records.
// ssh keeps its user, which is part of the address; a user of http or https goes,
// for it is often a token.
func (src Source) URL() string {
	repo := escapePath(src.raw)
	switch {
	case src.kind == SourcePath:
		return ""
	case src.kind == SourceIndex:
		return strings.TrimPrefix(src.indexURL(), "index:")
	case src.transport == "file":
		return "file:///" + repo
	case src.scp:
		return src.user + "@" + src.host + ":" + repo
	case src.transport == "ssh" && src.user != "":
		return "ssh://" + url.User(src.user).String() + "@" + src.host + "/" + repo
	}
	return src.transport + "://" + src.host + "/" + repo
}

// Spelling returns the source as it is written into skills.toml: like the
// identity, but with the protocol and the letter case it was spelled with, so
// that it is fetched the same way again. It holds no credentials. ParseSource
// reads it back.
func (src Source) Spelling() string {
	if src.kind != SourceGit || src.transport == "file" {
		return src.Identity()
	}
	if src.transport == "ssh" {
		return src.URL() + "//" + escapePath(src.subpath)
	}
	if strings.EqualFold(strings.TrimSuffix(src.raw, ".git"), src.repo) {
		src.repo = strings.TrimSuffix(src.raw, ".git")
	}
	return src.Identity()
}

// String returns the identity, which holds no credentials.
func (src Source) String() string { return src.Identity() }

// WithSubpath returns the source of another directory of the same repository.
// sub must be a clean slash path or empty.
func (src Source) WithSubpath(sub string) Source {
	src.subpath, src.explicit = sub, true
	return src
}

// RedactURL removes user and password from a URL, for messages.
func RedactURL(u string) string {
	scheme, after, ok := strings.Cut(u, "://")
	if !ok {
		return u
	}
	authority, rest, slash := strings.Cut(after, "/")
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		authority = authority[i+1:]
	}
	if slash {
		rest = "/" + rest
	}
	return scheme + "://" + authority + rest
}
