package web_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/skillpm/skillpm/fetch/fetchtest"
	"github.com/skillpm/skillpm/fetch/internal/web"
)

func refused(err error) bool {
	_, ok := errors.AsType[*web.Refused](err)
	return ok
}

func checkURL(t *testing.T, g *web.Guard, address string) error {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return g.CheckURL(u)
}

func TestCheckURL(t *testing.T) {
	g := web.NewGuard(func(h string) bool { return h == "10.0.0.5" || h == "[fd00::1]:8443" }, time.Second)
	for address, allowed := range map[string]bool{
		"https://example.com/":    true,
		"https://10.0.0.5/":       true,
		"https://10.0.0.5:8443/":  false, // another port is another host
		"https://10.0.0.6/":       false,
		"https://[fd00::1]:8443/": true,
		"https://[fd00::1]/":      false,
		"https://localhost/":      false,
		"https://LOCALHOST./":     false,
		"https://x.localhost/":    false,
	} {
		if err := checkURL(t, g, address); refused(err) == allowed {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, host := range fetchtest.Inside {
		if err := checkURL(t, g, "https://"+host+"/"); !refused(err) {
			t.Errorf("%s: %v, want a refusal", host, err)
		}
	}
	for _, host := range fetchtest.Outside {
		if err := checkURL(t, g, "https://"+host+"/"); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// Dialling, and the check for a program that dials, refuse the same addresses.
func TestDialRefusesInside(t *testing.T) {
	g := web.NewGuard(nil, time.Second)
	for _, host := range fetchtest.Inside {
		addr := host + ":443"
		if _, err := g.DialContext(t.Context(), "tcp", addr); !refused(err) {
			t.Errorf("dial %s: %v, want a refusal", addr, err)
		}
		if err := g.CheckHost(t.Context(), addr); !refused(err) {
			t.Errorf("check %s: %v, want a refusal", addr, err)
		}
	}
}

// A service in a private network may spread over it; nothing else may lead there.
func TestHome(t *testing.T) {
	for _, c := range []struct {
		home, to string
		allowed  bool
	}{
		{"192.0.2.1:443", "192.0.2.1", true},
		{"192.0.2.1:443", "10.0.0.1", false},
		{"192.0.2.1:443", "127.0.0.1", false},
		{"10.0.0.1:5000", "10.0.0.1:5000", true},
		{"10.0.0.1:5000", "10.0.0.2:9000", true}, // its blob store
		{"10.0.0.1:5000", "[fd00::1]", true},
		{"10.0.0.1:5000", "100.64.0.9", true},
		{"10.0.0.1:5000", "127.0.0.1", false},
		{"10.0.0.1:5000", "localhost", false},
		{"10.0.0.1:5000", "169.254.169.254", false},
		{"10.0.0.1:5000", "[64:ff9b::a9fe:a9fe]", false},
		{"127.0.0.1:5000", "127.0.0.1:9000", true},
		{"127.0.0.1:5000", "localhost:9000", true},
		{"127.0.0.1:5000", "10.0.0.2", true},
		{"127.0.0.1:5000", "169.254.169.254", false},
		{"[::1]:5000", "127.0.0.1:9000", true},
		{"registry.example:443", "10.0.0.1", false}, // nobody has dialled it yet
	} {
		transport, err := web.New(web.Config{Home: c.home})
		if err != nil {
			t.Fatal(err)
		}
		if err := checkURL(t, transport.Guard(), "https://"+c.to+"/"); refused(err) == c.allowed {
			t.Errorf("from %s to %s: %v", c.home, c.to, err)
		}
	}
}

// Where a home's name leads is known once it was dialled.
func TestHomeByName(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	transport, err := web.New(web.Config{Home: "localhost:" + port})
	if err != nil {
		t.Fatal(err)
	}
	if err := checkURL(t, transport.Guard(), "http://127.0.0.1:1/"); !refused(err) {
		t.Errorf("before: %v, want a refusal", err)
	}
	res, err := (&http.Client{Transport: transport}).Get("http://localhost:" + port)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if err := checkURL(t, transport.Guard(), "http://127.0.0.1:1/"); err != nil {
		t.Errorf("after: %v", err)
	}
}

// Every request is checked, so also one that a client makes for a redirect.
func TestRedirectsAreChecked(t *testing.T) {
	var to string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, to, http.StatusFound)
	}))
	t.Cleanup(s.Close)
	named := func(h string) bool { return h == s.Listener.Addr().String() }
	transport, err := web.New(web.Config{Named: named, ConnectTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: transport}
	for _, host := range fetchtest.Inside {
		to = "http://" + host + "/"
		if res, err := client.Get(s.URL); !refused(err) {
			t.Errorf("to %s: %v, want a refusal", host, err)
			if err == nil {
				_ = res.Body.Close()
			}
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
	if _, err = web.NewGuard(nil, time.Second).DialContext(t.Context(), "tcp4", addr); !refused(err) {
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
		if _, err := web.New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
