package author

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// repository runs git in a work tree.
type repository struct{ root string }

// git returns what one call printed, without the last newline. Nothing prompts:
// git without a terminal fails and says so.
func (r *repository) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0")
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return "", diag.New(diag.GitFailed, "the program `git` is not installed")
		}
		e := diag.New(diag.GitFailed, "git %s: %s", args[0], err)
		for line := range strings.Lines(failed.String()) {
			e = e.WithDetail("%s", strings.TrimRight(line, "\n"))
		}
		return "", e
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

// openRepository finds the work tree that holds dir.
func openRepository(ctx context.Context, dir string) (*repository, error) {
	r := &repository{root: dir}
	root, err := r.git(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	r.root = filepath.FromSlash(root)
	return r, nil
}

// within returns dir as a slash path inside the work tree, "." for its root.
func (r *repository) within(dir string) (string, error) {
	root, err := filepath.EvalSymlinks(r.root)
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	rel, err := filepath.Rel(root, dir)
	return filepath.ToSlash(rel), err
}

// ignoredFiles refuses files that git ignores: a signature would cover them,
// and nobody who fetches the skill would have them.
func (r *repository) ignoredFiles(ctx context.Context, path string) error {
	list, err := r.git(ctx, "-c", "core.quotePath=false", "ls-files", "--others", "--ignored", "--exclude-standard", "--", path)
	if err != nil || list == "" {
		return err
	}
	return dirty("git ignores files of the skill; the signature would cover what is never published", list)
}

// uncommitted refuses changes and new files below path, the signature excepted.
func (r *repository) uncommitted(ctx context.Context, path string) error {
	list, err := r.git(ctx, "-c", "core.quotePath=false", "status", "--porcelain", "--untracked-files=all", "--", path, ":(exclude)"+join(path, skill.SignatureFile))
	if err != nil || list == "" {
		return err
	}
	return dirty("the skill has changes that are not committed; the tag would not hold them", list)
}

func dirty(message, list string) error {
	e := diag.New(diag.WorktreeDirty, "%s", message)
	const most = 5
	lines := strings.Split(list, "\n")
	for i, line := range lines {
		if i == most {
			e = e.WithDetail("and %d more", len(lines)-i)
			break
		}
		e = e.WithDetail("%s", line)
	}
	return e.WithHint("commit, move or delete them")
}

func join(path, name string) string {
	if path == "." {
		return name
	}
	return path + "/" + name
}

// CheckIgnored refuses a skill in a git work tree that holds files which git
// ignores. Outside a work tree there is nothing to ask.
func (s *Skill) CheckIgnored(ctx context.Context) error {
	if !inWorkTree(s.Dir) {
		return nil
	}
	r, err := openRepository(ctx, s.Dir)
	if err != nil {
		return err
	}
	path, err := r.within(s.Dir)
	if err != nil {
		return err
	}
	return r.ignoredFiles(ctx, path)
}

func inWorkTree(dir string) bool {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false
		}
		dir = parent
	}
}
