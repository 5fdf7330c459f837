package skill

import (
	"fmt"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"
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
	raw       string // repository part as spelled, for fetching
	subpath   string
	explicit  bool // "//" was written
}

// caseInsensitiveHosts are the hosts that ignore case in a repository's path.
// The list is part of the lock format.
var caseInsensitiveHosts = map[string]bool{
	"github.com": true, "gitlab.com": true, "bitbucket.org": true, "codeberg.org": true,
}

var defaultPorts = map[string]string{"https": "443", "http": "80", "ssh": "22", "git": "9418"}

// ParseSource reads a source in any of its spellings: owner/repo//sub/path,
// host/path//sub, a URL (https, http, ssh, git, file, with or without git+),
// user@host:path//sub, path:DIR or a plain path, https://host or index:URL for a
// discovery index. The error's code is "requirement_syntax".
func ParseSource(s string) (Source, error) {
	if s == "" {
		return Source{}, fault("requirement_syntax", 0, "the source is empty")
	}
	if !utf8.ValidString(s) {
		return Source{}, fault("requirement_syntax", 0, "the source is not UTF-8")
	}
	if i := strings.IndexFunc(s, isControl); i >= 0 {
		return Source{}, fault("requirement_syntax", i, "the source holds a control character")
	}
	if p, ok := strings.CutPrefix(s, "path:"); ok {
		return pathSource(p)
	}
	if isPlainPath(s) {
		return pathSource(s)
	}
	if strings.ContainsAny(s, "?#") {
		return Source{}, fault("requirement_syntax", strings.IndexAny(s, "?#"), "a source has no `?` and no `#`; a branch, tag or commit is written ref:NAME")
	}
	rest := strings.TrimPrefix(s, "git+")
	if u, ok := strings.CutPrefix(rest, "index:"); ok {
		return indexSource(u)
	}
	if scheme, after, ok := strings.Cut(rest, "://"); ok {
		return urlSource(strings.ToLower(scheme), after, rest)
	}
	return bareSource(rest)
}

func isControl(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }

// isPlainPath recognises ./x ../x /x X:\x X:/x and the dots alone.
func isPlainPath(s string) bool {
	if s == "." || s == ".." || strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../") || s[0] == '/' {
		return true
	}
	if strings.HasPrefix(s, `.\`) || strings.HasPrefix(s, `..\`) {
		return true
	}
	letter := s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z'
	return letter && len(s) > 2 && s[1] == ':' && (s[2] == '/' || s[2] == '\\')
}

func pathSource(p string) (Source, error) {
	if p == "" {
		return Source{}, fault("requirement_syntax", 0, "path: needs a directory")
	}
	slashed := strings.ReplaceAll(p, `\`, "/")
	return Source{kind: SourcePath, repo: path.Clean(slashed)}, nil
}

func indexSource(u string) (Source, error) {
	scheme, after, ok := strings.Cut(u, "://")
	if !ok {
		scheme, after = "https", u
	}
	if scheme = strings.ToLower(scheme); scheme != "https" && scheme != "http" {
		return Source{}, fault("requirement_syntax", 0, fmt.Sprintf("a discovery index is read over https, not `%s`", scheme))
	}
	return authoritySource(SourceIndex, scheme, after)
}

func urlSource(scheme, after, whole string) (Source, error) {
	scheme = strings.TrimPrefix(scheme, "git+")
	switch scheme {
	case "https", "http":
		if _, rest, _ := strings.Cut(after, "/"); strings.Trim(rest, "/") == "" {
			return authoritySource(SourceIndex, scheme, after)
		}
		return authoritySource(SourceGit, scheme, after)
	case "ssh", "git":
		return authoritySource(SourceGit, scheme, after)
	case "file":
		return fileSource(after)
	}
	return Source{}, fault("requirement_syntax", 0, fmt.Sprintf("`%s` is no known scheme in `%s`; use https, ssh, git, http or file", scheme, RedactURL(whole)))
}

func authoritySource(kind SourceKind, scheme, after string) (Source, error) {
	authority, rest, _ := strings.Cut(after, "/")
	src := Source{kind: kind, transport: scheme}
	if scheme == "http" || scheme == "git" {
		src.scheme = scheme
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		user, password, _ := strings.Cut(authority[:i], ":")
		src.user, src.password, authority = unescape(user), unescape(password), authority[i+1:]
	}
	host, err := canonicalHost(authority, scheme)
	if err != nil {
		return Source{}, err
	}
	src.host = host
	return src.withPath(rest)
}

// fileSource reads what stands after file://; only this machine is allowed.
func fileSource(after string) (Source, error) {
	host, rest, ok := strings.Cut(after, "/")
	if !ok || host != "" && host != "localhost" {
		return Source{}, fault("requirement_syntax", 0, "a repository on disk is file:/// and an absolute path")
	}
	return Source{kind: SourceGit, scheme: "file", transport: "file"}.withPath(rest)
}

// bareSource reads user@host:path, host/path and owner/repo.
func bareSource(s string) (Source, error) {
	first, rest, slash := strings.Cut(s, "/")
	if at := strings.LastIndexByte(first, '@'); at > 0 && strings.Contains(first[at:], ":") {
		user := first[:at]
		hostname, start, _ := strings.Cut(first[at+1:], ":")
		host, err := canonicalHost(hostname, "ssh")
		if err != nil {
			return Source{}, err
		}
		tail := start
		if slash {
			tail += "/" + rest
		}
		return Source{kind: SourceGit, transport: "ssh", user: user, scp: true, host: host}.withPath(tail)
	}
	if scheme, _, ok := strings.Cut(first, ":"); ok && !isPort(first[len(scheme)+1:]) {
		if slash || len(scheme) < 2 {
			return Source{}, fault("requirement_syntax", 0, fmt.Sprintf("`%s:` is no known scheme; ssh without a scheme is written user@host:path", scheme))
		}
		return Source{}, fault("requirement_syntax", 0, fmt.Sprintf("`%s` is no source; ssh without a scheme is written user@host:path", s))
	}
	if !slash {
		return Source{}, fault("requirement_syntax", 0, fmt.Sprintf("`%s` is no source; write owner/repo//path, a URL or ./directory", s))
	}
	src := Source{kind: SourceGit, transport: "https"}
	host, tail := "github.com", s
	if strings.ContainsAny(first, ".:") || first == "localhost" {
		var err error
		if host, err = canonicalHost(first, "https"); err != nil {
			return Source{}, err
		}
		tail = rest
	}
	src.host = host
	return src.withPath(tail)
}

func isPort(s string) bool { return isDigits(s) && len(s) <= 5 }

// canonicalHost lower-cases host and drops the scheme's default port.
func canonicalHost(authority, scheme string) (string, error) {
	host, port := strings.ToLower(authority), ""
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host, port = host[:i], host[i+1:]
		if port != "" && !isPort(port) {
			return "", fault("requirement_syntax", 0, fmt.Sprintf("`%s` is no port", port))
		}
	}
	host = strings.TrimSuffix(host, ".")
	bare := strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if bare == "" || strings.ContainsFunc(bare, notHostRune) {
		return "", fault("requirement_syntax", 0, fmt.Sprintf("`%s` is no host name", authority))
	}
	if port != "" && port != defaultPorts[scheme] {
		host += ":" + port
	}
	return host, nil
}

func notHostRune(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' && r != '-' && r != '_' && r != ':'
}

// withPath splits rest at the first // into repository and subpath, decodes
// percent escapes once and checks both.
func (src Source) withPath(rest string) (Source, error) {
	repo, sub, explicit := strings.Cut(strings.TrimLeft(rest, "/"), "//")
	if repo == "" && explicit && strings.HasPrefix(rest, "//") {
		return Source{}, fault("requirement_syntax", 0, "the repository before `//` is empty")
	}
	src.raw = strings.Trim(repo, "/")
	var err error
	if src.repo, err = cleanPath(repo); err != nil {
		return Source{}, err
	}
	if src.subpath, err = cleanPath(sub); err != nil {
		return Source{}, err
	}
	src.explicit = explicit
	src.repo = strings.TrimSuffix(src.repo, ".git")
	if caseInsensitiveHosts[src.host] {
		src.repo = strings.ToLower(src.repo)
	}
	if src.kind == SourceGit && src.repo == "" {
		return Source{}, fault("requirement_syntax", 0, "the source names a host but no repository")
	}
	return src, nil
}

