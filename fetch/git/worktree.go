package git

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// WorkTree is what git would publish of a work tree.
type WorkTree struct {
	fetch.Snapshot
	// Recorded is the commit that would be there if the named directories were
	// added and committed now. Only this snapshot holds it.
	Recorded fetch.ID
	// Head is the commit of HEAD, "" before the first one.
	Head fetch.ID
	// Published reports for each named directory whether git would record
	// anything of it: not where it is empty or ignored.
	Published []bool
}

// OpenWorkTree reads the work tree at root as git would record it: line ends and
// modes are converted as the repository's configuration and attributes say,
// ignored files are left out, the rest is as HEAD has it. dirs are slash paths
// inside root, "." is root itself. Nothing in the repository changes: index and
// new objects are temporary. Unlike a fetched repository this one is obeyed, as
// by any git command that its owner runs there: its filters run, its hooks and
// its file monitor do not.
func (s *Source) OpenWorkTree(ctx context.Context, root string, dirs []string) (*WorkTree, error) {
	tmp, err := os.MkdirTemp("", "skillpm-git-*")
	if err != nil {
		return nil, err
	}
	remove := func() error { return os.RemoveAll(tmp) }
	w, err := s.openWorkTree(ctx, root, tmp, dirs, remove)
	if err != nil {
		return nil, errors.Join(explain(err, root), remove())
	}
	return w, nil
}

func (s *Source) openWorkTree(ctx context.Context, root, tmp string, dirs []string, remove func() error) (*WorkTree, error) {
	r := &recorder{src: s, root: root, tmp: tmp}
	if err := r.init(ctx); err != nil {
		return nil, err
	}
	w := &WorkTree{Head: r.head}
	for _, dir := range dirs {
		files, err := r.add(ctx, dir)
		if err != nil {
			return nil, err
		}
		w.Published = append(w.Published, files)
	}
	var err error
	if w.Recorded, err = r.commit(ctx); err != nil {
		return nil, err
	}
	wants := []fetch.Want{{Commit: w.Recorded}}
	if w.Head != "" {
		wants = append(wants, fetch.Want{Commit: w.Head})
	}
	snap, err := r.open(ctx, wants)
	if err != nil {
		return nil, err
	}
	w.Snapshot = &cliSnapshot{snap, remove}
	return w, nil
}

// recorder makes a commit of a work tree in a temporary repository, which
// borrows the objects that are there.
type recorder struct {
	src       *Source
	root, tmp string
	objects   string // where the work tree's repository has its own
	head      fetch.ID
}

func (r *recorder) init(ctx context.Context) error {
	out, err := r.git(ctx, nil, "rev-parse", "--show-object-format", "--git-path", "objects")
	if err != nil {
		return err
	}
	format, objects, _ := strings.Cut(strings.TrimSuffix(out, "\n"), "\n")
	if r.objects = filepath.FromSlash(objects); !filepath.IsAbs(r.objects) {
		r.objects = filepath.Join(r.root, r.objects)
	}
	if _, err := r.git(ctx, nil, "init", "--quiet", "--bare", "--template=", "--object-format="+format, "--", r.tmp); err != nil {
		return err
	}
	head, err := r.git(ctx, nil, "rev-parse", "--quiet", "--verify", "HEAD^{commit}")
	if err != nil { // no commit yet
		_, err = r.git(ctx, nil, "read-tree", "--empty")
		return err
	}
	r.head = fetch.ID(strings.TrimSpace(head))
	_, err = r.git(ctx, nil, "read-tree", string(r.head))
	return err
}

// add records directory dir, and reports whether there is anything in it.
func (r *recorder) add(ctx context.Context, dir string) (bool, error) {
	list, err := r.git(ctx, nil, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", dir)
	if err != nil || list == "" {
		return false, err
	}
	_, err = r.git(ctx, []byte(list), "add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul")
	return true, err
}

func (r *recorder) commit(ctx context.Context) (fetch.ID, error) {
	tree, err := r.git(ctx, nil, "write-tree")
	if err != nil {
		return "", err
	}
	commit, err := r.git(ctx, nil, "commit-tree", "-m", "work tree", strings.TrimSpace(tree))
	return fetch.ID(strings.TrimSpace(commit)), err
}

// open reads the temporary repository as any other on disk.
func (r *recorder) open(ctx context.Context, wants []fetch.Want) (*snapshot, error) {
	local, err := FileSource(r.tmp)
	if err != nil {
		return nil, err
	}
	svc, err := r.src.dialFile(local, r.root, r.alternates())
	if err != nil {
		return nil, err
	}
	ses := &session{src: r.src, repo: r.root, host: "file://", svc: svc}
	return ses.open(ctx, wants)
}

// alternates lets git find the repository's own objects.
func (r *recorder) alternates() string {
	dir := r.objects
	if strings.ContainsAny(dir, `:;"`) { // git reads C quotes there
		dir = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(dir) + `"`
	}
	return "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + dir
}

func (r *recorder) git(ctx context.Context, stdin []byte, args ...string) (string, error) {
	program, err := r.src.gitProgram(r.root, "a git work tree is read by git")
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errSlow)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append([]string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull,
		"-c", "core.safecrlf=false", "-c", "advice.addEmbeddedRepo=false"}, args...)...)
	cmd.Dir, cmd.Stdin = r.root, bytes.NewReader(stdin)
	cmd.Env = append(quiet(r.src.opt), "GIT_LITERAL_PATHSPECS=1", "GIT_OPTIONAL_LOCKS=0", "GIT_INDEX_FILE="+filepath.Join(r.tmp, "index"),
		"GIT_AUTHOR_NAME=skillpm", "GIT_AUTHOR_EMAIL=skillpm", "GIT_AUTHOR_DATE=@0 +0000",
		"GIT_COMMITTER_NAME=skillpm", "GIT_COMMITTER_EMAIL=skillpm", "GIT_COMMITTER_DATE=@0 +0000")
	if args[0] != "rev-parse" && args[0] != "init" {
		cmd.Env = append(cmd.Env, "GIT_OBJECT_DIRECTORY="+filepath.Join(r.tmp, "objects"), r.alternates())
	}
	out, err := output(ctx, cmd)
	if said, ok := errors.AsType[*remoteError](err); ok {
		return "", diag.New(diag.GitFailed, "%s: git %s failed", r.root, args[0]).WithDetail("%s", said.message)
	}
	return out, err
}

// FileSource returns the source of the repository in a directory, an absolute
// path.
func FileSource(dir string) (skill.Source, error) {
	return skill.ParseSource("file://" + (&url.URL{Path: filepath.ToSlash(dir)}).EscapedPath())
}
