package web

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Refused says that a host may not be contacted.
type Refused struct{ Why string }

func (r *Refused) Error() string { return r.Why }

// Guard dials only where it is allowed: any public address, and any address of
// a host that the user named. A guard with a home (Config.Home, which is named)
// also lets it lead to its neighbours: if the home itself is in a private
// network, to private addresses, and if it is this machine, to this machine too.
// Nothing leads to link-local addresses, where clouds keep their secrets.
type Guard struct {
	named   func(string) bool
	timeout time.Duration
	proxies map[string]bool // host:port
	home    string          // host:port, "" for none

	mu      sync.Mutex
	homeAt  reach // the most public of the addresses where the home was
	homeWas bool  // it was dialled
}

// NewGuard returns a Guard without proxies, for protocols other than HTTP. named
// reports whether the user named a host ("host" or "host:port"); nil is none.
// timeout bounds a dial; 0 is no bound.
func NewGuard(named func(string) bool, timeout time.Duration) *Guard {
	if named == nil {
		named = func(string) bool { return false }
	}
	return &Guard{named: named, timeout: timeout, proxies: map[string]bool{}}
}

// setHome makes hostport the guard's home. An address says by itself where it
// is; a name's address is known when it was dialled.
func (g *Guard) setHome(hostport string) {
	g.home = hostport
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		g.noteHome(ip)
	}
}

func (g *Guard) noteHome(ip netip.Addr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at := reachOf(ip); !g.homeWas || at < g.homeAt {
		g.homeAt, g.homeWas = at, true
	}
}

// leadsTo reports whether the home may lead to an address of that reach.
func (g *Guard) leadsTo(to reach) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !g.homeWas:
		return false
	case g.homeAt == loopback:
		return to == loopback || to == private
	}
	return g.homeAt == private && to == private
}

// DialContext dials addr. A host the user did not name is refused (*Refused)
// when it, or what its name resolves to, is not of the public internet. The
// check is made on the address that is really connected to, so a name cannot
// resolve to something else later.
func (g *Guard) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: g.timeout}
	switch {
	case g.home != "" && addr == g.home:
		d.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			if ap, err := netip.ParseAddrPort(address); err == nil {
				g.noteHome(ap.Addr())
			}
			return nil
		}
	case !g.Named(addr) && !g.proxies[addr]:
		d.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			return g.check(addr, address)
		}
	}
	return d.DialContext(ctx, network, addr)
}

// CheckHost makes the check of addr (host:port) for a program that will dial by
// itself: every address that the host's name has now must be allowed. It is no
// proof against a name that changes in between. A name that nobody here knows
// passes, since the program may reach it in a way of its own.
func (g *Guard) CheckHost(ctx context.Context, addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return &Refused{fmt.Sprintf("`%s` is no address", addr)}
	}
	if g.Named(addr) {
		return nil
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil
	}
	for _, ip := range ips {
		if err := g.check(addr, net.JoinHostPort(ip.String(), port)); err != nil {
			return err
		}
	}
	return nil
}

// DialUnix connects to a socket of this machine, as of an ssh-agent.
func DialUnix(ctx context.Context, path string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", path)
}

// Named reports whether the user named host:port, or host where the port is
// some protocol's own.
func (g *Guard) Named(addr string) bool {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return g.named(addr)
	}
	if addr == g.home || g.named(addr) || strings.Contains(host, ":") && g.named("["+host+"]:"+port) {
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
		return g.check(addr, net.JoinHostPort(ip.String(), port))
	}
	if isLocalhost(u.Hostname()) && !g.leadsTo(loopback) {
		return &Refused{fmt.Sprintf("`%s` is this machine, and you did not name it", strings.ToLower(u.Hostname()))}
	}
	return nil
}

func isLocalhost(host string) bool {
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

func (g *Guard) check(addr, resolved string) error {
	ap, err := netip.ParseAddrPort(resolved)
	if err != nil {
		return &Refused{fmt.Sprintf("`%s` is no address", resolved)}
	}
	if at := reachOf(ap.Addr()); at == public || g.leadsTo(at) {
		return nil
	}
	host, _, _ := net.SplitHostPort(addr)
	return &Refused{fmt.Sprintf("`%s` is inside a private network (%s), and you did not name it", host, embedded(ap.Addr().Unmap()))}
}

// reach is who can be behind an address, the most public first.
type reach int

const (
	public   reach = iota
	private        // a network's own hosts
	loopback       // this machine
	special        // link-local, multicast, reserved: no service that is meant
)

// The networks that netip.Addr has no method for.
var (
	privateNets = prefixes(
		"100.64.0.0/10",  // carrier-grade NAT, RFC 6598; overlay networks live there
		"64:ff9b:1::/48", // NAT64 of a network's own, RFC 8215
		"fec0::/10",      // site-local, RFC 3879
	)
	specialNets = prefixes(
		"0.0.0.0/8",     // this network, RFC 1122
		"192.0.0.0/24",  // protocol assignments, RFC 6890
		"198.18.0.0/15", // benchmarks, RFC 2544
		"240.0.0.0/4",   // reserved, RFC 1112
		"100::/64",      // discard, RFC 6666
	)
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, p := range list {
		out[i] = netip.MustParsePrefix(p)
	}
	return out
}

func within(ip netip.Addr, nets []netip.Prefix) bool {
	for _, p := range nets {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

func reachOf(ip netip.Addr) reach {
	ip = embedded(ip.Unmap().WithZone(""))
	switch {
	case ip.IsLoopback():
		return loopback
	case within(ip, specialNets) || !ip.IsGlobalUnicast():
		return special
	case ip.IsPrivate() || within(ip, privateNets):
		return private
	}
	return public
}

// Prefixes of IPv6 addresses that stand for an IPv4 address.
var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052
	sixToFour  = netip.MustParsePrefix("2002::/16")    // RFC 3056
	teredo     = netip.MustParsePrefix("2001::/32")    // RFC 4380
	compatible = netip.MustParsePrefix("::/96")        // RFC 4291, section 2.5.5.1
)

// embedded returns the IPv4 address that a transition address stands for.
func embedded(ip netip.Addr) netip.Addr {
	if !ip.Is6() {
		return ip
	}
	b := ip.As16()
	last := [4]byte(b[12:])
	switch {
	case ip.IsLoopback() || ip.IsUnspecified():
		return ip
	case nat64.Contains(ip), compatible.Contains(ip), isISATAP(b):
		return netip.AddrFrom4(last)
	case sixToFour.Contains(ip):
		return netip.AddrFrom4([4]byte(b[2:6]))
	case teredo.Contains(ip): // the client's address, inverted
		for i := range last {
			last[i] ^= 0xff
		}
		return netip.AddrFrom4(last)
	}
	return ip
}

// isISATAP recognises the interface identifiers of RFC 5214, which under any
// prefix end in an IPv4 address.
func isISATAP(b [16]byte) bool {
	return b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}
