package project

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
)

// mergeAttribute makes git hand the lock to the driver.
const mergeAttribute = lockfile.FileName + " merge=skillpm"

// InstallMergeDriver tells git, in this repository alone, to merge skills.lock
// with `skillpm lock --merge`: a line in .gitattributes (committed, so that
// others are asked too) and the driver in the repository's own configuration.
func InstallMergeDriver(ctx context.Context, opt Options) (string, error) {
	p := newProject(opt)
	root := opt.Dir
	if f := p.rootSearch().from(opt.Dir); f.manifest {
		root = f.dir
	}
	p.Root = root
	if _, ok := gitTop(root); !ok {
		return "", usage("%s is in no git work tree", root)
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
	file := filepath.Join(root, attributesFile)
	data, err := readBounded(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if bytes.Contains(data, []byte(mergeAttribute)) {
		return p.display(file), nil
	}
	if len(data) > 0 && data[len(data)-1] != '\n' {
		data = append(data, '\n')
	}
	return p.display(file), (*fsx.FS)(nil).WriteAtomic(file, append(data, mergeAttribute+"\n"...), 0o644)
}

// Merge is git's merge driver for skills.lock: base, ours and theirs are files;
// the result goes to ours. Locks whose entries do not disagree are joined if the
// result is what its own root asks for, as skillpm lock would leave it;
// otherwise the file is left with conflict markers around both sides, and
// `skillpm lock` solves it with both as preferences once skills.toml is merged.
// A conflict is lock_corrupt, so that git reports it.
func Merge(opt Options, base, ours, theirs string) error {
	abs := func(name string) string {
		if filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(opt.Dir, name)
	}
	var locks [3]*lockfile.Lock
	var texts [3][]byte
	for i, name := range []string{base, ours, theirs} {
		data, err := readBounded(abs(name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		texts[i] = data
		if len(data) > 0 {
			if locks[i], err = lockfile.Parse(data); err != nil && i > 0 {
				return lockFindings(name, err)
			}
		}
	}
	if merged, clean := mergeThree(locks[0], locks[1], locks[2]); clean && holdsAlone(opt, merged) {
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

// holdsAlone reports whether l is what its own root asks for: closed, in range,
// without circles, with every field that lock --check compares. Chains are
// measured anew, since a member may have become longer on the other side.
func holdsAlone(opt Options, l *lockfile.Lock) bool {
	if measureChains(l) != nil || len(recordRefs(l, lockedRef)) > 0 {
		return false
	}
	m := &manifest.Manifest{File: lockfile.FileName}
	for _, part := range []struct {
		from map[string]string
		into *[]manifestSkill
	}{{l.Root.Requires, &m.Skills}, {l.Root.Overrides, &m.Overrides}} {
		for _, key := range sortedKeys(part.from) {
			r, err := skill.ParseRequirement(part.from[key], nil)
			if err != nil {
				return false
			}
			*part.into = append(*part.into, manifestSkill{Key: skill.Key(key), Requirement: r})
		}
	}
	p := newProject(opt)
	p.manifest, p.written, p.lock = m, m, l
	p.known = p.files.index()
	graph, err := p.staleGraph(context.Background())
	return err == nil && len(graph) == 0 && len(p.selfCheck(diag.LockOutdated)) == 0
}

// mergeThree joins two locks where each key changed on one side only. It is not
// clean if both changed one key, the targets or unknown fields.
func mergeThree(base, ours, theirs *lockfile.Lock) (*lockfile.Lock, bool) {
	if ours == nil || theirs == nil {
		return nil, false
	}
	if base == nil {
		base = &lockfile.Lock{}
	}
	merged := *ours
	var ok1, ok2 bool
	merged.Root.Requires, ok1 = mergeMaps(base.Root.Requires, ours.Root.Requires, theirs.Root.Requires)
	merged.Root.Overrides, ok2 = mergeMaps(base.Root.Overrides, ours.Root.Overrides, theirs.Root.Overrides)
	if !ok1 || !ok2 || !sameJSON(ours.Targets, theirs.Targets) || !sameJSON(ours.Unknown, theirs.Unknown) {
		return nil, false
	}
	entries, clean := mergeMaps(entryTexts(base), entryTexts(ours), entryTexts(theirs))
	if !clean {
		return nil, false
	}
	merged.Skills = nil
	for _, l := range []*lockfile.Lock{ours, theirs} {
		for _, e := range l.Skills {
			if text, ok := entries[e.Key]; ok && text == entryText(e) && merged.Get(e.Key) == nil {
				merged.Skills = append(merged.Skills, e)
			}
		}
	}
	return &merged, len(merged.Open()) == 0 && len(merged.Unreachable()) == 0
}

// mergeMaps is a three-way merge by key.
func mergeMaps(base, ours, theirs map[string]string) (map[string]string, bool) {
	out := map[string]string{}
	keys := map[string]bool{}
	for _, m := range []map[string]string{base, ours, theirs} {
		for k := range m {
			keys[k] = true
		}
	}
	for k := range keys {
		b, inBase := base[k]
		o, inOurs := ours[k]
		t, inTheirs := theirs[k]
		switch {
		case inOurs == inTheirs && o == t:
			if inOurs {
				out[k] = o
			}
		case inBase == inOurs && b == o: // theirs changed
			if inTheirs {
				out[k] = t
			}
		case inBase == inTheirs && b == t: // ours changed
			if inOurs {
				out[k] = o
			}
		default:
			return nil, false
		}
	}
	if len(out) == 0 {
		return nil, true
	}
	return out, true
}

func entryTexts(l *lockfile.Lock) map[string]string {
	out := map[string]string{}
	for _, e := range l.Skills {
		out[e.Key] = entryText(e)
	}
	return out
}

// entryText is an entry's canonical bytes, for comparison.
func entryText(e *lockfile.Entry) string {
	one := lockfile.Lock{Root: lockfile.Root{Requires: map[string]string{}}, Skills: []*lockfile.Entry{e}}
	return string(one.Bytes())
}
