package testkit

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Shape is how a git host is set up.
type Shape struct {
	// Stock is upload-pack without configuration: no filter, over v0 tips only.
	// Otherwise filters and any object are allowed, as the public hosts do.
	Stock bool
	// V0 ignores the client's wish for protocol v2.
	V0 bool
	// User and Password are demanded of every request when User is set.
	User, Password string
	// TLS serves https with a throw-away certificate (Server.CA).
	TLS bool
	// Delay waits before each answer.
	Delay time.Duration
	// MultiAck is a server like Azure DevOps: v0, and it refuses a client that
	// does not ask for multi_ack.
	MultiAck bool
	// Address is where to listen; "" is a free port of 127.0.0.1. Every address
	// of 127.0.0.0/8 is loopback on Linux, so that hosts can have names whose
	// order is the same in every run.
	Address string
}

// Request is one line of a Server's log.
type Request struct {
	Method, Path string
	Status       int
	In, Out      int64 // bytes of the bodies
	Auth         bool  // it carried credentials
	Version2     bool
}

func (r Request) String() string {
	return fmt.Sprintf("%s %s %d in=%d out=%d", r.Method, r.Path, r.Status, r.In, r.Out)
}

// Fault makes a Server misbehave. It is called for each request and returns
// true if it answered itself; it may also wrap w by serving next.
type Fault func(w http.ResponseWriter, r *http.Request, next http.Handler) bool

// Server is git http-backend over the bare repositories below a directory; a
// path without .git is served too.
type Server struct {
	URL string // http://127.0.0.1:PORT
	CA  []byte // PEM, with Shape.TLS
	// Root is the directory with the repositories.
	Root string

	shape   Shape
	backend string
	srv     *httptest.Server
	host    string
	down    bool

	mu    sync.Mutex
	conns int
	log   []Request
	fault Fault
}

// Serve starts a Server over root.
func Serve(root string, shape Shape) (*Server, error) {
	dir, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		return nil, fmt.Errorf("git --exec-path: %w", err)
	}
	root, err = filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	s := &Server{Root: root, shape: shape, backend: filepath.Join(strings.TrimSpace(string(dir)), "git-http-backend")}
	return s, s.listen(shape.Address)
}

// listen starts serving at address, or at a free port of 127.0.0.1 for "".
func (s *Server) listen(address string) error {
	s.srv = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	if address != "" {
		l, err := net.Listen("tcp", address)
		if err != nil {
			_ = s.srv.Listener.Close()
			return err
		}
		_ = s.srv.Listener.Close() // the one that httptest made
		s.srv.Listener = l
	}
	s.srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.mu.Lock()
			s.conns++
			s.mu.Unlock()
		}
	}
	if s.shape.TLS {
		s.srv.StartTLS()
		s.CA = certPEM(s.srv.Certificate().Raw)
	} else {
		s.srv.Start()
	}
	s.URL, s.host, s.down = s.srv.URL, s.srv.Listener.Addr().String(), false
	return nil
}

// Host returns host:port.
func (s *Server) Host() string { return s.host }

// Close stops the server.
func (s *Server) Close() {
	if !s.down {
		s.srv.CloseClientConnections()
		s.srv.Close()
	}
	s.down = true
}

// Down makes every connection to the server be refused until Up. Neither may
// run beside requests.
func (s *Server) Down() { s.Close() }

// Up listens at the same address again. A program that another test starts holds
// the old socket between its fork and its exec, so the address may be taken for
// moments yet.
func (s *Server) Up() error {
	if !s.down {
		return nil
	}
	for deadline := time.Now().Add(10 * time.Second); ; runtime.Gosched() {
		err := s.listen(s.host)
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(deadline) {
			return err
		}
	}
}

// Requests returns the log and empties it.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log
	s.log = nil
	return log
}

// Connections returns how many connections were made so far.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns
}

// SetFault makes later requests go through f; nil ends that.
func (s *Server) SetFault(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	_, _, auth := r.BasicAuth()
	cw := &countingWriter{ResponseWriter: w, status: http.StatusOK}
	body := &countingReader{r: r}
	r2 := r.Clone(r.Context())
	r2.Body = body
	entry := Request{Method: r.Method, Path: r.URL.RequestURI(), Auth: auth, Version2: r.Header.Get("Git-Protocol") == "version=2"}
	defer func() {
		entry.Status, entry.In, entry.Out = cw.status, body.n, cw.n
		s.mu.Lock()
		s.log = append(s.log, entry)
		s.mu.Unlock()
	}()
	s.mu.Lock()
	fault := s.fault
	s.mu.Unlock()
	if s.shape.Delay > 0 {
		time.Sleep(s.shape.Delay)
	}
	if fault != nil && fault(cw, r2, http.HandlerFunc(s.answer)) {
		return
	}
	s.answer(cw, r2)
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	if s.shape.User != "" {
		user, password, _ := r.BasicAuth()
		if user != s.shape.User || password != s.shape.Password {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
	}
	if s.shape.MultiAck && r.Method == http.MethodPost && !requestsMultiAck(r) {
		http.Error(w, "TF401032: multi_ack is required", http.StatusBadRequest)
		return
	}
	s.handler(r).ServeHTTP(w, r)
}

func (s *Server) handler(r *http.Request) http.Handler {
	config := []string{"safe.directory=*"}
	if !s.shape.Stock {
		config = append(config, "uploadpack.allowFilter=true", "uploadpack.allowAnySHA1InWant=true")
	}
	env := []string{
		"GIT_PROJECT_ROOT=" + s.Root, "GIT_HTTP_EXPORT_ALL=1",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(config)),
	}
	for i, c := range config {
		key, value, _ := strings.Cut(c, "=")
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, value))
	}
	if v := r.Header.Get("Git-Protocol"); v != "" && !s.shape.V0 && !s.shape.MultiAck {
		env = append(env, "GIT_PROTOCOL="+v)
	}
	r.Header.Del("Git-Protocol") // newer http-backends read it themselves
	if u := s.withSuffix(r.URL); u != nil {
		r.URL = u
	}
	return &cgi.Handler{Path: s.backend, Env: env, InheritEnv: []string{"PATH"}, Stderr: discard{}}
}

// withSuffix maps /acme/skills/info/refs to /acme/skills.git/info/refs.
func (s *Server) withSuffix(u *url.URL) *url.URL {
	for _, end := range []string{"/info/refs", "/git-upload-pack"} {
		repo, ok := strings.CutSuffix(u.Path, end)
		if !ok || strings.HasSuffix(repo, ".git") {
			continue
		}
		if info, err := os.Stat(filepath.Join(s.Root, filepath.FromSlash(repo)+".git")); err != nil || !info.IsDir() {
			continue
		}
		v := *u
		v.Path = repo + ".git" + end
		return &v
	}
	return nil
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

type countingWriter struct {
	http.ResponseWriter
	status int
	n      int64
}

func (w *countingWriter) WriteHeader(code int) {
	w.status = code
	w.ResponseWriter.WriteHeader(code)
}

func (w *countingWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.n += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *countingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

type countingReader struct {
	r *http.Request
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Body.Read(p)
	c.n += int64(n)
	return n, err
}

func (c *countingReader) Close() error { return c.r.Body.Close() }
