package git

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/skillpm/skillpm/fetch/internal/web"
)

// HTTPClient returns a client for other things fetched over HTTP (discovery
// indexes, registries): with the same connections, proxies and authorities, and
// the same refusal of hosts that the user did not name. It sends no credentials,
// follows no redirects, and its errors wrap a *diag.Error.
func (s *Source) HTTPClient() (*http.Client, error) {
	if _, err := s.transport(); err != nil {
		return nil, err
	}
	return &http.Client{
		Transport:     guarded{s},
		Timeout:       callTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

type guarded struct{ s *Source }

// RoundTrip implements http.RoundTripper.
func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	where := r.URL.Redacted()
	if r.URL.Scheme != "https" && !g.s.named(r.URL.Host) {
		return nil, explain(&web.Refused{Why: "plaintext http to a host that you did not name"}, where)
	}
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", g.s.agent)
	res, err := g.s.rt.RoundTrip(r)
	if err != nil {
		return nil, explain(ctxCause(r.Context(), err), where)
	}
	res.Body = &explained{res.Body, r.Context(), where}
	return res, nil
}

// explained is a body whose errors are findings.
type explained struct {
	io.ReadCloser
	ctx   context.Context // of this one request; a body has no other place for it
	where string
}

func (e *explained) Read(b []byte) (int, error) {
	n, err := e.ReadCloser.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = explain(ctxCause(e.ctx, err), e.where)
	}
	return n, err
}
