package oci

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/skillpm/skillpm/fetch/internal/web"
	"github.com/skillpm/skillpm/internal/diag"
)

const (
	dialTimeout  = 10 * time.Second
	maxRedirects = 5
)

// newClient returns the HTTP client for the mirror on host, the one the user
// named. Redirects may lead to another host (blob stores do), but not from https
// to http, and only where web.Guard lets them.
func newClient(spec Spec, opt Options) (*http.Client, error) {
	if opt.Transport != nil {
		return &http.Client{Transport: opt.Transport, CheckRedirect: checkRedirect}, nil
	}
	transport, err := web.New(web.Config{
		Getenv: os.Getenv, Home: spec.hostport(opt), ConnectTimeout: dialTimeout, Patience: opt.Patience,
	})
	if err != nil {
		return nil, diag.New(diag.FetchFailed, "cannot use the network settings").WithCause(err)
	}
	return &http.Client{
		Transport:     &retry.Transport{Base: transport, Policy: retryPolicy},
		CheckRedirect: checkRedirect,
	}, nil
}

// retryPolicy tries three times more what is temporary (oras's predicate: 408,
// 429, 5xx, timeouts, resets), within about four seconds. A host that was silent
// was waited for long enough.
func retryPolicy() retry.Policy {
	temporary := func(resp *http.Response, err error) (bool, error) {
		if _, silent := errors.AsType[*web.Silent](err); silent {
			return false, nil
		}
		return retry.DefaultPredicate(resp, err)
	}
	return &retry.GenericPolicy{
		Retryable: temporary, Backoff: retry.DefaultBackoff,
		MinWait: 200 * time.Millisecond, MaxWait: 3 * time.Second, MaxRetry: 3,
	}
}

func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	if via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return downgradeError{req.URL.Scheme + "://" + req.URL.Host}
	}
	if from := via[0].URL; req.URL.Scheme != from.Scheme || req.URL.Host != from.Host {
		req.Header.Del("Authorization") // http.Client minds the name alone, not port and scheme
	}
	return nil
}

// downgradeError is a redirect from https to http.
type downgradeError struct{ to string }

func (e downgradeError) Error() string { return "redirected from https to " + e.to }
