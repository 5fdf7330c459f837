package fetch

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
)

// maxLinkHops is how many links one path may lead through, as in Linux
// (path_resolution(7)).
const maxLinkHops = 40

// maxLinkRounds bounds the requests that links behind links may cost; two are
// more than any real repository needs.
const maxLinkRounds = maxLinkHops + 1

// maxLinkTarget is Linux's PATH_MAX: a longer target names nothing.
const maxLinkTarget = 4096

// Why a path leads nowhere. These never reach a caller as they are.
var (
	errDangling  = errors.New("names nothing")
	errEscapes   = errors.New("leads out of the repository")
	errLoop      = errors.New("leads in a circle")
	errSubmodule = errors.New("leads into a submodule")
	errNeed      = errors.New("a link's target has to be read first")
)

// objects reads directories and links of a snapshot, each once. The content of
// a link is a blob, so following may need to read first: lookups return errNeed
// and note the blob; readLinks reads all that were noted.
type objects struct {
	s     Snapshot
	dirs  map[ID][]Entry
	links map[ID]string
	need  map[ID]bool
}

func newObjects(s Snapshot) *objects {
	return &objects{s: s, dirs: map[ID][]Entry{}, links: map[ID]string{}, need: map[ID]bool{}}
}

// view is the directory tree of one commit, in which links can be followed.
type view struct {
	*objects
	root ID
}

func (o *objects) view(commit ID) (*view, Commit, error) {
	c, err := o.s.Commit(commit)
	return &view{o, c.Tree}, c, err
}

// node is what a path leads to after following links: a directory or a file.
type node struct {
	entry Entry
	at    []frame // real directories from the root to it, or for a file to its directory
}

// frame is one directory on the way from the root.
type frame struct {
	name string
	tree ID
}

// real returns the slash path of the last directory.
func (n node) real() string { return realPath(n.at) }

func realPath(at []frame) string {
	names := make([]string, 0, len(at))
	for _, f := range at[1:] {
		names = append(names, f.name)
	}
	return path.Join(names...)
}

func (v *view) top() []frame { return []frame{{tree: v.root}} }

func (o *objects) dir(id ID) ([]Entry, error) {
	if list, ok := o.dirs[id]; ok {
		return list, nil
	}
	list, err := o.s.Tree(id)
	if err == nil {
		o.dirs[id] = list
	}
	return list, err
}

// walk follows rest from the directory at, as POSIX does: links are followed
// where they stand, and ".." is the real directory's parent.
func (v *view) walk(at []frame, rest string) (node, error) {
	at = slices.Clone(at)
	todo := strings.Split(rest, "/")
	for hops := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			if len(at) == 1 {
				return node{}, errEscapes
			}
			at = at[:len(at)-1]
			continue
		}
		e, err := v.find(at[len(at)-1].tree, name)
		switch {
		case err != nil:
			return node{}, err
		case e.IsDir():
			at = append(at, frame{name, e.ID})
		case e.IsLink():
			if hops++; hops > maxLinkHops {
				return node{}, errLoop
			}
			target, err := v.target(e.ID)
			if err != nil {
				return node{}, err
			}
			todo = append(strings.Split(target, "/"), todo...)
		case e.IsSubmodule():
			return node{}, errSubmodule
		case len(todo) > 0:
			return node{}, errDangling // through a file, or "file/"
		default:
			return node{e, at}, nil
		}
	}
	last := at[len(at)-1]
	return node{Entry{Name: last.name, Mode: 0o040000, ID: last.tree}, at}, nil
}

func (o *objects) find(dir ID, name string) (Entry, error) {
	list, err := o.dir(dir)
	if err != nil {
		return Entry{}, err
	}
	for _, e := range list {
		if e.Name == name {
			return e, nil
		}
	}
	return Entry{}, errDangling
}

// target returns where a link with this content leads, relative to it.
func (o *objects) target(id ID) (string, error) {
	target, ok := o.links[id]
	switch {
	case !ok:
		o.need[id] = true
		return "", errNeed
	case strings.HasPrefix(target, "/"):
		return "", errEscapes
	case target == "" || len(target) > maxLinkTarget || strings.ContainsRune(target, 0):
		return "", errDangling
	}
	return target, nil
}

// settle calls try until it needs no more links, reading between the calls.
// Each round reads all links that are known to be needed, so the number of
// rounds is that of links behind links.
func (o *objects) settle(ctx context.Context, try func() error) error {
	for range maxLinkRounds {
		err := try()
		if len(o.need) == 0 {
			return err
		}
		if err != nil && !errors.Is(err, errNeed) {
			return err
		}
		if err := o.readLinks(ctx); err != nil {
			return err
		}
	}
	return diag.New(diag.TreeTooLarge, "links lead to links more than %d deep", maxLinkRounds)
}

func (o *objects) readLinks(ctx context.Context) error {
	ids := make([]ID, 0, len(o.need))
	for id := range o.need {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	clear(o.need)
	return o.s.Blobs(ctx, ids, func(id ID, data []byte) error {
		if len(data) > maxLinkTarget {
			data = data[:maxLinkTarget+1] // too long, which is all that matters of it
		}
		o.links[id] = string(data)
		return nil
	})
}

// skillFiles returns the entries that are a SKILL.md by name, the exact
// spelling first, then by bytes.
func skillFiles(list []Entry) []Entry {
	var found []Entry
	for _, e := range list {
		if strings.EqualFold(e.Name, skillFile) {
			found = append(found, e)
		}
	}
	slices.SortStableFunc(found, func(a, b Entry) int {
		if exact := b.Name == skillFile; exact != (a.Name == skillFile) {
			if exact {
				return 1
			}
			return -1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return found
}

const skillFile = "SKILL.md"
