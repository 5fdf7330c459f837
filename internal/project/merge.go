package project

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/skillpm/skillpm/internal/adopt"
	"github.com/skillpm/skillpm/internal/decide"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/internal/install"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/lockfile"
)

// InstallMergeDriver tells git, in this repository alone, to merge skills.lock
// with `skillpm lock --merge`: a line in .gitattributes (committed, so that
// others are asked too) and the driver in the repository's own configuration.
func InstallMergeDriver(ctx context.Context, opt workspace.Options) (string, error) {
	p := workspace.New(opt)
	root := opt.Dir
	if f := p.RootSearch().From(opt.Dir); f.Manifest {
		root = f.Dir
	}
	p.Root = root
	if _, ok := workspace.GitTop(root); !ok {
		return "", workspace.Usage("%s is in no git work tree", root)
	}
	for _, set := range [][2]string{
		{"merge.skillpm.name", "skills.lock, solved anew"},
		{"merge.skillpm.driver", "skillpm lock --merge %O %A %B"},
	} {
		cmd := exec.CommandContext(ctx, "git", "-C", root, "config", "--local", set[0], set[1])
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", diag.New(diag.PermissionDenied, "git config %s failed", set[0]).WithCause(err).WithDetail("%s", strings.TrimSpace(string(out)))
		}
	}
	file := filepath.Join(root, adopt.AttributesFile)
	local := &world.Local{Project: p}
	session, err := install.Begin(ctx, local.Layout(), local.InstallOptions())
	if err != nil {
		return "", err
	}
	return p.Display(file), errors.Join(addMergeAttribute(file), session.Close())
}

// addMergeAttribute adds the line to file. The caller holds the project's lock, so
// that no other run's line is lost.
func addMergeAttribute(file string) error {
	data, err := workspace.ReadBounded(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if bytes.Contains(data, []byte(decide.MergeAttribute)) {
		return nil
	}
	return adopt.AddAttributes(file, data, decide.MergeAttribute)
}

// Merge is git's merge driver for skills.lock: base, ours and theirs are files;
// the result goes to ours. Locks whose entries do not disagree are joined if the
// result is what its own root asks for, as skillpm lock would leave it;
// otherwise the file is left with conflict markers around both sides, and
// `skillpm lock` solves it with both as preferences once skills.toml is merged.
// A conflict is lock_corrupt, so that git reports it.
func Merge(opt workspace.Options, base, ours, theirs string) error {
	abs := func(name string) string {
		if filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(opt.Dir, name)
	}
	var locks [3]*lockfile.Lock
	var texts [3][]byte
	for i, name := range []string{base, ours, theirs} {
		data, err := workspace.ReadBounded(abs(name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		texts[i] = data
		if len(data) > 0 {
			if locks[i], err = lockfile.Parse(data); err != nil && i > 0 {
				return workspace.LockFindings(name, err)
			}
		}
	}
	if merged, clean := decide.MergeThree(locks[0], locks[1], locks[2]); clean && decide.HoldsAlone(opt, merged) {
		if data, err := merged.Encode(); err == nil { // two keys that fold alike decode as no lock
			return (*fsx.FS)(nil).WriteAtomic(abs(ours), data, 0o644)
		}
	}
	var b bytes.Buffer
	b.WriteString("<<<<<<< ours\n")
	b.Write(texts[1])
	b.WriteString("=======\n")
	b.Write(texts[2])
	b.WriteString(">>>>>>> theirs\n")
	if err := (*fsx.FS)(nil).WriteAtomic(abs(ours), b.Bytes(), 0o644); err != nil {
		return err
	}
	return diag.New(diag.LockCorrupt, "the two sides of %s do not fit together", lockfile.FileName).
		WithHint("merge skills.toml, then `skillpm lock` solves the lock with both sides as preferences")
}
