package parse

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/skillpm/skillpm/internal/diag"
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
	for _, p := range paths {
		if err := v.target(ctx, p); err != nil {
			return nil, err
		}
	}
	if err := v.checkAll(ctx); err != nil {
		return nil, err
	}
	return v, v.links(ctx)
}

// validation is one call of Validate.
type validation struct {
	opt    checkOptions
	skills []*skillChecker
	seen   map[string]bool // absolute directories already taken
	given  string          // the last path, cleaned
	// faults are findings about paths that hold no skill.
	faults []Line
}

// target finds the skills that one given path names.
func (v *validation) target(ctx context.Context, given string) error {
	abs := given
	if !filepath.IsAbs(abs) {
		base := v.opt.Base
		if base == "" {
			base = "."
		}
		abs = filepath.Join(base, given)
	}
	abs, err := filepath.Abs(abs)
	if err != nil {
		return err
	}
	label := path.Clean(filepath.ToSlash(given))
	v.given = label
	info, err := os.Stat(abs)
	switch {
	case err != nil && isMissing(err):
		v.fault(label, diag.New(diag.PathMissing, "no such file or directory"))
		return nil
	case err != nil:
		v.fault(label, ioFinding(label, err))
		return nil
	case !info.IsDir() && strings.EqualFold(filepath.Base(abs), FileName):
		v.take(found{dir: filepath.Dir(abs), fileName: filepath.Base(abs)}, path.Dir(label))
		return nil
	case !info.IsDir():
		v.fault(label, diag.New(diag.PathNotDirectory, "a file; expected a skill's directory, its %s, or a directory of skills", FileName))
		return nil
	}
	return v.layer(ctx, abs, label)
}

func isMissing(err error) bool {
	return os.IsNotExist(err) || strings.Contains(err.Error(), "not a directory")
}

func (v *validation) layer(ctx context.Context, abs, label string) error {
	list, complete, err := discover(ctx, abs, maxLayerDepth, maxLayerDirs)
	if err != nil {
		return err
	}
	if !complete {
		v.fault(label, diag.New(diag.TreeTooLarge, "more than %d directories; name a smaller part", maxLayerDirs))
	}
	if len(list) == 0 {
		v.fault(label, diag.New(diag.NoSkillFound, "no %s lies under it", FileName).
			WithHint("directories whose name begins with a dot are not searched; name them to have them checked"))
	}
	for _, f := range list {
		v.take(f, path.Join(label, f.rel))
	}
	return nil
}

func (v *validation) fault(label string, e *diag.Error) {
	e.File = label
	v.faults = append(v.faults, Line{Verdict: Problem, Path: label, Finding: e})
}

// take adds a skill unless it is there already.
func (v *validation) take(f found, label string) {
	if v.seen[f.dir] {
		return
	}
	v.seen[f.dir] = true
	v.skills = append(v.skills, &skillChecker{
		opt: v.opt, dir: f.dir, label: label, fileName: f.fileName, deep: f.deep, fault: f.fault,
	})
}

// checkAll judges the skills in parallel; each keeps its own findings.
func (v *validation) checkAll(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2 * runtime.GOMAXPROCS(0)) // reading waits for the disk now and then
	for _, s := range v.skills {
		group.Go(func() error { return s.check(ctx) })
	}
	return group.Wait()
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
