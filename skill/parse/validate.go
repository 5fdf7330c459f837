package parse

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// ValidateOptions says how strictly Validate judges.
type ValidateOptions struct {
	// Base is the directory that relative paths start from; empty means the
	// current directory.
	Base string
	// StrictSpec turns the notes on which the reference validator skills-ref
	// refuses (unknown fields, metadata values that are no strings) into problems.
	StrictSpec bool
	// Profile adds one host's rules: ProfileAgently, ProfileChock or "".
	Profile string
	// AllowUnicodeNames turns name_not_ascii into a note.
	AllowUnicodeNames bool
	// Ignore names notes that are left out. Problems cannot be ignored.
	Ignore []diag.Code
	// Deps, if not nil, is asked about every requirement, and about every chain
	// member that the file system alone does not answer.
	Deps DepsFunc
	// Load, if not nil, is asked for the content of every skill that was found,
	// as an installer would get it; what it refuses is a problem.
	Load LoadFunc
	// Tokens estimates the tokens of a text; nil counts four bytes a token.
	Tokens func([]byte) int
}

// The hosts whose rules Validate knows beyond the specification.
const (
	ProfileAgently = "agently" // a root skill.yaml and its kin are problems
	ProfileChock   = "chock"   // lengths count bytes too
)

// Edge is one requirement that Deps is asked about.
type Edge struct {
	// Dir is the absolute path of the skill that requires.
	Dir  string
	From *Skill
	// Dependency is the requirement; for a chain member its range is "*".
	Dependency Dependency
	Chain      bool
}

// DepsFunc says whether a requirement can be resolved without network: nil if
// so, else the finding to report, to which Validate adds the place. It is called
// by one goroutine.
type DepsFunc func(ctx context.Context, edge Edge) *diag.Error

// Place is a skill whose content is wanted.
type Place struct {
	Dir  string // absolute
	Name string // as SKILL.md declares it, "" if it cannot be read
}

// Loaded is the content of a skill as an installer would get it.
type Loaded struct {
	Tree *skill.Tree // nil where there is none
	// State says in a few words what was looked at.
	State string
	// Err is what an installer would refuse it for, a *diag.Error or a diag.List.
	Err error
}

// LoadFunc loads skills; the result has the order of places. It is called once,
// with all of them.
type LoadFunc func(ctx context.Context, places []Place) ([]Loaded, error)

// Validate checks each path: a directory with a SKILL.md, or that file itself,
// is one skill; any other directory is a layer whose skills are found below it,
// dotted directories and node_modules left out. It writes nothing. The error is
// only ctx's; everything else is in the report.
func Validate(ctx context.Context, paths []string, opt ValidateOptions) (*Report, error) {
	v, err := validateAll(ctx, paths, opt)
	if err != nil {
		return nil, err
	}
	return v.report(), nil
}

