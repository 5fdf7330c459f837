// Package web dials and speaks HTTP for everything that is fetched: no other
// package may. Guard decides which addresses may be connected to: those inside
// the user's own network only where the user named the host. Transport applies
// that to every request, redirected ones too, takes proxies and further
// certificate authorities from the environment, and gives up a peer that is
// silent or hardly sends (Patience). It follows no redirects: who may be sent
// where is for its callers to decide.
package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
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
	// Home is the host:port of a service that spreads over several hosts, as a
	// registry with its blob store, or "". See Guard.
	Home string
	// ConnectTimeout bounds dialling and the TLS handshake.
	ConnectTimeout time.Duration
	// Patience bounds a silent peer; 0 is DefaultPatience.
	Patience time.Duration
}

// Transport is an http.RoundTripper. It is safe for concurrent use.
type Transport struct {
	base     *http.Transport
	guard    *Guard
	patience time.Duration
}

// New returns a Transport. Its errors name files that cannot be read as
// certificates.
func New(cfg Config) (*Transport, error) {
	getenv := cfg.Getenv
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	guard := NewGuard(cfg.Named, cfg.ConnectTimeout)
	guard.setHome(cfg.Home)
	files := cfg.CAFiles
	// As in Go and OpenSSL, a variable that names no file changes nothing.
	if file := getenv("SSL_CERT_FILE"); file != "" {
		if _, err := os.Stat(file); err == nil {
			files = append(files[:len(files):len(files)], file)
		}
	}
	roots, err := authorities(files)
	if err != nil {
		return nil, err
	}
	proxy, err := proxies(cfg.Proxy, getenv, guard)
	if err != nil {
		return nil, err
	}
	return &Transport{
		base: &http.Transport{
			Proxy:                  proxy,
			DialContext:            guard.DialContext,
			TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    cfg.ConnectTimeout,
			ForceAttemptHTTP2:      true,
			MaxIdleConnsPerHost:    8, // as many repositories as are read in parallel
			IdleConnTimeout:        time.Minute,
			MaxResponseHeaderBytes: 64 << 10,
			DisableCompression:     true, // packs are compressed already, lengths stay true, and a bomb does not inflate
		},
		guard: guard, patience: cmp.Or(cfg.Patience, DefaultPatience),
	}, nil
}

// Guard returns the guard that every request is checked and dialled with.
func (t *Transport) Guard() *Guard { return t.guard }

// CloseIdleConnections implements what http.Client looks for.
func (t *Transport) CloseIdleConnections() { t.base.CloseIdleConnections() }

// RoundTrip implements http.RoundTripper. It refuses (*Refused) addresses that
// the guard does not allow, and ends an exchange whose peer is silent (*Silent).
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.guard.CheckURL(r.URL); err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	w := newWatch(t.patience, cancel)
	r = r.WithContext(ctx)
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &sent{r.Body, w}
	}
	w.begin()
	res, err := t.base.RoundTrip(r)
	w.answered()
	if err != nil {
		err = w.explain(err)
		cancel(context.Canceled)
		return nil, err
	}
	res.Body = &received{res.Body, w, cancel}
	return res, nil
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
