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
		e := diag.New(diag.GitFailed, "git %s: %s", args[0], err).WithReason(reasonOf(err, failed.String()))
		for line := range strings.Lines(failed.String()) {
			e = e.WithDetail("%s", strings.TrimRight(line, "\n"))
		}
		return "", e
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

// Reasons of git_failed: dir is in no work tree; git has nothing to say and means
// no by its status.
const noWorkTree, saidNo = "no_work_tree", "no"

func reasonOf(err error, said string) string {
	if strings.Contains(said, "not a git repository") || strings.Contains(said, "must be run in a work tree") {
		return noWorkTree
	}
	if e, ok := errors.AsType[*exec.ExitError](err); ok && e.ExitCode() == 1 && said == "" {
		return saidNo
	}
	return ""
}

func hasReason(err error, reason string) bool {
	e, ok := errors.AsType[*diag.Error](err)
	return ok && e.Reason == reason
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

// ignores reports whether git ignores a file, which need not be there yet.
func (r *repository) ignores(ctx context.Context, file string) (bool, error) {
	_, err := r.git(ctx, "check-ignore", "--quiet", "--", r.relative(file))
	if hasReason(err, saidNo) {
		return false, nil
	}
	return err == nil, err
}

// relative returns file as a slash path inside the work tree, its name if it
// lies outside.
func (r *repository) relative(file string) string {
	dir, err := r.within(filepath.Dir(file))
	if err != nil || dir == ".." || strings.HasPrefix(dir, "../") {
		return filepath.Base(file)
	}
	return join(dir, filepath.Base(file))
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
	return dirty("git ignores files of the skill; nobody who installs it would have them", list)
}

// uncommitted refuses changes and new files below path, those of the signature
// excepted where it is about to be written anyway.
func (r *repository) uncommitted(ctx context.Context, path string, signing bool) error {
	args := []string{"-c", "core.quotePath=false", "status", "--porcelain", "--untracked-files=all", "--", path}
	if signing {
		args = append(args, ":(exclude)"+join(path, skill.SignatureFile))
	}
	list, err := r.git(ctx, args...)
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
// ignores. Where git publishes nothing of the directory there is nothing to ask.
func (s *Skill) CheckIgnored(ctx context.Context) error {
	if s.State == Directory {
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

// inWorkTree reports whether dir looks as if it were in a git work tree, without
// asking git.
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
