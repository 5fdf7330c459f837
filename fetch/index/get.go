package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
)

// maxRedirects is what a moved site and a content network need together.
const maxRedirects = 5

// get fetches u, at most limit bytes. Redirects never lead from https to http.
func (c *Client) get(ctx context.Context, u *url.URL, limit int64) ([]byte, error) {
	for range maxRedirects + 1 {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
		if err != nil {
			return nil, err
		}
		res, err := c.HTTP.Do(req)
		if err != nil {
			return nil, explain(ctx, err, u)
		}
		location := res.Header.Get("Location")
		if res.StatusCode/100 != 3 || location == "" {
			return read(ctx, res, u, limit)
		}
		_ = res.Body.Close()
		to, err := u.Parse(location)
		if err != nil || to.Scheme != "https" && to.Scheme != u.Scheme {
			return nil, diag.New(diag.HostRefused, "%s redirects to a plaintext address or none", u.Redacted())
		}
		to.User = nil
		u = to
	}
	return nil, diag.New(diag.FetchFailed, "%s: more than %d redirects", u.Redacted(), maxRedirects)
}

func read(ctx context.Context, res *http.Response, u *url.URL, limit int64) ([]byte, error) {
	defer res.Body.Close()
	switch status := res.StatusCode; {
	case status == 200:
	case status == 404 || status == 410 || status == 401:
		return nil, diag.New(diag.RepositoryNotFoundOrPrivate, "there is nothing at %s, or it is private", u.Redacted()).
			WithCause(answered(status)).WithHint("check the address; a repository of skills is named host/owner/repo//path")
	case status == 403:
		return nil, diag.New(diag.FetchAuth, "%s: the server refuses access", u.Redacted()).WithCause(answered(status))
	case status == 408 || status == 429 || status >= 500:
		return nil, &fetch.Temporary{Err: diag.New(diag.FetchFailed, "%s: the server cannot answer now", u.Redacted()).WithCause(answered(status)).WithHint("try again later")}
	default:
		return nil, diag.New(diag.FetchFailed, "%s cannot be read", u.Redacted()).WithCause(answered(status))
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err != nil {
		return nil, explain(ctx, err, u)
	}
	if int64(len(body)) > limit {
		return nil, diag.New(diag.FetchTooLarge, "%s has more than %d bytes", u.Redacted(), limit)
	}
	return body, nil
}

func answered(status int) error {
	return fmt.Errorf("the server answers %d %s", status, http.StatusText(status))
}

// explain keeps findings that the HTTP client's transport made, such as
// host_refused, and calls the rest temporary.
func explain(ctx context.Context, err error, u *url.URL) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e, ok := errors.AsType[*diag.Error](err); ok {
		return e
	}
	if t, ok := errors.AsType[*url.Error](err); ok {
		if t.Timeout() {
			return &fetch.Temporary{Err: diag.New(diag.FetchTimeout, "%s: the server does not answer in time", u.Redacted()).WithHint("try again")}
		}
		err = t.Err
	}
	return &fetch.Temporary{Err: diag.New(diag.FetchFailed, "%s cannot be reached", u.Redacted()).WithCause(err).WithHint("check the address and the network")}
}
