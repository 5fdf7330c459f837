package skill

import (
	"net/netip"
	"strconv"
	"strings"
)

// caseInsensitiveHosts are the hosts that ignore case in a repository's path.
// The list is part of the lock format.
var caseInsensitiveHosts = map[string]bool{
	"github.com": true, "gitlab.com": true, "bitbucket.org": true, "codeberg.org": true,
}

var defaultPorts = map[string]string{"https": "443", "http": "80", "ssh": "22", "git": "9418"}

// canonicalHost lower-cases the host, drops a final dot and the scheme's default
// port, and writes an IPv6 address in its one short form. What is no ASCII host
// name is refused, so that no look-alike letter and no option of ssh gets by.
func canonicalHost(authority, scheme string) (string, error) {
	host, port := strings.ToLower(authority), ""
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host, port = host[:i], host[i+1:]
	}
	port, ok := canonicalPort(port)
	if !ok {
		return "", badSource(0, "`%s` has no port between 1 and 65535", authority)
	}
	host = strings.TrimSuffix(host, ".")
	if strings.HasPrefix(host, "[") {
		addr, err := netip.ParseAddr(strings.TrimSuffix(host[1:], "]"))
		if err != nil || !addr.Is6() || addr.Zone() != "" || !strings.HasSuffix(host, "]") {
			return "", badSource(0, "`%s` is no IPv6 address", authority)
		}
		host = "[" + addr.String() + "]"
	} else if host == "" || len(host) > 253 || strings.HasPrefix(host, "-") || strings.Contains(host, "..") || host[0] == '.' || strings.ContainsFunc(host, notHostRune) {
		return "", badSource(0, "`%s` is no host name", authority)
	}
	if port != "" && port != defaultPorts[scheme] {
		host += ":" + port
	}
	return host, nil
}

// canonicalPort returns the port without leading zeros; empty is no port.
func canonicalPort(s string) (string, bool) {
	if s == "" {
		return "", true
	}
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 || !isDigits(s) {
		return "", false
	}
	return strconv.FormatUint(n, 10), true
}

func notHostRune(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' && r != '-' && r != '_'
}
