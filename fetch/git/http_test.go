package git_test

import (
	"testing"

	"github.com/skillpm/skillpm/fetch/fetchtest"
	"github.com/skillpm/skillpm/fetch/git"
	"github.com/skillpm/skillpm/internal/testkit"
)

// shapes are the set-ups that real hosts have.
var shapes = map[string]testkit.Shape{
	"modern":        {},
	"stock":         {Stock: true},
	"v0":            {V0: true},
	"v0 stock":      {V0: true, Stock: true},
	"multi_ack":     {MultiAck: true},
	"with password": {User: "u", Password: "p"},
}

func newSource(t *testing.T, opt git.Options) *git.Source {
	t.Helper()
	src, err := git.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	return src
}

// only names one host.
func only(host string) func(string) bool { return func(h string) bool { return h == host } }

func TestHTTP(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			fetchtest.Run(t, func(t *testing.T, root string) fetchtest.Rung {
				s := fetchtest.Serve(t, root, shape)
				opt := git.Options{Named: only(s.Host())}
				if shape.User != "" {
					opt.Environ = []string{"SKILLPM_TOKEN_127_0_0_1=" + shape.User + ":" + shape.Password}
				}
				return fetchtest.Rung{Source: newSource(t, opt), Base: s.URL}
			})
		})
	}
}
