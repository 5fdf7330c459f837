package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
)

// httpService is git-upload-pack over smart HTTP (gitprotocol-http(5)).
type httpService struct {
	src  *Source
	repo string // identity, for messages
	at   atomic.Pointer[address]
}

// address is where a repository is. A redirect replaces it.
type address struct {
	base           *url.URL // without user and trailing slash
	user, password string   // what the URL held; another host does not get them
	moved          bool     // to another host, port or scheme than the user named
}

const (
	advertisementType = "application/x-git-upload-pack-advertisement"
	resultType        = "application/x-git-upload-pack-result"
)

func (h *httpService) stateful() bool { return false }
func (h *httpService) close() error   { return nil }

// advertise asks for capabilities and follows redirects, which only this
// request may meet.
func (h *httpService) advertise(ctx context.Context) (io.ReadCloser, error) {
	for range maxRedirects + 1 {
		res, err := h.send(ctx, http.MethodGet, "/info/refs?service=git-upload-pack", nil)
		if err != nil {
			return nil, err
		}
		if !isRedirect(res.status) {
			if res.kind != advertisementType {
				_ = res.Close()
				return nil, fmt.Errorf("%w: it is of type %q", errNotGit, diag.Escape(res.kind))
			}
			return res, nil
		}
		_ = res.Close()
		if err := h.follow(res.location); err != nil {
			return nil, err
		}
	}
	return nil, diag.New(diag.FetchFailed, "%s: more than %d redirects", h.repo, maxRedirects)
}

// errMoved asks the session to begin again at the advertisement.
var errMoved = errors.New("the repository has moved")

func (h *httpService) call(ctx context.Context, body []byte) (io.ReadCloser, error) {
	res, err := h.send(ctx, http.MethodPost, "/git-upload-pack", body)
	if err != nil {
		return nil, err
	}
	switch {
	case isRedirect(res.status):
		_ = res.Close()
		return nil, errMoved
	case res.kind != resultType:
		_ = res.Close()
		return nil, fmt.Errorf("%w: it is of type %q", errNotGit, diag.Escape(res.kind))
	}
	return res, nil
}

