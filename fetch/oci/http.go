package oci

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"oras.land/oras-go/v2/registry/remote/retry"
)

const (
	dialTimeout   = 10 * time.Second
	answerTimeout = 60 * time.Second // registries hash an upload before they answer
	stallTimeout  = 60 * time.Second // without a single byte of a body
	maxRedirects  = 5
)

// newClient returns the HTTP client for the mirror on host, the one the user
// named. Redirects may lead to another host (blob stores do), but not from
// https to http, and not into a private network from a public one.
func newClient(spec Spec, opt Options) *http.Client {
	if opt.Transport != nil {
		return &http.Client{Transport: opt.Transport, CheckRedirect: checkRedirect}
	}
	return &http.Client{
		Transport:     &retry.Transport{Base: stallGuard{newTransport(spec.host())}, Policy: retryPolicy},
		CheckRedirect: checkRedirect,
	}
}

// retryPolicy tries three times more what is temporary (oras's predicate: 408,
// 429, 5xx, timeouts, resets), within about four seconds.
func retryPolicy() retry.Policy {
	return &retry.GenericPolicy{
		Retryable: retry.DefaultPredicate, Backoff: retry.DefaultBackoff,
		MinWait: 200 * time.Millisecond, MaxWait: 3 * time.Second, MaxRetry: 3,
	}
}

func newTransport(host string) *http.Transport {
	dialer := guardedDialer{host: host, proxies: proxyHosts()}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.dial,
		ForceAttemptHTTP2:     true,
		TLSHandshakeTimeout:   dialTimeout,
		ResponseHeaderTimeout: answerTimeout,
		IdleConnTimeout:       30 * time.Second,
		MaxIdleConnsPerHost:   16,
		// A body inflated by the transport has no length, and could be a bomb.
		DisableCompression: true,
	}
}

func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	if via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return addressError{fmt.Errorf("redirected from https to %s://%s", req.URL.Scheme, req.URL.Host), ""}
	}
	return nil
}

// addressError is an address that the user did not name and that a mirror must
// not lead to.
type addressError struct {
	error
	hint string
}

// guardedDialer connects to the host that the user named wherever it is, and to
// any other host only at a public address, unless the named one is private too.
type guardedDialer struct {
	host    string
	proxies map[string]bool
}

func (d guardedDialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host := hostname(address)
	dialer := net.Dialer{Timeout: dialTimeout}
	if host != d.host && !d.proxies[host] && !d.namedIsPrivate(ctx) {
		dialer.Control = refusePrivate
	}
	return dialer.DialContext(ctx, network, address)
}

func (d guardedDialer) namedIsPrivate(ctx context.Context) bool {
	if isLoopback(d.host) {
		return true
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", d.host)
	if err != nil {
		return false
	}
	for _, a := range addrs {
		if !isPrivate(a) {
			return false
		}
	}
	return true
}

func refusePrivate(_, address string, _ syscall.RawConn) error {
	ip, err := netip.ParseAddrPort(address)
	if err == nil && isPrivate(ip.Addr()) {
		return addressError{fmt.Errorf("redirected to the private address %s", ip.Addr()),
			"name that host itself as the mirror if it is meant"}
	}
	return nil
}

func isPrivate(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsLinkLocalMulticast() || a.IsUnspecified()
}

// proxyHosts returns the hosts of the proxies in the environment: the user
// named those as well.
func proxyHosts() map[string]bool {
	hosts := map[string]bool{}
	for _, scheme := range []string{"http", "https"} {
		req := &http.Request{URL: &url.URL{Scheme: scheme, Host: "proxy.test"}}
		if u, err := http.ProxyFromEnvironment(req); err == nil && u != nil {
			hosts[u.Hostname()] = true
		}
	}
	return hosts
}

// stallGuard ends a request whose body stops arriving: a total time would cut
// off large layers on slow lines.
type stallGuard struct{ base http.RoundTripper }

func (s stallGuard) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	resp, err := s.base.RoundTrip(req.WithContext(ctx))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	timer := time.AfterFunc(stallTimeout, func() { cancel(errStalled) })
	resp.Body = &stallBody{rc: resp.Body, ctx: ctx, cancel: cancel, timer: timer}
	return resp, nil
}

// errStalled is a timeout in the sense of net.Error.
var errStalled error = stalledError{}

type stalledError struct{}

func (stalledError) Error() string   { return fmt.Sprintf("no byte in %s", stallTimeout) }
func (stalledError) Timeout() bool   { return true }
func (stalledError) Temporary() bool { return true }

type stallBody struct {
	rc     io.ReadCloser
	ctx    context.Context // of this one request; a body has no other place for it
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

func (b *stallBody) Read(p []byte) (int, error) {
	n, err := b.rc.Read(p)
	if n > 0 {
		b.timer.Reset(stallTimeout)
	}
	if err != nil && err != io.EOF && context.Cause(b.ctx) == errStalled {
		err = errStalled
	}
	return n, err
}

func (b *stallBody) Close() error {
	b.timer.Stop()
	b.cancel(nil)
	return b.rc.Close()
}
