package git

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/fetch/internal/web"
	"github.com/skillpm/skillpm/internal/diag"
)

// statusError is an HTTP answer other than 200.
type statusError struct {
	status int
	after  time.Duration // Retry-After
	text   string        // "503 Service Unavailable"
	tried  bool          // credentials were sent
	// foreign says that the server wants another way of signing in than Basic.
	foreign bool
}

func (e *statusError) Error() string { return "the server answers " + e.text }

func (e *statusError) temporary() bool {
	switch e.status {
	case 408, 429, 500, 502, 503, 504:
		return true
	}
	return false
}

// errSlow ends a call that took callTimeout.
var errSlow = errors.New("the server took too long")

// explain turns an error of any layer into the finding that the user sees. repo
// is the repository's identity.
func explain(err error, repo string) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*diag.Error](err); ok {
		return err
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	if e, ok := errors.AsType[*statusError](err); ok {
		return explainStatus(e, repo)
	}
	if e, ok := errors.AsType[*web.Refused](err); ok {
		return diag.New(diag.HostRefused, "%s: %s", repo, e.Why).
			WithHint("name the host yourself in skills.toml or on the command line if this is meant")
	}
	if e, ok := errors.AsType[errTooLarge](err); ok {
		return diag.New(diag.FetchTooLarge, "%s: %s", repo, e.what).
			WithHint("a mirror of the skill needs no repository: see `skillpm help mirror`")
	}
	if e, ok := errors.AsType[*remoteError](err); ok {
		return explainRemote(e, repo)
	}
	if e := explainNetwork(err, repo); e != nil {
		return e
	}
	return diag.New(diag.PackInvalid, "%s: what the server sent is damaged or forged", repo).WithCause(err).
		WithHint("try again; if it stays, the host or something on the way to it alters the data")
}

func explainStatus(e *statusError, repo string) error {
	switch {
	case e.status == 401 && !e.tried, e.status == 404, e.status == 410:
		return diag.New(diag.RepositoryNotFoundOrPrivate, "no repository %s, or it is private", repo).WithCause(e).
			WithHint("check the spelling; for a private repository set up a git credential helper, ~/.netrc or SKILLPM_TOKEN_<HOST>")
	case e.status == 401, e.status == 403, e.status == 407:
		return diag.New(diag.FetchAuth, "%s: the server refuses access", repo).WithCause(e).
			WithHint("the credentials at hand were refused, or have no right to read it: renew them in the git credential helper, ~/.netrc or SKILLPM_TOKEN_<HOST>")
	case e.temporary():
		return &fetch.Temporary{After: e.after, Err: diag.New(diag.FetchFailed, "%s: the server cannot answer now", repo).WithCause(e).
			WithHint("try again later")}
	}
	return diag.New(diag.FetchFailed, "%s: the server does not serve git here", repo).WithCause(e).
		WithHint("check the address: it must be that of a git repository")
}

func explainRemote(e *remoteError, repo string) error {
	lower := strings.ToLower(e.message)
	switch {
	case isNotOurRef(e.message):
		return diag.New(diag.CommitGone, "%s no longer has what was asked for", repo).WithCause(e)
	case strings.Contains(lower, "not found"), strings.Contains(lower, "not exported"),
		strings.Contains(lower, "does not exist"), strings.Contains(lower, "does not appear to be a git repository"):
		return diag.New(diag.RepositoryNotFoundOrPrivate, "no repository %s, or it is private", repo).WithCause(e).
			WithHint("check the spelling, and whether your key or account may read it")
	}
	switch { // OpenSSH, run for the user's own configuration
	case strings.Contains(lower, "host key verification failed"):
		return diag.New(diag.HostKeyUnknown, "%s: the ssh host's key is not known, or has changed", repo).WithCause(e).
			WithHint("compare the key with what the host publishes, then add it: ssh-keyscan HOST >> ~/.ssh/known_hosts")
	case strings.Contains(lower, "permission denied"):
		return diag.New(diag.FetchAuth, "%s: the ssh server accepts none of your keys", repo).WithCause(e).
			WithHint("load the right key with ssh-add, or name it in ~/.ssh/config")
	}
	return diag.New(diag.FetchFailed, "%s: the server refuses", repo).WithCause(e)
}

// isNotOurRef recognises what upload-pack says of an object it does not hand
// out; the protocol has no code for it.
func isNotOurRef(message string) bool {
	return strings.Contains(message, "not our ref") || strings.Contains(message, "unadvertised object")
}

func notOurRef(err error) bool {
	e, ok := errors.AsType[*remoteError](err)
	return ok && isNotOurRef(e.message)
}

func explainNetwork(err error, repo string) error {
	temporary := func(code diag.Code, format string, hint string) error {
		return &fetch.Temporary{Err: diag.New(code, format, repo).WithCause(redact(err)).WithHint("%s", hint)}
	}
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, errNotGit):
		return diag.New(diag.FetchFailed, "%s: the answer is not git's protocol", repo).
			WithHint("check the address; a proxy or a login page may answer in the server's place")
	case isSilent(err): // it was waited for long enough
		silent, _ := errors.AsType[*web.Silent](err)
		return diag.New(diag.FetchTimeout, "%s: the server does not answer in time", repo).WithCause(silent).
			WithReason(fetch.ReasonTemporary).WithHint("try again later, or use a mirror nearer by")
	case errors.Is(err, errSlow), errors.Is(err, context.DeadlineExceeded),
		isNet && timeout.Timeout():
		return temporary(diag.FetchTimeout, "%s: the server does not answer in time", "try again, or use a mirror nearer by")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return temporary(diag.FetchFailed, "%s: the connection broke off", "try again")
	case errors.Is(err, syscall.ECONNREFUSED):
		return temporary(diag.FetchFailed, "%s: nothing answers there", "check host and port")
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		found := diag.New(diag.FetchFailed, "%s: the host `%s` is not known", repo, diag.Escape(e.Name)).
			WithHint("check the spelling and the network; `--offline` works with what is at hand")
		if e.IsTemporary && !e.IsNotFound {
			return &fetch.Temporary{Err: found}
		}
		return found
	}
	if isTLS(err) {
		return diag.New(diag.FetchFailed, "%s: the server's certificate is not trusted", repo).WithCause(redact(err)).
			WithHint("for a private authority set SSL_CERT_FILE or git's http.sslCAInfo to its certificate")
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return temporary(diag.FetchFailed, "%s: the network fails", "check the network")
	}
	return nil
}

func isSilent(err error) bool {
	_, ok := errors.AsType[*web.Silent](err)
	return ok
}

func isTLS(err error) bool {
	_, a := errors.AsType[*tls.CertificateVerificationError](err)
	_, b := errors.AsType[x509.UnknownAuthorityError](err)
	_, c := errors.AsType[x509.HostnameError](err)
	_, d := errors.AsType[tls.RecordHeaderError](err)
	_, e := errors.AsType[tls.AlertError](err)
	return a || b || c || d || e
}

// redact keeps of an error only its innermost text: the layers of net/http
// repeat the URL, which may hold a password.
func redact(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return errors.New(diag.Escape(err.Error()))
		}
		err = next
	}
}

// ctxCause returns why ctx ended where that is what made err, else err.
func ctxCause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
