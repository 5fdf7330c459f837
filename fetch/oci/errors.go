package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"syscall"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/skillpm/skillpm/fetch/internal/web"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// statusError is an answer of a web server that is neither 200 nor 404.
type statusError struct {
	status int
	url    string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%d %s from %s", e.status, http.StatusText(e.status), e.url)
}

// explain turns any error met while working on ref into a finding that names
// the mirror and the item. A cancelled context and a sink's error stay as they are.
func (m *Mirror) explain(ref Ref, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[sinkError](err); ok {
		return e.error
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	if _, ok := errors.AsType[*diag.Error](err); ok {
		return err
	}
	code, hint := classify(err)
	what := "read"
	switch code {
	case diag.MirrorIncomplete:
		return diag.New(code, "mirror `%s` does not hold %s", m, ref).WithCause(ErrMiss)
	case diag.MirrorInvalid:
		return diag.New(code, "mirror `%s`: %s is not usable", m, ref).WithCause(err).
			WithHint("push it again with `skillpm mirror push --replace`, or drop this mirror")
	case diag.TreeTooLarge:
		return diag.New(code, "mirror `%s`: %s is over a limit", m, ref).WithCause(err)
	case diag.DiskFull, diag.PermissionDenied:
		what = "write"
	}
	e := diag.New(code, "mirror `%s`: could not %s %s", m, what, ref).WithCause(err)
	e.Hint = hint
	return e
}

// classify chooses the code for an error, and a hint where one helps.
func classify(err error) (diag.Code, string) {
	if _, ok := errors.AsType[formatError](err); ok {
		return diag.MirrorInvalid, ""
	}
	if skill.CodeOf(err) == "tree_too_large" {
		return diag.TreeTooLarge, ""
	}
	if e, ok := errors.AsType[*errcode.ErrorResponse](err); ok {
		return classifyStatus(e.StatusCode)
	}
	if e, ok := errors.AsType[*statusError](err); ok {
		return classifyStatus(e.status)
	}
	switch {
	case errors.Is(err, ErrMiss), errors.Is(err, errdef.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return diag.MirrorIncomplete, ""
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return diag.DiskFull, ""
	case errors.Is(err, fs.ErrPermission):
		return diag.PermissionDenied, ""
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		return diag.FetchTimeout, "run it again: what was stored is kept"
	case errors.Is(err, errdef.ErrSizeExceedsLimit):
		return diag.MirrorInvalid, ""
	}
	if _, ok := errors.AsType[downgradeError](err); ok {
		return diag.HostRefused, ""
	}
	if _, ok := errors.AsType[*web.Refused](err); ok {
		return diag.HostRefused, "name that host itself as the mirror if it is meant"
	}
	return diag.FetchFailed, ""
}

func classifyStatus(status int) (diag.Code, string) {
	switch {
	case status == http.StatusNotFound:
		return diag.MirrorIncomplete, ""
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return diag.FetchAuth, "registry credentials come from docker's config.json (`docker login HOST`), those of a web server from its URL"
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		return diag.FetchTimeout, ""
	case status == http.StatusMethodNotAllowed:
		return diag.FetchFailed, "the registry does not allow this; deleting has to be switched on in its configuration"
	case status == http.StatusRequestEntityTooLarge:
		return diag.FetchTooLarge, "raise the upload limit of the registry or of the proxy before it"
	}
	return diag.FetchFailed, ""
}

func isTimeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

// tracked remembers the error of a body, so that a broken connection is not
// mistaken for a damaged archive.
type tracked struct {
	r   io.Reader
	err error
}

func (t *tracked) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		t.err = err
	}
	return n, err
}
