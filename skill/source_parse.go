package skill

import (
	"fmt"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"
)

// ParseSource reads a source in any of its spellings: owner/repo//sub/path,
// host/path//sub, a URL (https, http, ssh, git, file, with or without git+),
// user@host:path//sub, path:DIR or a plain path, https://host or index:URL for a
// discovery index. The error's code is "requirement_syntax"; its message never
// holds a password.
func ParseSource(s string) (Source, error) {
	if s == "" {
		return Source{}, badSource(0, "the source is empty")
	}
	if !utf8.ValidString(s) {
		return Source{}, badSource(0, "the source is not UTF-8")
	}
	if i := strings.IndexFunc(s, isControl); i >= 0 {
		return Source{}, badSource(i, "the source holds a control character")
	}
	if p, ok := strings.CutPrefix(s, "path:"); ok {
		return pathSource(p)
	}
	if isPlainPath(s) {
		return pathSource(s)
	}
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		return Source{}, badSource(i, "a source has no `?` and no `#`; a branch, tag or commit is written ref:NAME")
	}
	rest := strings.TrimPrefix(s, "git+")
	if u, ok := strings.CutPrefix(rest, "index:"); ok {
		return indexSource(u)
	}
	if scheme, after, ok := strings.Cut(rest, "://"); ok && isScheme(scheme) {
		return urlSource(strings.ToLower(scheme), after)
	}
	return bareSource(rest)
}

func badSource(at int, format string, args ...any) *Error {
	return fault("requirement_syntax", at, fmt.Sprintf(format, args...))
}

func isControl(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }

