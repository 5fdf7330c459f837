package author

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/fetch/git"
	"github.com/skillpm/skillpm/skill"
)

// head is the commit of HEAD, read as installers read a repository.
type head struct {
	src     *git.Source
	repo    skill.Source
	commit  fetch.ID
	snap    fetch.Snapshot
	commits map[fetch.ID]bool // that tags of the repository name
	name    string            // of the repository
}

// openHead opens HEAD. tags are the repository's own; its name is that of remote,
// if there is one.
func (r *repository) openHead(ctx context.Context, tags *fetch.Refs, remote string) (*head, error) {
	id, err := r.git(ctx, "rev-parse", "--verify", "HEAD^{commit}")
	if err != nil {
		return nil, err
	}
	h := &head{commit: fetch.ID(id), commits: map[fetch.ID]bool{}, name: r.name(ctx, remote)}
	for _, ref := range tags.List {
		h.commits[ref.Commit()] = true
	}
	if h.repo, err = git.FileSource(r.root); err != nil {
		return nil, err
	}
	if h.src, err = git.New(git.Options{Environ: os.Environ()}); err != nil {
		return nil, err
	}
	if h.snap, err = h.src.Open(ctx, h.repo, []fetch.Want{{Commit: h.commit, Ref: "HEAD"}}); err != nil {
		_ = h.src.Close()
		return nil, err
	}
	return h, nil
}

func (h *head) close() {
	_ = h.snap.Close()
	_ = h.src.Close()
}

// name returns the last element of the remote's address, or of the work tree's
// directory: what tags of a skill at the root would name it by.
func (r *repository) name(ctx context.Context, remote string) string {
	address, err := r.git(ctx, "remote", "get-url", "--", remote)
	if err != nil {
		address = filepath.ToSlash(r.root)
	}
	return strings.TrimSuffix(path.Base(address), ".git")
}

// places returns first and then the places of all other skills of the commit.
func (h *head) places(ctx context.Context, first fetch.Place) ([]fetch.Place, error) {
	d, err := fetch.Discover(ctx, h.snap, h.commit)
	if err != nil {
		return nil, err
	}
	places := []fetch.Place{first}
	for _, f := range d.Listed() {
		if f.Path != first.Path {
			places = append(places, h.placeOf(f.Path))
		}
	}
	return places, nil
}
