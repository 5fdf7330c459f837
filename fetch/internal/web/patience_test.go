package web

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// drip is a peer that sends n bytes at a time, every pause, until it is closed.
type drip struct {
	n      int
	pause  time.Duration
	closed chan struct{}
}

func newDrip(n int, pause time.Duration) *drip { return &drip{n, pause, make(chan struct{})} }

func (d *drip) Read(b []byte) (int, error) {
	select {
	case <-time.After(d.pause):
		return min(d.n, len(b)), nil
	case <-d.closed:
		return 0, net.ErrClosed
	}
}

func (d *drip) close() { close(d.closed) }

// A peer that sends nothing is given up after the patience, one that hardly
// sends after two of them, and one that sends slowly is not.
func TestReader(t *testing.T) {
	for name, c := range map[string]struct {
		n           int
		pause, want time.Duration
	}{
		"silent":                       {1, time.Hour, time.Minute},
		"a byte every twenty seconds":  {1, 20 * time.Second, 2 * time.Minute},
		"a byte every fifty-nine":      {1, 59 * time.Second, 177 * time.Second},
		"a packet every five seconds":  {5, 5 * time.Second, 2 * time.Minute},
		"a slow line, a hundred a sec": {100, time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDrip(c.n, c.pause)
				start := time.Now()
				_, err := io.Copy(io.Discard, io.LimitReader(Reader(d, 0, d.close), 100_000))
				silent, ok := errors.AsType[*Silent](err)
				if c.want == 0 {
					if err != nil {
						t.Errorf("given up: %v", err)
					}
					return
				}
				if took := time.Since(start); !ok || took != c.want || !silent.Timeout() {
					t.Errorf("%v after %s, want a refusal after %s", err, took, c.want)
				}
			})
		})
	}
}

// What the caller does between two reads is no fault of the peer.
func TestSlowCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := Reader(strings.NewReader("abc"), time.Minute, func() { t.Error("given up") })
		for range 3 {
			if _, err := r.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
	})
}

// serve runs handler at the other end of a Transport, in memory.
func serve(t *testing.T, handler http.HandlerFunc) *http.Client {
	t.Helper()
	transport, err := New(Config{Named: func(string) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	l := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
	transport.base.DialContext = func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		l.conns <- there
		return here, nil
	}
	s := &http.Server{Handler: handler}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { transport.CloseIdleConnections(); _ = s.Close() })
	return &http.Client{Transport: transport}
}

type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l *pipeListener) Close() error   { close(l.done); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

func TestTransportIsNotPatientForEver(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request)
		want   time.Duration
	}{
		"no answer": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, time.Minute},
		"no more of it": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "start")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, time.Minute},
		"hardly more of it": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, "x")
				_ = http.NewResponseController(w).Flush()
				select {
				case <-time.After(20 * time.Second):
				case <-r.Context().Done():
				}
			}
		}, 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := serve(t, c.answer)
				start := time.Now()
				res, err := client.Get("http://peer.test/")
				if err == nil {
					_, err = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
				}
				took := time.Since(start)
				if _, silent := errors.AsType[*Silent](err); !silent || took != c.want {
					t.Errorf("%v after %s, want to give up after %s", err, took, c.want)
				}
			})
		})
	}
}

// An upload that takes long is not a silent peer, and neither is an answer that
// takes less than the patience after it.
func TestTransportLetsUploadsTakeLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			n, err := io.Copy(io.Discard, r.Body)
			time.Sleep(50 * time.Second)
			if n != 1000 || err != nil {
				w.WriteHeader(http.StatusBadRequest)
			}
		})
		slow := newDrip(100, 30*time.Second)
		start := time.Now()
		res, err := client.Post("http://peer.test/", "text/plain", io.LimitReader(slow, 1000))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if took := time.Since(start); res.StatusCode != 200 || took < 5*time.Minute {
			t.Errorf("%s after %s", res.Status, took)
		}
	})
}
