package web_test

import (
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/skillpm/skillpm/fetch/internal/web"
)

func TestCheckURL(t *testing.T) {
	g := web.NewGuard(func(h string) bool { return h == "10.0.0.5" || h == "[fd00::1]:8443" }, time.Second)
	for address, allowed := range map[string]bool{
		"https://example.com/":        true,
		"https://8.8.8.8/":            true,
		"https://[2606:4700::1]/":     true,
		"https://10.0.0.5/":           true,
		"https://10.0.0.5:8443/":      false, // another port is another host
		"https://10.0.0.6/":           false,
		"https://[fd00::1]:8443/":     true,
		"https://[fd00::1]/":          false,
		"https://127.0.0.1/":          false,
		"https://0.0.0.0/":            false,
		"https://169.254.169.254/":    false,
		"https://100.100.1.1/":        false,
		"https://198.18.0.1/":         false,
		"https://224.0.0.1/":          false,
		"https://[::1]/":              false,
		"https://[fe80::1]/":          false,
		"https://[::ffff:10.1.1.1]/":  false,
		"https://[64:ff9b::a01:101]/": false,
		"https://[2002:a01:101::]/":   false,
		"https://localhost/":          false,
		"https://LOCALHOST./":         false,
		"https://x.localhost/":        false,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		err = g.CheckURL(u)
		if _, refused := errors.AsType[*web.Refused](err); refused == allowed {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// The address that is connected to decides, whatever name led there.
func TestDialChecksTheAddress(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	addr := net.JoinHostPort("localhost", port)
	_, err = web.NewGuard(nil, time.Second).DialContext(t.Context(), "tcp4", addr)
	if _, refused := errors.AsType[*web.Refused](err); !refused {
		t.Errorf("%v, want a refusal", err)
	}
	conn, err := web.NewGuard(func(h string) bool { return h == addr }, time.Second).DialContext(t.Context(), "tcp4", addr)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

func TestNewRefusesWhatIsNoSetting(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]web.Config{
		"CA file":         {CAFiles: []string{file}},
		"missing CA file": {CAFiles: []string{file + ".gone"}},
		"proxy":           {Proxy: "http://"},
	} {
		if _, _, err := web.New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
