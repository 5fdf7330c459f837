package fetch

import (
	"context"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// Event is one finished call of a Source.
type Event struct {
	Call string // "refs", "open" or "blobs"
	Repo string // repository's identity
	Took time.Duration
	Err  error
}

// NewLog wraps src and reports each finished call, snapshots' Blobs included.
// report is called from several goroutines.
func NewLog(src Source, report func(Event)) Source { return &logged{src, report} }

type logged struct {
	src    Source
	report func(Event)
}

func (l *logged) done(call, repo string, start time.Time, err error) {
	l.report(Event{Call: call, Repo: repo, Took: time.Since(start), Err: err})
}

func (l *logged) Refs(ctx context.Context, repo skill.Source, prefixes ...string) (*Refs, error) {
	start := time.Now()
	refs, err := l.src.Refs(ctx, repo, prefixes...)
	l.done("refs", repo.Repository(), start, err)
	return refs, err
}

func (l *logged) Open(ctx context.Context, repo skill.Source, wants []Want) (Snapshot, error) {
	start := time.Now()
	s, err := l.src.Open(ctx, repo, wants)
	l.done("open", repo.Repository(), start, err)
	if err != nil {
		return nil, err
	}
	return &loggedSnapshot{s, l, repo.Repository()}, nil
}

type loggedSnapshot struct {
	Snapshot
	l    *logged
	repo string
}

func (s *loggedSnapshot) Blobs(ctx context.Context, ids []ID, visit func(id ID, data []byte) error) error {
	start := time.Now()
	err := s.Snapshot.Blobs(ctx, ids, visit)
	s.l.done("blobs", s.repo, start, err)
	return err
}

// NewOffline returns a Source that refuses every call with fetch_offline.
func NewOffline() Source { return offline{} }

type offline struct{}

func (offline) refuse(repo skill.Source) error {
	return diag.New(diag.FetchOffline, "%s is not at hand, and this run is offline", repo.Repository()).
		WithHint("run it once with a network, or fill the cache with `skillpm fetch`")
}

func (o offline) Refs(_ context.Context, repo skill.Source, _ ...string) (*Refs, error) {
	return nil, o.refuse(repo)
}

func (o offline) Open(_ context.Context, repo skill.Source, _ []Want) (Snapshot, error) {
	return nil, o.refuse(repo)
}
