package views

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/agents"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/regular"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill/derive"
	"github.com/skillpm/skillpm/skill/parse"
)

const (
	// maxLayerEntries bounds one directory: agents stop at 2,000 directories, and
	// a project of that many skills is still listed whole.
	maxLayerEntries = 10_000
	// maxHead bounds the frontmatter that is read of a skill nobody locked.
	maxHead = 1 << 20
)

// dirList collects directories, each once.
type dirList struct{ list []LayerDir }

func (l *dirList) add(d LayerDir) {
	if !slices.ContainsFunc(l.list, func(o LayerDir) bool { return o.abs == d.abs }) {
		l.list = append(l.list, d)
	}
}

func (l *dirList) addExisting(d LayerDir) {
	if _, err := os.Lstat(d.abs); err == nil {
		l.add(d)
	}
}

// scan lists the skills of one directory: those of its lock in the lock's
// order, then the others by name.
func scan(p *workspace.Project, d *LayerDir) {
	entries, err := readDirBounded(d.abs, maxLayerEntries)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case errors.Is(err, errManyEntries):
		d.Fault = fmt.Sprintf("more than %d entries; the rest was left out", maxLayerEntries)
	case err != nil:
		d.Fault = faultText(err)
		return
	}
	d.real = d.abs
	if real, err := filepath.EvalSymlinks(d.abs); err == nil {
		d.real = real
	}
	lock := lockOf(p, *d)
	d.Target = d.Target || lock != nil
	at := map[string]int{}
	if lock != nil {
		for i, e := range lock.Skills {
			at[e.Key] = i
		}
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || !e.IsDir() && e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		var locked *lockfile.Entry
		if i, ok := at[e.Name()]; ok {
			locked = lock.Skills[i]
		}
		if s, ok := scanSkill(p, d, e, locked); ok {
			d.Skills = append(d.Skills, s)
		}
	}
	rank := func(s LayerSkill) int {
		if i, ok := at[s.dir]; ok {
			return i
		}
		return len(at)
	}
	slices.SortStableFunc(d.Skills, func(a, b LayerSkill) int { return rank(a) - rank(b) })
}

var errManyEntries = errors.New("too many entries")

