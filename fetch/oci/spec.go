package oci

import (
	"cmp"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"

	"oras.land/oras-go/v2/registry"

	"github.com/skillpm/skillpm/internal/diag"
)

// Spec says where a mirror is.
type Spec struct {
	kind form
	// path is the folder or archive; "-" is standard input or output.
	path string
	// url is the web server's folder, ending in a slash, without credentials.
	url  *url.URL
	user *url.Userinfo
	// ref is the registry's host and repository; plain says to speak http to it.
	ref   registry.Reference
	plain bool
	said  bool // the scheme was written: oci+http or oci+https
}

type form string

const (
	formFolder   form = "dir"
	formArchive  form = "tar"
	formRegistry form = "oci"
	formStatic   form = "https"
)

const specHint = "a mirror is dir:PATH, tar:FILE, tar:-, oci://HOST/REPOSITORY or https://HOST/PATH"

// ParseSpec reads dir:PATH, tar:FILE, tar:-, oci://HOST/REPOSITORY (also
// oci+http and oci+https), https://HOST/PATH or http://HOST/PATH. The error's
// code is usage.
func ParseSpec(s string) (Spec, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
		return Spec{}, specError("the mirror %q holds a control character", s)
	}
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok {
		return Spec{}, specError("`%s` names no kind of mirror", s)
	}
	switch scheme = strings.ToLower(scheme); scheme {
	case "dir", "tar":
		if rest == "" {
			return Spec{}, specError("`%s` names no file", s)
		}
		return Spec{kind: form(scheme), path: rest}, nil
	case "oci", "oci+http", "oci+https":
		return registrySpec(scheme, rest)
	case "https", "http":
		return staticSpec(s)
	}
	return Spec{}, specError("unknown kind of mirror `%s`", diag.Escape(scheme))
}

func specError(format string, args ...any) error {
	return diag.New(diag.Usage, format, args...).WithHint(specHint)
}

func registrySpec(scheme, rest string) (Spec, error) {
	name, ok := strings.CutPrefix(rest, "//")
	name = strings.TrimSuffix(name, "/")
	if !ok || name == "" {
		return Spec{}, specError("expected %s://HOST/REPOSITORY, found `%s:%s`", scheme, scheme, redactRest(rest))
	}
	if strings.Contains(name, "@") {
		return Spec{}, specError("a registry is named without credentials and digest: `%s://%s`", scheme, redactRest(name)).(*diag.Error).
			WithHint("credentials come from docker's config.json: run `docker login HOST`")
	}
	ref, err := registry.ParseReference(name)
	if err != nil || ref.Reference != "" {
		return Spec{}, specError("expected %s://HOST/REPOSITORY without tag, the repository in lower case; found `%s`", scheme, name)
	}
	plain := scheme == "oci+http" || scheme == "oci" && isLoopback(hostname(ref.Registry))
	return Spec{kind: formRegistry, ref: ref, plain: plain, said: scheme != "oci"}, nil
}

func staticSpec(s string) (Spec, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" {
		return Spec{}, specError("expected https://HOST/PATH without query and fragment")
	}
	user := u.User
	u.User, u.Scheme, u.Host = nil, strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	u = u.JoinPath("/")
	return Spec{kind: formStatic, url: u, user: user, plain: u.Scheme == "http", said: true}, nil
}

// redactRest hides everything before the last @, where people put passwords.
func redactRest(s string) string {
	if i := strings.LastIndex(s, "@"); i >= 0 {
		return "…" + s[i:]
	}
	return s
}

// String returns the spec in canonical spelling, without credentials.
func (s Spec) String() string {
	switch s.kind {
	case formRegistry:
		scheme := "oci"
		if s.said && s.plain {
			scheme = "oci+http"
		} else if s.said {
			scheme = "oci+https"
		}
		return scheme + "://" + s.ref.Registry + "/" + s.ref.Repository
	case formStatic:
		return s.url.String()
	}
	return string(s.kind) + ":" + s.path
}

// Offline reports whether reading needs no network.
func (s Spec) Offline() bool { return s.kind == formFolder || s.kind == formArchive }

// host returns the host that the user named, without port; empty if offline.
func (s Spec) host() string {
	switch s.kind {
	case formRegistry:
		return hostname(s.ref.Host())
	case formStatic:
		return s.url.Hostname()
	}
	return ""
}

// isPlain reports whether http is spoken to it.
func (s Spec) isPlain(opt Options) bool { return s.plain || opt.PlainHTTP && !s.said }

// hostport returns the host and port that the user named; empty if offline.
func (s Spec) hostport(opt Options) string {
	host, port := "", ""
	switch s.kind {
	case formRegistry:
		host = s.ref.Host()
	case formStatic:
		host = s.url.Host
	default:
		return ""
	}
	if h, p, err := net.SplitHostPort(host); err == nil {
		host, port = h, p
	}
	if port == "" && s.isPlain(opt) {
		port = "80"
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), cmp.Or(port, "443"))
}

// file returns the path of a folder or archive, relative ones from dir.
func (s Spec) file(dir string) string {
	p := filepath.FromSlash(s.path)
	if dir == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(dir, p)
}

func hostname(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

// isLoopback reports whether host is this machine by its name alone; names are
// not looked up.
func isLoopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
