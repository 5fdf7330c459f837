package git_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/skillpm/skillpm/fetch/fetchtest"
	"github.com/skillpm/skillpm/fetch/git"
	"github.com/skillpm/skillpm/internal/testkit"
)

func TestDaemon(t *testing.T) {
	fetchtest.Run(t, func(t *testing.T, root string) fetchtest.Rung {
		d, err := testkit.ServeDaemon(root)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(d.Close)
		host := d.URL[len("git://"):]
		return fetchtest.Rung{Source: newSource(t, git.Options{Named: only(host)}), Base: d.URL}
	})
}

func TestFile(t *testing.T) {
	fetchtest.Run(t, func(t *testing.T, root string) fetchtest.Rung {
		for _, name := range []string{"skills", "empty"} { // file:// has no server to add .git
			if err := os.Symlink(name+".git", filepath.Join(root, "acme", name)); err != nil {
				t.Fatal(err)
			}
		}
		return fetchtest.Rung{Source: newSource(t, git.Options{Environ: os.Environ()}), Base: "file://" + filepath.ToSlash(root)}
	})
}

func TestSSHCancelIsQuick(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	var start time.Time
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		start = time.Now()
		cancel()
		<-t.Context().Done()
	}()
	_, err = newSource(t, git.Options{Named: only(l.Addr().String())}).Refs(ctx, parse(t, "ssh://git@"+l.Addr().String()+"/acme/skills"))
	if !errors.Is(err, context.Canceled) || time.Since(start) > 100*time.Millisecond {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}