func validateAll(ctx context.Context, paths []string, opt ValidateOptions) (*validation, error) {
	v := &validation{opt: checkOptions{ValidateOptions: opt, tokens: opt.Tokens}, seen: map[string]bool{}}
	if v.opt.tokens == nil {
		v.opt.tokens = roughTokens
	}
	targets := make([]target, len(paths))
	err := inParallel(len(paths), func(i int) (err error) {
		targets[i], err = findTarget(ctx, opt.Base, paths[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, t := range targets {
		v.take(t)
	}
	if err := v.checkAll(ctx); err != nil {
		return nil, err
	}
	if err := v.load(ctx); err != nil {
		return nil, err
	}
	return v, v.links(ctx)
}

// load asks for the skills' content and adds what it is refused for, unless the
// directory was already found wrong in the same way.
func (v *validation) load(ctx context.Context) error {
	if v.opt.Load == nil {
		return nil
	}
	var skills []*skillChecker
	var places []Place
	for _, s := range v.skills {
		if s.fault == nil {
			skills, places = append(skills, s), append(places, Place{Dir: s.dir, Name: s.skill.Name})
		}
	}
	loaded, err := v.opt.Load(ctx, places)
	if err != nil {
		return err
	}
	for i, s := range skills {
		s.loaded = loaded[i]
		s.refused(loaded[i].Err)
	}
	return nil
}

func (r *skillChecker) refused(err error) {
	known := map[diag.Code]bool{}
	for _, e := range r.list {
		if e.Severity == diag.SeverityError {
			known[e.Code], known[diag.SkillNotFound] = true, true
		}
	}
	for _, e := range diag.All(err) {
		if !known[e.Code] {
			r.findings.file = path.Join(r.label, FileName)
			e.Line, e.Column = 0, 0
			r.add(e)
		}
	}
}

// validation is one call of Validate.
type validation struct {
	opt    checkOptions
	skills []*skillChecker
	seen   map[string]bool // absolute directories already taken
	// faults are findings about paths that hold no skill.
	faults []Line
}

// target is what one given path names.
type target struct {
	label  string // the path, cleaned, slash-separated
	skills []found
	fault  *diag.Error // where it names no skill, or not all of them
}

// findTarget finds the skills that one given path names.
func findTarget(ctx context.Context, base, given string) (target, error) {
	t := target{label: path.Clean(filepath.ToSlash(given))}
	abs, err := filepath.Abs(given)
	if !filepath.IsAbs(given) && base != "" {
		abs, err = filepath.Abs(filepath.Join(base, given))
	}
	if err != nil {
		return t, err
	}
	list, complete, err := discover(ctx, abs, maxLayerDepth, maxLayerDirs)
	switch {
	case err == nil && len(list) == 1 && list[0].rel == "" && list[0].fault != nil:
		t.notDirectory(abs)
		return t, nil
	case err != nil:
		return t, err
	}
	if t.skills = list; len(list) == 0 {
		t.fault = diag.New(diag.NoSkillFound, "no %s lies under it", FileName).
			WithHint("directories whose name begins with a dot are not searched; name them to have them checked")
	}
	if !complete {
		t.fault = diag.New(diag.TreeTooLarge, "more than %d directories; name a smaller part", maxLayerDirs)
	}
	return t, nil
}

// notDirectory judges a path that cannot be listed: a skill file stands for its
// directory.
func (t *target) notDirectory(abs string) {
	info, err := os.Stat(abs)
	switch {
	case err != nil && isMissing(err):
		t.fault = diag.New(diag.PathMissing, "no such file or directory")
	case err != nil:
		t.fault = ioFinding(t.label, err)
	case info.IsDir():
		t.fault = diag.New(diag.PermissionDenied, "`%s` cannot be read", t.label)
	case strings.EqualFold(filepath.Base(abs), FileName):
		t.label = path.Dir(t.label)
		t.skills = []found{{dir: filepath.Dir(abs), fileName: filepath.Base(abs)}}
	default:
		t.fault = diag.New(diag.PathNotDirectory, "a file; expected a skill's directory, its %s, or a directory of skills", FileName)
	}
}

func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// take adds a target's skills unless they are there already.
func (v *validation) take(t target) {
	if t.fault != nil {
		t.fault.File = t.label
		v.faults = append(v.faults, Line{Verdict: Problem, Path: t.label, Finding: t.fault})
	}
	for _, f := range t.skills {
		if v.seen[f.dir] {
			continue
		}
		v.seen[f.dir] = true
		v.skills = append(v.skills, &skillChecker{
			opt: v.opt, dir: f.dir, label: path.Join(t.label, f.rel), fileName: f.fileName, deep: f.deep, fault: f.fault, entries: f.entries,
		})
	}
}

// checkAll judges the skills in parallel; each keeps its own findings.
func (v *validation) checkAll(ctx context.Context) error {
	return inParallel(len(v.skills), func(i int) error { return v.skills[i].check(ctx) })
}

// inParallel calls do for 0 to n-1 from a few goroutines, which keep their
// stacks: one goroutine a skill would grow a new one each time. It returns the
// error of the lowest index that has one.
func inParallel(n int, do func(i int) error) error {
	workers := min(n, 2*runtime.GOMAXPROCS(0)) // reading waits for the disk now and then
	errs := make([]error, n)
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				errs[i] = diag.Guard(func() error { return do(int(i)) })
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// strictCodes are the notes that the reference validator refuses.
var strictCodes = []diag.Code{diag.FieldUnknown, diag.FieldClientExtension, diag.MetadataValueNotString}

// report turns the findings into ordered lines.
func (v *validation) report() *Report {
	r := &Report{Lines: v.faults, Skills: len(v.skills)}
	for _, s := range v.skills {
		ok := true
		for _, e := range s.list {
			if v.opt.StrictSpec && slices.Contains(strictCodes, e.Code) {
				e.Severity = diag.SeverityError
			}
			verdict := Note
			if e.Severity == diag.SeverityError {
				verdict, ok = Problem, false
			} else if slices.Contains(v.opt.Ignore, e.Code) {
				continue
			}
			r.Lines = append(r.Lines, Line{Verdict: verdict, Path: s.label, Finding: e})
		}
		if ok {
			r.Lines = append(r.Lines, Line{Verdict: OK, Path: s.label, Name: s.skill.Name})
		}
	}
	r.sort()
	return r
}