// isPlainPath recognises ./x ../x /x X:\x X:/x and the dots alone.
func isPlainPath(s string) bool {
	if s == "." || s == ".." || s[0] == '/' {
		return true
	}
	for _, prefix := range []string{"./", "../", `.\`, `..\`} {
		if strings.HasPrefix(s, prefix) {
			return true
		}
	}
	letter := s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z'
	drive := letter && len(s) > 2 && s[1] == ':' && (s[2] == '/' || s[2] == '\\')
	return drive && !strings.HasPrefix(s[2:], "//") // x://y is a scheme of one letter
}

func pathSource(p string) (Source, error) {
	if p == "" {
		return Source{}, badSource(0, "path: needs a directory")
	}
	if i := strings.IndexByte(p, ' '); i >= 0 { // blanks separate a requirement's tokens
		return Source{}, badSource(i, "a path skill's directory has no blanks, found %q", p)
	}
	slashed := strings.ReplaceAll(p, `\`, "/")
	return Source{kind: SourcePath, repo: path.Clean(slashed)}, nil
}

// isScheme tells a scheme (RFC 3986, 3.1) from a repository whose name ends in a
// colon before its "//".
func isScheme(s string) bool {
	return s == "" || !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '+' && r != '-' && r != '.'
	})
}

func indexSource(u string) (Source, error) {
	scheme, after, ok := strings.Cut(u, "://")
	if !ok {
		scheme, after = "https", u
	}
	if scheme = strings.ToLower(scheme); scheme != "https" && scheme != "http" {
		return Source{}, badSource(0, "a discovery index is read over https, not `%s`", scheme)
	}
	return authoritySource(SourceIndex, scheme, after)
}

func urlSource(scheme, after string) (Source, error) {
	switch scheme {
	case "https", "http":
		if _, rest, _ := strings.Cut(after, "/"); rest == "" {
			return authoritySource(SourceIndex, scheme, after)
		}
		return authoritySource(SourceGit, scheme, after)
	case "ssh", "git":
		return authoritySource(SourceGit, scheme, after)
	case "file":
		return fileSource(after)
	}
	return Source{}, badSource(0, "`%s` is no known scheme; use https, ssh, git, http or file", scheme)
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
		if !isUser(src.user) {
			return Source{}, badSource(0, "the user before `@` holds characters that no user name has")
		}
	}
	host, err := canonicalHost(authority, scheme)
	if err != nil {
		return Source{}, err
	}
	src.host = host
	return src.withPath(rest)
}

// isUser refuses what ssh would take for an option and what ends a user part.
func isUser(s string) bool {
	return !strings.HasPrefix(s, "-") && !strings.ContainsAny(s, " /:@\\") && !strings.ContainsFunc(s, isControl) && utf8.ValidString(s)
}

// fileSource reads what stands after file://; only this machine is allowed.
func fileSource(after string) (Source, error) {
	host, rest, ok := strings.Cut(after, "/")
	if !ok || host != "" && host != "localhost" {
		return Source{}, badSource(0, "a repository on disk is file:/// and an absolute path")
	}
	return Source{kind: SourceGit, scheme: "file", transport: "file"}.withPath(rest)
}

// bareSource reads user@host:path, host/path and owner/repo.
func bareSource(s string) (Source, error) {
	first, rest, slash := strings.Cut(s, "/")
	if at := strings.LastIndexByte(first, '@'); at >= 0 {
		return scpSource(s, at)
	}
	if scheme, port, ok := strings.Cut(first, ":"); ok && first[0] != '[' && !isDigits(port) {
		return Source{}, badSource(0, "`%s:` is no known scheme; ssh without a scheme is written user@host:path", scheme)
	}
	if !slash {
		return Source{}, badSource(0, "`%s` is no source; write owner/repo//path, a URL or ./directory", s)
	}
	if first == "~" {
		return Source{}, badSource(0, "`~` is not expanded here; write a path relative to the project")
	}
	src := Source{kind: SourceGit, transport: "https", host: "github.com"}
	if !strings.ContainsAny(first, ".:") && first != "localhost" {
		if rest == "" || rest[0] == '/' {
			return Source{}, badSource(0, "`%s` is an owner without repository; write owner/repo//path", first)
		}
		return src.withPath(s)
	}
	host, err := canonicalHost(first, "https")
	if err != nil {
		return Source{}, err
	}
	src.host = host
	return src.withPath(rest)
}

// scpSource reads user@host:path; at is the place of the @. A host in brackets
// is an IPv6 address.
func scpSource(s string, at int) (Source, error) {
	user, after := s[:at], s[at+1:]
	end := strings.IndexByte(after, ':')
	if strings.HasPrefix(after, "[") {
		end = strings.Index(after, "]:") + 1
	}
	if user == "" || !isUser(user) || end <= 0 {
		return Source{}, badSource(0, "a source with `@` is user@host:path or a URL")
	}
	host, err := canonicalHost(after[:end], "ssh")
	if err != nil {
		return Source{}, err
	}
	return Source{kind: SourceGit, transport: "ssh", user: user, scp: true, host: host}.withPath(after[end+1:])
}

// withPath splits rest at the first // into repository and subpath, decodes
// percent escapes once and checks both. What rest begins with has no slash of
// its own, but for the scp form, where one makes the path absolute.
func (src Source) withPath(rest string) (Source, error) {
	lead := ""
	if src.scp && strings.HasPrefix(rest, "/") {
		lead, rest = "/", rest[1:]
	}
	repo, sub, explicit := strings.Cut(rest, "//")
	if explicit && repo == "" || strings.HasPrefix(rest, "/") {
		return Source{}, badSource(0, "the repository before `//` is empty")
	}
	var err error
	if src.repo, err = cleanPath(repo); err != nil {
		return Source{}, err
	}
	if src.subpath, err = cleanPath(sub); err != nil {
		return Source{}, err
	}
	src.raw, src.explicit = lead+src.repo, explicit
	if src.kind == SourceIndex {
		if explicit {
			return Source{}, badSource(0, "a discovery index has no `//`")
		}
		return src, nil
	}
	if base := path.Base(src.repo); base != ".git" {
		src.repo = strings.TrimSuffix(src.repo, ".git")
	}
	if caseInsensitiveHosts[src.host] {
		src.repo = strings.ToLower(src.repo)
	}
	if src.repo == "" {
		return Source{}, badSource(0, "the source names a host but no repository")
	}
	return src, nil
}

// cleanPath decodes p once and joins its elements again, empty ones left out.
func cleanPath(p string) (string, error) {
	decoded, err := url.PathUnescape(p)
	if err != nil {
		return "", badSource(0, "the path has a malformed percent escape")
	}
	if !utf8.ValidString(decoded) || strings.ContainsFunc(decoded, isControl) || strings.Contains(decoded, `\`) {
		return "", badSource(0, "the path holds a control character, a backslash or bytes that are not UTF-8")
	}
	var elements []string
	for e := range strings.SplitSeq(decoded, "/") {
		switch e {
		case "", ".":
			continue
		case "..":
			return "", badSource(0, "the path climbs with `..`")
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