func cleanPath(p string) (string, error) {
	decoded, err := url.PathUnescape(p)
	if err != nil {
		return "", fault("requirement_syntax", 0, fmt.Sprintf("`%s` has a malformed percent escape", p))
	}
	if !utf8.ValidString(decoded) || strings.ContainsFunc(decoded, isControl) || strings.Contains(decoded, `\`) {
		return "", fault("requirement_syntax", 0, fmt.Sprintf("%q holds a control character, a backslash or bytes that are not UTF-8", decoded))
	}
	var elements []string
	for e := range strings.SplitSeq(decoded, "/") {
		switch e {
		case "", ".":
			continue
		case "..":
			return "", fault("requirement_syntax", 0, fmt.Sprintf("`%s` climbs with `..`", decoded))
		}
		elements = append(elements, e)
	}
	return strings.Join(elements, "/"), nil
}

func unescape(s string) string {
	if d, err := url.PathUnescape(s); err == nil {
		return d
	}
	return s
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
	switch src.scheme {
	case "":
		return src.host + "/" + repo
	case "file":
		return "file:///" + repo
	}
	return src.scheme + "://" + src.host + "/" + repo
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
		return "index:" + u + "/" + src.repo
	}
	return u
}

// URL returns the address to fetch from as it was spelled, without subpath,
// password and trailing slash. It is what the lock records.
func (src Source) URL() string {
	switch {
	case src.kind == SourcePath:
		return ""
	case src.kind == SourceIndex:
		return strings.TrimPrefix(src.indexURL(), "index:")
	case src.transport == "file":
		return "file:///" + src.raw
	case src.scp:
		return src.user + "@" + src.host + ":" + src.raw
	}
	user := ""
	if src.user != "" {
		user = url.User(src.user).String() + "@"
	}
	return src.transport + "://" + user + src.host + "/" + src.raw
}

// Spelling returns the source as it is written into skills.toml: the identity,
// but with the protocol it was spelled with, so that it is fetched the same way
// again. It holds no credentials. ParseSource reads it back.
func (src Source) Spelling() string {
	if src.transport == "ssh" {
		return src.URL() + "//" + escapePath(src.subpath)
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
