package oci

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The dialer goes to a private address only where the user named such a host.
func TestGuardedDialer(t *testing.T) {
	for _, c := range []struct {
		named, address string
		refused        bool
	}{
		{"127.0.0.1", "127.0.0.1:1", false},
		{"192.0.2.1", "127.0.0.1:1", true},
		{"192.0.2.1", "[::1]:1", true},
		{"192.0.2.1", "[::ffff:10.0.0.1]:1", true},
		{"192.0.2.1", "169.254.169.254:80", true},
		{"10.0.0.1", "127.0.0.1:1", false}, // inside, blob stores are inside
	} {
		ctx, cancel := context.WithCancel(t.Context())
		dialer := guardedDialer{host: c.named}
		if !c.refused {
			cancel() // no connection is wanted, only the decision
		}
		_, err := dialer.dial(ctx, "tcp", c.address)
		cancel()
		if _, refused := errors.AsType[addressError](err); refused != c.refused {
			t.Errorf("named %s, to %s: %v", c.named, c.address, err)
		}
	}
}

// stuck is a body that ends only with its request.
type stuck struct{ ctx context.Context }

func (s stuck) Read([]byte) (int, error) { <-s.ctx.Done(); return 0, s.ctx.Err() }
func (s stuck) Close() error             { return nil }

type stuckTransport struct{}

func (stuckTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	body := io.MultiReader(strings.NewReader("start"), stuck{req.Context()})
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(body), Request: req}, nil
}

// A body that stops arriving is a timeout after a minute, not a hang.
func TestStalledBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := http.Client{Transport: stallGuard{stuckTransport{}}}
		start := time.Now()
		resp, err := client.Get("http://mirror.test/")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		_, err = io.ReadAll(resp.Body)
		if !isTimeout(err) || time.Since(start) != stallTimeout {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
	})
}
