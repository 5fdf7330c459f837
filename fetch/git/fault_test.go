package git_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/fetch/fetchtest"
	"github.com/skillpm/skillpm/fetch/git"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/testkit"
)

func html(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
	w.Header().Set("Content-Type", "text/html")
	_, _ = w.Write([]byte("<html>please sign in"))
	return true
}

func pkts(lines ...string) []byte {
	var b strings.Builder
	for _, l := range lines {
		switch l {
		case "flush":
			b.WriteString("0000")
		default:
			b.WriteString(strings.ToLower(hex4(len(l) + 4)))
			b.WriteString(l)
		}
	}
	return []byte(b.String())
}

func hex4(n int) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[n>>12&15], digits[n>>8&15], digits[n>>4&15], digits[n&15]})
}

func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		name      string
		fault     testkit.Fault
		code      diag.Code
		temporary bool
	}{
		{"401", testkit.FailFirst(99, 401), diag.RepositoryNotFoundOrPrivate, false},
		{"403", testkit.FailFirst(99, 403), diag.FetchAuth, false},
		{"404", testkit.FailFirst(99, 404), diag.RepositoryNotFoundOrPrivate, false},
		{"418", testkit.FailFirst(99, 418), diag.FetchFailed, false},
		{"429", testkit.FailFirst(99, 429, "Retry-After: 7"), diag.FetchFailed, true},
		{"429 for long", testkit.FailFirst(99, 429, "Retry-After: 99999999999999999999"), diag.FetchFailed, true},
		{"500", testkit.FailFirst(99, 500), diag.FetchFailed, true},
		{"503 with a date", testkit.FailFirst(99, 503, "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT"), diag.FetchFailed, true},
		{"503", testkit.FailFirst(99, 503), diag.FetchFailed, true},
		{"504", testkit.FailFirst(99, 504), diag.FetchFailed, true},
		{"login page", html, diag.FetchFailed, false},
		{"cut in a packet", testkit.Truncate(99, 30), diag.FetchFailed, true},
		{"cut in the pack", testkit.Truncate(99, 200), diag.FetchFailed, true},
		{"empty answer", testkit.Answer(nil), diag.FetchFailed, true},
		{"ERR packet", testkit.Answer(pkts("ERR out of cheese\n")), diag.FetchFailed, false},
		{"sideband 3", testkit.Answer(pkts("packfile\n", "\x02counting", "\x03fatal: disk\x1b[31m\n", "flush")), diag.FetchFailed, false},
		{"unknown sideband", testkit.Answer(pkts("packfile\n", "\x07what", "flush")), diag.FetchFailed, false},
		{"no pack", testkit.Answer(pkts("shallow-info\n", "flush")), diag.PackInvalid, false},
		{"not pkt-line", testkit.Answer([]byte("hello, world")), diag.FetchFailed, false},
		{"packet too long", testkit.Answer([]byte("ffff....")), diag.FetchFailed, false},
		{"redirect to nowhere", testkit.Redirect("/acme/skills", "/login", 302), diag.RepositoryNotFoundOrPrivate, false},
		{"redirect in a circle", testkit.Redirect("/acme/skills", "/acme/skills", 301), diag.FetchFailed, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			_, commit := monorepo(t, root)
			s := fetchtest.Serve(t, root, testkit.Shape{})
			s.SetFault(tt.fault)
			if tt.name == "redirect to nowhere" {
				s.SetFault(func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
					http.Redirect(w, r, "/login", http.StatusFound)
					return true
				})
			}
			src := newSource(t, git.Options{Named: only(s.Host())})
			_, err := src.Open(t.Context(), parse(t, s.URL+"/acme/skills"), []fetch.Want{{Commit: commit}})
			if got := diag.CodeOf(err); got != tt.code {
				t.Errorf("code %q (%v), want %q", got, err, tt.code)
			}
			temporary, ok := errors.AsType[*fetch.Temporary](err)
			if ok != tt.temporary {
				t.Errorf("temporary: %v, want %v", ok, tt.temporary)
			}
			if tt.name == "429 for long" && (!ok || temporary.After < time.Hour) {
				t.Errorf("Retry-After was cut: %+v", temporary)
			}
			if tt.name == "429" && (!ok || temporary.After != 7*time.Second) {
				t.Errorf("Retry-After was not heard: %+v", temporary)
			}
			if err != nil && (!strings.Contains(err.Error(), "acme/skills") || strings.ContainsAny(err.Error(), "\x1b")) {
				t.Errorf("message: %q", err)
			}
			if e := diag.All(err); len(e) == 1 && e[0].Hint == "" && tt.name != "ERR packet" && !strings.HasPrefix(tt.name, "sideband") && tt.name != "redirect in a circle" {
				t.Errorf("no hint in %v", err)
			}
		})
	}
}

