// Package web makes the HTTP transport that everything fetched over HTTP goes
// through: it refuses addresses inside the user's own network unless the user
// named the host, takes proxies and further certificate authorities from the
// environment, and sets time limits. It follows no redirects: who may be sent
// where is for its callers to decide.
package web

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// Config is what New needs to know. The zero value names no host.
type Config struct {
	// Named reports whether the user named a host ("host" or "host:port").
	Named func(host string) bool
	// Getenv reads the environment: HTTP_PROXY, HTTPS_PROXY, NO_PROXY,
	// SSL_CERT_FILE.
	Getenv func(string) string
	// Proxy is used for every host that NO_PROXY does not name, "" for the
	// environment's.
	Proxy string
	// CAFiles are PEM files of authorities trusted beside the system's.
	CAFiles []string
	// ConnectTimeout bounds dialling and the TLS handshake, AnswerTimeout the
	// wait for an answer's header.
	ConnectTimeout, AnswerTimeout time.Duration
}

// Refused says that a host may not be contacted.
type Refused struct{ Why string }

func (r *Refused) Error() string { return r.Why }

// Guard dials only where Config allows.
type Guard struct {
	named   func(string) bool
	timeout time.Duration
	proxies map[string]bool // host:port
}

// NewGuard returns a Guard without proxies, for protocols other than HTTP.
func NewGuard(named func(string) bool, timeout time.Duration) *Guard {
	if named == nil {
		named = func(string) bool { return false }
	}
	return &Guard{named: named, timeout: timeout, proxies: map[string]bool{}}
}

// DialContext dials addr. A host the user did not name is refused (*Refused)
// when it, or what its name resolves to, is private, loopback, link-local or
// otherwise not of the public internet. The check is made on the address that
// is really connected to, so a name cannot resolve to something else later.
func (g *Guard) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: g.timeout}
	if !g.Named(addr) && !g.proxies[addr] {
		d.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			return checkAddress(addr, address)
		}
	}
	return d.DialContext(ctx, network, addr)
}

// Named reports whether the user named host:port, or host where the port is
// some protocol's own.
func (g *Guard) Named(addr string) bool {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return g.named(addr)
	}
	if g.named(addr) || strings.Contains(host, ":") && g.named("["+host+"]:"+port) {
		return true
	}
	switch port {
	case "443", "80", "22", "9418":
		return g.named(host) || strings.Contains(host, ":") && g.named("["+host+"]")
	}
	return false
}

// CheckURL refuses a literal private address, which behind a proxy is not
// dialled from here.
func (g *Guard) CheckURL(u *url.URL) error {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	addr := net.JoinHostPort(u.Hostname(), port)
	if g.Named(addr) {
		return nil
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		return checkAddress(addr, net.JoinHostPort(ip.String(), port))
	}
	if name := strings.TrimSuffix(strings.ToLower(u.Hostname()), "."); name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return &Refused{fmt.Sprintf("`%s` is this machine, and you did not name it", name)}
	}
	return nil
}

// sharedSpace is carrier-grade NAT (RFC 6598), thisNetwork RFC 1122's 0/8,
// benchmarking RFC 2544, nat64 the well-known prefix of RFC 6052, behind which
// any IPv4 address can be written.
var (
	sharedSpace  = netip.MustParsePrefix("100.64.0.0/10")
	thisNetwork  = netip.MustParsePrefix("0.0.0.0/8")
	benchmarking = netip.MustParsePrefix("198.18.0.0/15")
	nat64        = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour    = netip.MustParsePrefix("2002::/16")
)

func checkAddress(addr, resolved string) error {
	ap, err := netip.ParseAddrPort(resolved)
	if err != nil {
		return &Refused{fmt.Sprintf("`%s` is no address", resolved)}
	}
	ip := ap.Addr().Unmap()
	if ip = embedded(ip); public(ip) {
		return nil
	}
	host, _, _ := net.SplitHostPort(addr)
	return &Refused{fmt.Sprintf("`%s` is inside a private network (%s), and you did not name it", host, ip)}
}

// embedded returns the IPv4 address that a transition address stands for.
func embedded(ip netip.Addr) netip.Addr {
	b := ip.As16()
	switch {
	case nat64.Contains(ip):
		return netip.AddrFrom4([4]byte(b[12:]))
	case sixToFour.Contains(ip):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return ip
}

func public(ip netip.Addr) bool {
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !sharedSpace.Contains(ip) &&
		!thisNetwork.Contains(ip) && !benchmarking.Contains(ip)
}

// New returns a transport and the guard it dials with. Its errors name files
// that cannot be read as certificates.
func New(cfg Config) (*http.Transport, *Guard, error) {
	getenv := cfg.Getenv
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	guard := NewGuard(cfg.Named, cfg.ConnectTimeout)
	files := cfg.CAFiles
	// As in Go and OpenSSL, a variable that names no file changes nothing.
	if file := getenv("SSL_CERT_FILE"); file != "" {
		if _, err := os.Stat(file); err == nil {
			files = append(files[:len(files):len(files)], file)
		}
	}
	roots, err := authorities(files)
	if err != nil {
		return nil, nil, err
	}
	proxy, err := proxies(cfg.Proxy, getenv, guard)
	if err != nil {
		return nil, nil, err
	}
	return &http.Transport{
		Proxy:                  proxy,
		DialContext:            guard.DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    cfg.ConnectTimeout,
		ResponseHeaderTimeout:  cfg.AnswerTimeout,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    8, // as many repositories as are read in parallel
		IdleConnTimeout:        time.Minute,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // packs are compressed already, and lengths stay true
	}, guard, nil
}

// authorities returns the system's roots with those of files, nil for the
// system's alone.
func authorities(files []string) (*x509.CertPool, error) {
	var pool *x509.CertPool
	for _, file := range files {
		if file == "" {
			continue
		}
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if pool == nil {
			if pool, err = x509.SystemCertPool(); err != nil {
				pool = x509.NewCertPool()
			}
		}
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", file)
		}
	}
	return pool, nil
}

// proxies returns the transport's proxy function. A proxy is the user's own
// choice, so it may be inside a private network.
func proxies(fixed string, getenv func(string) string, guard *Guard) (func(*http.Request) (*url.URL, error), error) {
	either := func(name string) string {
		if v := getenv(strings.ToLower(name)); v != "" {
			return v
		}
		return getenv(name)
	}
	cfg := httpproxy.Config{HTTPProxy: either("HTTP_PROXY"), HTTPSProxy: either("HTTPS_PROXY"), NoProxy: either("NO_PROXY")}
	all := either("ALL_PROXY")
	for _, p := range []*string{&cfg.HTTPProxy, &cfg.HTTPSProxy} {
		if fixed != "" {
			*p = fixed
		} else if *p == "" {
			*p = all
		}
		if *p == "" {
			continue
		}
		text := *p
		if !strings.Contains(text, "://") {
			text = "http://" + text
		}
		u, err := url.Parse(text)
		if err != nil || u.Host == "" {
			return nil, fmt.Errorf("the proxy setting is no URL")
		}
		port := u.Port()
		if port == "" {
			port = map[string]string{"https": "443", "http": "80", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
		}
		guard.proxies[net.JoinHostPort(u.Hostname(), port)] = true
	}
	f := cfg.ProxyFunc()
	return func(r *http.Request) (*url.URL, error) { return f(r.URL) }, nil
}