// readDirBounded lists a directory by name, at most limit entries of it.
func readDirBounded(dir string, limit int) ([]fs.DirEntry, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(limit + 1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err == nil && len(entries) > limit {
		entries, err = entries[:limit], errManyEntries
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// lockOf returns the lock that names a directory among its targets.
func lockOf(p *workspace.Project, d LayerDir) *lockfile.Lock {
	in := func(l *lockfile.Lock) bool {
		return l != nil && slices.ContainsFunc(l.Targets, func(t string) bool { return layerDir(p, d.scope, t, true).abs == d.abs })
	}
	if in(p.Lock) || d.Target {
		return p.Lock
	}
	if g := globalLock(p); d.scope == agents.ScopeUser && in(g) {
		return g
	}
	return nil
}

// globalLock reads the lock of the user's own skills; one that cannot be read
// counts as none, since this run is about the project.
func globalLock(p *workspace.Project) *lockfile.Lock {
	if p.Opt.Global {
		return p.Lock
	}
	p.UserLock.Do(func() {
		data, err := workspace.ReadBounded(filepath.Join(p.GlobalDir(), lockfile.FileName))
		if err != nil {
			return
		}
		if l, err := lockfile.Parse(data); err == nil {
			p.UserLocked = l
		}
	})
	return p.UserLocked
}

// scanSkill describes one entry of a directory; false means that it is no skill
// and does not look like one.
func scanSkill(p *workspace.Project, d *LayerDir, e fs.DirEntry, locked *lockfile.Entry) (LayerSkill, bool) {
	dir := filepath.Join(d.abs, e.Name())
	s := LayerSkill{
		Name: e.Name(), dir: e.Name(), Path: d.Path + "/" + e.Name(), State: stateFound,
		real: filepath.Join(d.real, e.Name()), link: e.Type()&fs.ModeSymlink != 0, prompt: true, Locked: locked != nil,
	}
	s.direct = !s.link && d.real == d.abs
	if s.link {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			text, _ := os.Readlink(dir)
			return s.refuse(diag.SymlinkDangling, "a link to "+text+", which is not there"), true
		}
		s.real = real
		if info, err := os.Stat(real); err != nil || !info.IsDir() {
			return s, false
		}
		s.outside = d.scope == agents.ScopeProject && !inProject(p, real)
	}
	file, err := parse.FileName, error(nil)
	if _, missing := os.Lstat(filepath.Join(dir, file)); missing != nil {
		file, err = world.SkillFileIn(dir) // of another case
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && locked == nil:
		return s, false
	case errors.Is(err, fs.ErrNotExist):
		return s.refuse(diag.VerifyMissing, "locked, and there is no SKILL.md"), true
	case err != nil:
		return s.refuse(diag.PermissionDenied, faultText(err)), true
	}
	if info, err := os.Stat(filepath.Join(dir, file)); err != nil || !info.Mode().IsRegular() {
		return s.refuse(diag.SkillFileNotRegular, file+" is no regular file"), true
	}
	if locked != nil && locked.Source.Type != lockfile.TypePath {
		s.fromLock(locked)
		return s, true
	}
	return s.fromHead(filepath.Join(dir, file)), true
}

func (s LayerSkill) refuse(code diag.Code, reason string) LayerSkill {
	s.State, s.Code, s.Reason, s.prompt = StateRefused, code, reason, false
	return s
}

func (s *LayerSkill) fromLock(e *lockfile.Entry) {
	s.Name, s.Description, s.Digest = e.Name(), e.Description, e.Digest
	s.prompt = e.Training == nil || e.Training.Mode != trainable
	s.tokens = derive.LockedTokens(s.Name, s.Description, 0, 0).Metadata
}

// fromHead reads a skill that no lock describes, up to the end of its
// frontmatter.
func (s LayerSkill) fromHead(file string) LayerSkill {
	head, err := readHead(file)
	if err != nil {
		return s.refuse(diag.PermissionDenied, faultText(err))
	}
	parsed, notes := parse.Read(head, parse.Options{Dir: s.dir, Local: true})
	if err := workspace.FirstError(notes); err != nil && (parsed == nil || parsed.Description == "") {
		fault := diag.All(err)[0]
		return s.refuse(fault.Code, fault.Message)
	}
	if parsed.Name != "" {
		s.Name = parsed.Name
	}
	s.Description = parsed.Description
	s.prompt = trainingMode(filepath.Dir(file), s.Name) != trainable
	s.tokens = derive.LockedTokens(s.Name, s.Description, 0, 0).Metadata
	return s
}

// trainable is the mode of a skill that is a target of training and no text for a
// prompt.
const trainable = "trainable"

// trainingMode returns the mode of a directory's training.zon, "" where there is
// no valid one.
func trainingMode(dir, name string) string {
	f, err := regular.Open(filepath.Join(dir, parse.TrainingFile))
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxHead))
	if err != nil {
		return ""
	}
	t, problems := parse.ReadTraining(data, name)
	if t == nil || workspace.FirstError(problems) != nil {
		return ""
	}
	return t.Mode
}

// readHead returns a SKILL.md up to the line that closes its frontmatter: the
// body stays unread. Without a frontmatter it is the first line.
func readHead(file string) ([]byte, error) {
	f, err := regular.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewReaderSize(io.LimitReader(f, maxHead), 512)
	var head []byte
	for fences := 0; fences < 2; {
		line, err := in.ReadBytes('\n')
		head = append(head, line...)
		text := bytes.TrimRight(bytes.TrimPrefix(line, []byte("\ufeff")), " \t\r\n")
		if string(text) == "---" {
			fences++
		} else if fences == 0 && len(text) > 0 {
			break
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return head, nil
}

// inProject reports whether a path, links followed, lies in the project or its
// git work tree.
func inProject(p *workspace.Project, real string) bool {
	base := p.Root
	if top, ok := workspace.GitTop(p.Root); ok {
		base = top
	}
	if at, err := filepath.EvalSymlinks(base); err == nil {
		base = at
	}
	rel, err := filepath.Rel(base, real)
	return err == nil && filepath.IsLocal(rel)
}

// faultText is an error of the file system without the path, which stands
// beside it.
func faultText(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	if e, ok := errors.AsType[*diag.Error](err); ok && e.Cause != nil {
		return faultText(e.Cause)
	}
	return err.Error()
}
