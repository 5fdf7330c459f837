package git

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/skillpm/skillpm/fetch/internal/web"
	"github.com/skillpm/skillpm/skill"
)

// dialDaemon reaches git://, which is git daemon's plaintext protocol
// (gitprotocol-pack(5), "Git Transport").
func (s *Source) dialDaemon(repo skill.Source, name string) (service, error) {
	if !s.named(repo.Host()) {
		return nil, &web.Refused{Why: "plaintext git:// to a host that you did not name"}
	}
	u, err := url.Parse(repo.URL())
	if err != nil {
		return nil, err
	}
	addr := repo.Host()
	if u.Port() == "" {
		addr = net.JoinHostPort(u.Hostname(), "9418")
	}
	guard := web.NewGuard(s.named, connectTimeout)
	return s.stream(name, func(ctx context.Context) (wire, error) {
		conn, err := guard.DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		request := fmt.Sprintf("git-upload-pack %s\x00host=%s\x00\x00version=2\x00", strings.TrimSuffix(u.Path, "/"), repo.Host())
		if _, err := fmt.Fprintf(conn, "%04x%s", len(request)+4, request); err != nil {
			_ = conn.Close()
			return nil, err
		}
		return daemonWire{conn}, nil
	}), nil
}

// stream makes the service of a wire.
func (s *Source) stream(name string, connect func(ctx context.Context) (wire, error)) service {
	return &streamService{connect: connect, patience: s.opt.Patience, count: func(n int) { s.progress.Bytes(name, int64(n)) }}
}

type daemonWire struct{ net.Conn }

// complaint is empty: git daemon says what it has to say in an ERR packet.
func (daemonWire) complaint() string { return "" }