func isRedirect(status int) bool {
	switch status {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}

// follow moves to where a redirected info/refs request shall go. From https it
// must be https, and a host the user did not name must be public; credentials
// are looked up anew for the new host, so none cross over.
func (h *httpService) follow(location string) error {
	from := h.at.Load()
	to, err := from.base.Parse(location)
	if err != nil || location == "" {
		return diag.New(diag.FetchFailed, "%s: redirected to no URL", h.repo)
	}
	path, ok := strings.CutSuffix(to.Path, "/info/refs")
	switch {
	case !ok || to.Host == "":
		return diag.New(diag.RepositoryNotFoundOrPrivate, "no repository %s, or it is private", h.repo).
			WithDetail("the server redirects to `%s://%s%s`, which is no repository", diag.Escape(to.Scheme), diag.Escape(to.Host), diag.Escape(to.Path)).
			WithHint("check the spelling; a host may answer so to whoever is not signed in")
	case to.Scheme != "https" && (to.Scheme != from.base.Scheme || !h.src.named(to.Host)):
		return diag.New(diag.HostRefused, "%s: redirected to plaintext, `%s://%s`", h.repo, diag.Escape(to.Scheme), diag.Escape(to.Host)).
			WithHint("name the new address yourself if this is meant")
	}
	next := &address{moved: true, base: &url.URL{Scheme: to.Scheme, Host: to.Host, Path: path, RawPath: strings.TrimSuffix(to.RawPath, "/info/refs")}}
	if err := h.src.rt.Guard().CheckURL(next.base); err != nil {
		return err
	}
	if keyOf(next.base) == keyOf(from.base) {
		next.user, next.password, next.moved = from.user, from.password, from.moved
	}
	h.src.moved(h.repo, next.base.String())
	h.at.Store(next)
	return nil
}

// answer is an HTTP answer whose body keeps its time limits until closed.
type answer struct {
	io.ReadCloser
	status         int
	kind, location string
	stop           func()
	retry          string       // Retry-After
	foreign        bool         // it wants to be signed in to in another way than Basic
	cause          func() error // why the call ended early, nil if it did not
	count          func(int)
}

func (a *answer) Read(b []byte) (int, error) {
	n, err := a.ReadCloser.Read(b)
	if n > 0 {
		a.count(n)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		if why := a.cause(); why != nil {
			err = why
		}
	}
	return n, err
}

// Close reads what is left first, usually nothing but the end: a connection whose
// answer was not read to its end cannot carry another request, and a new one
// costs round trips.
func (a *answer) Close() error {
	drain := time.AfterFunc(drainTimeout, a.stop)
	defer drain.Stop()
	_, _ = io.CopyN(io.Discard, a.ReadCloser, maxDrain)
	err := a.ReadCloser.Close()
	a.stop()
	return err
}

// send makes one request, with credentials if the server insists on some and
// there are any. Every status but 200 and redirects is a *statusError.
func (h *httpService) send(ctx context.Context, method, path string, body []byte) (*answer, error) {
	at := h.at.Load()
	seeker := h.src.auth.seek(at)
	cred, tried := seeker.first(), false
	for {
		res, err := h.attempt(ctx, method, at.base.String()+path, body, cred)
		if err != nil {
			return nil, err
		}
		switch res.status {
		case 200:
			if cred != nil {
				h.src.auth.good(ctx, at.base, cred)
			}
			return res, nil
		case 301, 302, 303, 307, 308:
			return res, nil
		}
		status := res.failure()
		status.tried = cred != nil || tried
		if status.status != 401 && (status.status != 404 && status.status != 403 || cred != nil) {
			return nil, status
		}
		if cred != nil {
			tried = true
			h.src.auth.bad(ctx, at.base, cred)
		}
		status.tried = tried
		next, err := seeker.next(ctx, cred, status.status == 401)
		if err != nil {
			return nil, err
		}
		if next == nil {
			return nil, status
		}
		cred = next
	}
}

func (h *httpService) attempt(ctx context.Context, method, address string, body []byte, cred *credential) (*answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	limit := time.AfterFunc(callTimeout, func() { cancel(errSlow) })
	stop := func() { limit.Stop(); cancel(context.Canceled) }
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		stop()
		return nil, err
	}
	// Some hosts challenge for credentials only what calls itself git, and send
	// everybody else to a login page.
	req.Header.Set("User-Agent", "git/2 ("+h.src.agent+")")
	req.Header.Set("Git-Protocol", "version=2")
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-git-upload-pack-request")
		req.Header.Set("Accept", resultType)
	}
	h.src.headers(req)
	if cred != nil {
		req.SetBasicAuth(cred.user, cred.password)
	}
	transport, err := h.src.transport()
	if err != nil {
		stop()
		return nil, err
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		err = ctxCause(ctx, err)
		stop()
		return nil, err
	}
	return &answer{
		ReadCloser: res.Body, status: res.StatusCode,
		kind: res.Header.Get("Content-Type"), location: res.Header.Get("Location"),
		retry: res.Header.Get("Retry-After"), foreign: foreignAuth(res.Header.Values("WWW-Authenticate")),
		stop: stop, cause: func() error { return context.Cause(ctx) },
		count: func(n int) { h.src.progress.Bytes(h.repo, int64(n)) },
	}, nil
}

// failure closes the answer and says what it was.
func (a *answer) failure() *statusError {
	_ = a.Close()
	return &statusError{foreign: a.foreign, status: a.status, after: a.retryAfter(), text: fmt.Sprintf("%d %s", a.status, http.StatusText(a.status))}
}

// maxRetryAfter is the longest wait that a server's answer is taken to ask for;
// what is waited for is up to fetch.RetryOptions.
const maxRetryAfter = 30 * 24 * time.Hour

// retryAfter reads a Retry-After of RFC 9110, section 10.2.3: seconds or a date.
func (a *answer) retryAfter() time.Duration {
	var after time.Duration
	if seconds, err := strconv.Atoi(a.retry); err == nil || errors.Is(err, strconv.ErrRange) {
		after = time.Duration(min(seconds, int(maxRetryAfter/time.Second))) * time.Second
	} else if at, err := http.ParseTime(a.retry); err == nil {
		after = time.Until(at)
	}
	return max(0, min(after, maxRetryAfter))
}

// foreignAuth reports whether challenges leave no way that we know: neither
// Basic, nor none at all, where Basic is worth a try.
func foreignAuth(challenges []string) bool {
	for _, c := range challenges {
		if len(c) >= 5 && strings.EqualFold(c[:5], "Basic") {
			return false
		}
	}
	return len(challenges) > 0
}