// A server that fails for a moment costs a retry, not the run.
func TestRetryOverTheWire(t *testing.T) {
	for name, fault := range map[string]testkit.Fault{
		"503": testkit.FailFirst(1, 503), "cut": testkit.Truncate(1, 200),
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			_, commit := monorepo(t, root)
			s := fetchtest.Serve(t, root, testkit.Shape{})
			s.SetFault(fault)
			src := fetch.NewRetry(newSource(t, git.Options{Named: only(s.Host())}), fetch.RetryOptions{First: time.Nanosecond})
			snap, err := src.Open(t.Context(), parse(t, s.URL+"/acme/skills"), []fetch.Want{{Commit: commit}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := fetch.Load(t.Context(), snap, commit, "skills/pdf", fetch.LoadOptions{}, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCancelIsQuick(t *testing.T) {
	root := t.TempDir()
	_, commit := monorepo(t, root)
	s := fetchtest.Serve(t, root, testkit.Shape{})
	reached := make(chan struct{}, 1)
	hang := testkit.Hang()
	s.SetFault(func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		reached <- struct{}{}
		return hang(w, r, next)
	})
	src := newSource(t, git.Options{Named: only(s.Host())})
	ctx, cancel := context.WithCancel(t.Context())
	var start time.Time
	go func() {
		<-reached
		start = time.Now()
		cancel()
	}()
	_, err := src.Open(ctx, parse(t, s.URL+"/acme/skills"), []fetch.Want{{Commit: commit}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if took := time.Since(start); took > 100*time.Millisecond {
		t.Errorf("it took %v to stop", took)
	}
}

func TestServersThatDoNotAnswer(t *testing.T) {
	root := t.TempDir()
	_, commit := monorepo(t, root)
	s := fetchtest.Serve(t, root, testkit.Shape{})
	silent := func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		_, _ = w.Write(pkts("packfile\n"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return true
	}
	for name, fault := range map[string]testkit.Fault{"at all": testkit.Hang(), "any further": silent} {
		s.SetFault(fault)
		src := newSource(t, git.Options{Named: only(s.Host()), Patience: 100 * time.Millisecond})
		_, err := src.Open(t.Context(), parse(t, s.URL+"/acme/skills"), []fetch.Want{{Commit: commit}})
		// It was waited for long enough: trying again would wait as long again.
		if _, again := errors.AsType[*fetch.Temporary](err); again || diag.CodeOf(err) != diag.FetchTimeout || diag.All(err)[0].Reason != fetch.ReasonTemporary {
			t.Errorf("%s: %v, want fetch_timeout", name, err)
		}
	}
}

func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host := l.Addr().String()
	_ = l.Close()
	src := newSource(t, git.Options{Named: only(host)})
	if _, err := src.Refs(t.Context(), parse(t, "http://"+host+"/acme/skills")); diag.CodeOf(err) != diag.FetchFailed {
		t.Errorf("%v", err)
	}
}

// Hosts inside the user's network are not for others to name.
func TestUnnamedHosts(t *testing.T) {
	root := t.TempDir()
	monorepo(t, root)
	s := fetchtest.Serve(t, root, testkit.Shape{TLS: true})
	port := s.URL[strings.LastIndex(s.URL, ":"):]
	src := newSource(t, git.Options{})
	spellings := []string{
		s.URL + "/acme/skills",
		"https://localhost" + port + "/acme/skills",
		"https://[::1]" + port + "/acme/skills",
		"http://example.com/acme/skills",
		"git://example.com/acme/skills",
	}
	for _, host := range fetchtest.Inside {
		spellings = append(spellings, "https://"+host+"/acme/skills", "http://"+host+"/acme/skills",
			"git://"+host+"/acme/skills", "ssh://git@"+host+"/acme/skills")
	}
	for _, spelling := range spellings {
		if _, err := src.Refs(t.Context(), parse(t, spelling)); diag.CodeOf(err) != diag.HostRefused {
			t.Errorf("%s: %v, want host_refused", spelling, err)
		}
	}
	if log := s.Requests(); len(log) != 0 {
		t.Errorf("it was contacted: %v", log)
	}
}

func TestTLS(t *testing.T) {
	root := t.TempDir()
	monorepo(t, root)
	s := fetchtest.Serve(t, root, testkit.Shape{TLS: true})
	repo := parse(t, s.URL+"/acme/skills")
	_, err := newSource(t, git.Options{Named: only(s.Host())}).Refs(t.Context(), repo)
	if diag.CodeOf(err) != diag.FetchFailed || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown authority: %v", err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, s.CA, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, opt := range map[string]git.Options{
		"CAFile":         {CAFile: file},
		"SSL_CERT_FILE":  {Environ: []string{"SSL_CERT_FILE=" + file}},
		"http.sslCAInfo": {Environ: []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.sslCAInfo", "GIT_CONFIG_VALUE_0=" + file}},
	} {
		opt.Named = only(s.Host())
		if _, err := newSource(t, opt).Refs(t.Context(), repo); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRedirects(t *testing.T) {
	root := t.TempDir()
	_, commit := monorepo(t, root)
	s := fetchtest.Serve(t, root, testkit.Shape{})
	for _, status := range []int{301, 302, 307, 308} {
		s.SetFault(testkit.Redirect("/old/name", s.URL+"/acme/skills", status))
		var notes []*diag.Error
		src := newSource(t, git.Options{Named: only(s.Host()), Notify: func(e *diag.Error) { notes = append(notes, e) }})
		snap, err := src.Open(t.Context(), parse(t, s.URL+"/old/name"), []fetch.Want{{Commit: commit}})
		if err != nil {
			t.Errorf("%d: %v", status, err)
			continue
		}
		if _, err := fetch.Load(t.Context(), snap, commit, "skills/pdf", fetch.LoadOptions{}, nil); err != nil {
			t.Error(err)
		}
		if len(notes) != 1 || notes[0].Code != diag.RepositoryMoved || !strings.Contains(notes[0].Message, "/acme/skills") {
			t.Errorf("%d: told %v", status, notes)
		}
	}
}

// The programs that dial by themselves are asked to reach no host either.
func TestUnnamedHostsByProgram(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	program := filepath.Join(t.TempDir(), "ssh")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n: > '"+ran+"'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, host := range fetchtest.Inside {
		for spelling, opt := range map[string]git.Options{
			"ssh://git@" + host + "/acme/skills":     {Environ: []string{"GIT_SSH=" + program}},
			"ssh://git@" + host + "/acme/skills.git": {Environ: []string{"GIT_SSH=" + program}, CLI: git.CLIAlways},
			"https://" + host + "/acme/skills":       {CLI: git.CLIAlways},
		} {
			if _, err := newSource(t, opt).Refs(t.Context(), parse(t, spelling)); diag.CodeOf(err) != diag.HostRefused {
				t.Errorf("%s: %v, want host_refused", spelling, err)
			}
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("ssh was run")
	}
}

// A redirect leads to no address inside: not git itself, not an index, and not
// the git program, which is not let to follow any.
func TestRedirectsInside(t *testing.T) {
	root := t.TempDir()
	monorepo(t, root)
	s := fetchtest.Serve(t, root, testkit.Shape{})
	client, err := newSource(t, git.Options{Named: only(s.Host())}).HTTPClient()
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range fetchtest.Inside {
		for _, scheme := range []string{"https://", "http://"} {
			s.SetFault(testkit.Redirect("/acme/skills", scheme+host+"/acme/skills", 302))
			_, err := newSource(t, git.Options{Named: only(s.Host())}).Refs(t.Context(), parse(t, s.URL+"/acme/skills"))
			if diag.CodeOf(err) != diag.HostRefused {
				t.Errorf("git, to %s%s: %v, want host_refused", scheme, host, err)
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+host+"/", nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := client.Do(req)
			if diag.CodeOf(err) != diag.HostRefused {
				t.Errorf("an index, to %s%s: %v, want host_refused", scheme, host, err)
			}
			if err == nil {
				_ = res.Body.Close()
			}
		}
	}
	to := fetchtest.Serve(t, root, testkit.Shape{})
	s.SetFault(testkit.Redirect("/acme/skills", to.URL+"/acme/skills", 302))
	_, err = newSource(t, git.Options{Named: only(s.Host()), CLI: git.CLIAlways}).Refs(t.Context(), parse(t, s.URL+"/acme/skills"))
	if err == nil || len(to.Requests()) != 0 {
		t.Errorf("the git program followed a redirect: %v", err)
	}
}

// A redirect to another host takes no credentials along, and may not lead to a
// private one that nobody named.
func TestRedirectAcrossHosts(t *testing.T) {
	root := t.TempDir()
	_, commit := monorepo(t, root)
	to := fetchtest.Serve(t, root, testkit.Shape{})
	from := fetchtest.Serve(t, t.TempDir(), testkit.Shape{User: "u", Password: "secret"})
	redirect := testkit.Redirect("/acme/skills", to.URL+"/acme/skills", 301)
	from.SetFault(func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		if _, _, ok := r.BasicAuth(); !ok {
			return false
		}
		return redirect(w, r, next)
	})
	env := []string{"SKILLPM_TOKEN_" + strings.NewReplacer(".", "_", ":", "_").Replace(from.Host()) + "=u:secret"}
	both := func(h string) bool { return h == from.Host() || h == to.Host() }
	want := []fetch.Want{{Commit: commit}}
	if _, err := newSource(t, git.Options{Named: both, Environ: env}).Open(t.Context(), parse(t, from.URL+"/acme/skills"), want); err != nil {
		t.Fatal(err)
	}
	log := to.Requests()
	if len(log) == 0 {
		t.Fatal("the redirect was not followed")
	}
	for _, r := range log {
		if r.Auth {
			t.Errorf("credentials went to another host: %v", r)
		}
	}
	_, err := newSource(t, git.Options{Named: only(from.Host()), Environ: env}).Open(t.Context(), parse(t, from.URL+"/acme/skills"), want)
	if diag.CodeOf(err) != diag.HostRefused {
		t.Errorf("to a host nobody named: %v, want host_refused", err)
	}
	if len(to.Requests()) != 0 {
		t.Error("it was contacted")
	}
}

// A token for a host is for the port and scheme that the user asked for, not for
// where a redirect leads: neither to another port of that host nor to plaintext.
func TestRedirectAcrossPorts(t *testing.T) {
	root := t.TempDir()
	_, commit := monorepo(t, root)
	from := fetchtest.Serve(t, t.TempDir(), testkit.Shape{User: "u", Password: "secret"})
	to := fetchtest.Serve(t, root, testkit.Shape{User: "u", Password: "secret"})
	redirect := testkit.Redirect("/acme/skills", to.URL+"/acme/skills", 301)
	from.SetFault(func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		if _, _, ok := r.BasicAuth(); !ok {
			return false
		}
		return redirect(w, r, next)
	})
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".netrc"), []byte("machine 127.0.0.1 login u password secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(to.Host())
	for name, c := range map[string]struct {
		opt  git.Options
		sent bool
	}{
		"a token of the host":       {git.Options{Environ: []string{"SKILLPM_TOKEN_127_0_0_1=u:secret"}}, false},
		"a .netrc":                  {git.Options{Home: home}, false},
		"a token of the other port": {git.Options{Home: home, Environ: []string{"SKILLPM_TOKEN_127_0_0_1_" + port + "=u:secret"}}, true},
	} {
		c.opt.Named = func(string) bool { return true }
		_, err := newSource(t, c.opt).Open(t.Context(), parse(t, from.URL+"/acme/skills"), []fetch.Want{{Commit: commit}})
		log := to.Requests()
		if len(log) == 0 {
			t.Fatalf("%s: the redirect was not followed: %v", name, err)
		}
		if sent := slices.ContainsFunc(log, func(r testkit.Request) bool { return r.Auth }); sent != c.sent || (err == nil) != c.sent {
			t.Errorf("%s: sent to the other port: %v, want %v (%v)", name, sent, c.sent, err)
		}
	}
}

// Plaintext is for hosts the user named, also by way of a redirect.
func TestNoPlaintextByRedirect(t *testing.T) {
	s := fetchtest.Serve(t, t.TempDir(), testkit.Shape{})
	s.SetFault(testkit.Redirect("/acme/skills", "http://example.com/acme/skills", 301))
	_, err := newSource(t, git.Options{Named: only(s.Host())}).Refs(t.Context(), parse(t, s.URL+"/acme/skills"))
	if diag.CodeOf(err) != diag.HostRefused {
		t.Errorf("%v, want host_refused", err)
	}
}

func TestNoDowngradeByRedirect(t *testing.T) {
	root := t.TempDir()
	monorepo(t, root)
	plain := fetchtest.Serve(t, root, testkit.Shape{})
	s := fetchtest.Serve(t, root, testkit.Shape{TLS: true})
	s.SetFault(testkit.Redirect("/acme/skills", plain.URL+"/acme/skills", 301))
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, s.CA, 0o600); err != nil {
		t.Fatal(err)
	}
	src := newSource(t, git.Options{Named: func(string) bool { return true }, CAFile: file})
	if _, err := src.Refs(t.Context(), parse(t, s.URL+"/acme/skills")); diag.CodeOf(err) != diag.HostRefused {
		t.Errorf("%v, want host_refused", err)
	}
}
