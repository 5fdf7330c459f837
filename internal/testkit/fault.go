package testkit

import (
	"bytes"
	"encoding/pem"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
)

// FailFirst answers the first n requests with status and the given header lines
// ("Retry-After: 1"), then lets the rest through.
func FailFirst(n int64, status int, header ...string) Fault {
	var seen atomic.Int64
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
		if seen.Add(1) > n {
			return false
		}
		for _, h := range header {
			key, value, _ := strings.Cut(h, ":")
			w.Header().Set(key, strings.TrimSpace(value))
		}
		http.Error(w, http.StatusText(status), status)
		return true
	}
}

// Truncate cuts the bodies of the first n POST answers after limit bytes and
// drops the connection.
func Truncate(n, limit int64) Fault {
	var seen atomic.Int64
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		if r.Method != http.MethodPost || seen.Add(1) > n {
			return false
		}
		next.ServeHTTP(&cutter{ResponseWriter: w, left: limit}, r)
		panic(http.ErrAbortHandler)
	}
}

// Redirect answers every request for a path below from with status and the same
// path below to (a URL without trailing slash).
func Redirect(from, to string, status int) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		rest, ok := strings.CutPrefix(r.URL.RequestURI(), from)
		if !ok {
			return false
		}
		w.Header().Set("Location", to+rest)
		w.WriteHeader(status)
		return true
	}
}

// Answer gives every POST the same body.
func Answer(body []byte) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if r.Method != http.MethodPost {
			return false
		}
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		_, _ = w.Write(body)
		return true
	}
}

// Hang never answers.
func Hang() Fault {
	return func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		_, _ = io.Copy(io.Discard, r.Body) // the server notices a client that left only after the body
		<-r.Context().Done()
		return true
	}
}

type cutter struct {
	http.ResponseWriter
	left int64
}

func (c *cutter) Write(p []byte) (int, error) {
	keep := min(int64(len(p)), c.left)
	c.left -= keep
	if _, err := c.ResponseWriter.Write(p[:keep]); err != nil {
		return 0, err
	}
	_ = http.NewResponseController(c.ResponseWriter).Flush()
	return len(p), nil
}

func requestsMultiAck(r *http.Request) bool {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(b))
	return bytes.Contains(b, []byte("multi_ack"))
}

func certPEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
