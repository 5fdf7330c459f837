package oci

import (
	"context"
	"io"
	"io/fs"
	"net/http"
	"net/url"
)

// openStatic returns the layout behind a web server. It has no way to tell a
// layout of another tool, and index.json may be huge: descriptor files only.
func openStatic(spec Spec, opt Options) (reader, error) {
	client, err := newClient(spec, opt)
	if err != nil {
		return nil, err
	}
	l := newLayout(&webFiles{base: spec.url, user: spec.user, client: client, agent: opt.UserAgent})
	l.index = nil
	return l, nil
}

// webFiles are the files of a static web server.
type webFiles struct {
	base   *url.URL
	user   *url.Userinfo
	client *http.Client
	agent  string
}

func (w *webFiles) open(ctx context.Context, name string) (io.ReadCloser, error) {
	u := w.base.JoinPath(name)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", w.agent)
	if w.user != nil {
		password, _ := w.user.Password()
		req.SetBasicAuth(w.user.Username(), password)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return nil, err
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return resp.Body, nil
	case http.StatusNotFound, http.StatusGone:
		err = &fs.PathError{Op: "get", Path: u.String(), Err: fs.ErrNotExist}
	default:
		err = &statusError{resp.StatusCode, u.String()}
	}
	resp.Body.Close()
	return nil, err
}

func (w *webFiles) close() error {
	w.client.CloseIdleConnections()
	return nil
}
