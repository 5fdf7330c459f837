package testkit

import (
	"bytes"
	"io"
	"net/http"
	"sync"
)

// Memo remembers a git host's answers, so that a request which was answered
// before starts no process. The bytes are those of git http-backend. Forget must
// be called when a repository changes.
type Memo struct {
	mu      sync.Mutex
	answers map[string]*answer
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

// Forget drops every answer.
func (m *Memo) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answers = nil
}

// Fault is for Server.SetFault. Beside it a Server counts requests as ever.
func (m *Memo) Fault() Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return false
		}
		key := r.Host + "\x00" + r.Method + " " + r.URL.RequestURI() + "\x00" + r.Header.Get("Git-Protocol") + "\x00" +
			r.Header.Get("Content-Encoding") + "\x00" + string(body)
		m.mu.Lock()
		a := m.answers[key]
		m.mu.Unlock()
		if a == nil {
			r.Body = io.NopCloser(bytes.NewReader(body))
			a = &answer{status: http.StatusOK, header: http.Header{}}
			next.ServeHTTP(a, r)
			m.mu.Lock()
			if m.answers == nil {
				m.answers = map[string]*answer{}
			}
			m.answers[key] = a
			m.mu.Unlock()
		}
		for k, v := range a.header {
			w.Header()[k] = v
		}
		w.WriteHeader(a.status)
		_, _ = w.Write(a.body) // the client may have left
		return true
	}
}

// Header, WriteHeader and Write record what a handler answers.
func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(p []byte) (int, error) { a.body = append(a.body, p...); return len(p), nil }
