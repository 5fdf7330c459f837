package parse

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
)

// checkOptions are ValidateOptions with defaults filled in.
type checkOptions struct {
	ValidateOptions
	tokens func([]byte) int
}

// skillChecker judges one skill's directory. It is used by one goroutine.
type skillChecker struct {
	fieldReader
	opt     checkOptions
	dir     string        // absolute
	label   string        // as the user would name it, slash-separated
	deep    bool          // deeper in its layer than one level
	fault   *diag.Error   // why the directory cannot be looked at
	entries []fs.DirEntry // of dir, if it was listed

	fileName  string // the skill file's spelling, "" if there is none
	tree      *tree
	root      *os.Root
	rootErr   error
	badLinks  []string
	mentioned []mention
	data      []byte
	doc       document
	readable  bool // the frontmatter could be read
	training  *Training
	loaded    Loaded
}

// check judges the skill completely. The error is only ctx's.
func (r *skillChecker) check(ctx context.Context) error {
	defer r.close()
	r.findings.file = path.Join(r.label, FileName)
	r.fieldReader.opt = fieldOptions{
		dir: filepath.Base(r.dir), unicodeNames: r.opt.AllowUnicodeNames,
		resolving: r.opt.Deps != nil, bytes: r.opt.Profile == ProfileChock,
	}
	r.skill = &Skill{File: r.fileName}
	if r.fault != nil {
		r.findings.file = r.label
		r.add(r.fault)
		return nil
	}
	if err := r.readTree(ctx); err != nil {
		return err
	}
	ofTree := r.list
	r.list = nil
	if data, ok := r.openFile(); ok {
		r.data = data
		r.doc, r.readable = r.readStrict(data)
	}
	if !r.readable {
		r.unreadable(ofTree)
		return nil
	}
	r.list = append(r.list, ofTree...)
	r.lint()
	return nil
}

// unreadable ends the check of a skill whose file or YAML fails: what else is
// wrong with the directory can wait, unless it is the reason.
func (r *skillChecker) unreadable(ofTree diag.List) {
	for _, e := range ofTree {
		if len(r.list) == 0 || ofDisk(e.Code) {
			r.list = append(r.list, e)
		}
	}
}

// ofDisk reports a finding about the disk, which must not be lost.
func ofDisk(c diag.Code) bool { return c == diag.PermissionDenied || c == diag.DiskFailed }

// lint judges what the frontmatter does not say.
func (r *skillChecker) lint() {
	r.placeholders()
	r.bodyRules(r.doc, r.data)
	r.licenseFile()
	r.treeRules(r.opt.Profile)
	r.trainingRules()
	if r.deep {
		r.note(diag.NestedSkill, Position{}, "it lies deeper than one level in its layer; some loaders look no deeper")
	}
}

// placeholders notes what `skillpm new` wrote and nobody has replaced. Those who
// install cannot do anything about it, so they are not told.
func (r *skillChecker) placeholders() {
	if r.skill.Description == placeholderDescription {
		r.note(diag.PlaceholderLeft, r.fieldPosition("description"), "the description is still the one that `skillpm new` wrote").
			WithHint("say what the skill does and when to use it: agents choose by this line")
	}
	if bytes.Contains(r.data, []byte(placeholderBody)) {
		r.note(diag.PlaceholderLeft, Position{Line: r.doc.bodyLine, Column: 1}, "the body still has the line that `skillpm new` wrote").
			WithHint("write the steps there")
	}
}

func (r *skillChecker) close() {
	if r.root != nil {
		r.root.Close()
		r.root = nil
	}
}

// openFile reads the skill file after judging its name and kind.
func (r *skillChecker) openFile() ([]byte, bool) {
	if r.fileName != FileName {
		r.findings.file = path.Join(r.label, r.fileName)
		r.problem(diag.SkillFileCase, Position{}, "found `%s`; loaders look for `%s` alone", r.fileName, FileName).
			WithHint("rename the file to %s", FileName)
		return nil, false
	}
	for _, bad := range r.badLinks {
		if bad == FileName {
			return nil, false // the link's own finding says it
		}
	}
	data, err := r.readSkillFile()
	switch {
	case errors.Is(err, errNotRegular):
		r.problem(diag.SkillFileNotRegular, Position{}, "`%s` is a directory or a device, not a file", FileName)
	case errors.Is(err, errTooLarge):
		r.problem(diag.TreeTooLarge, Position{}, "`%s` has more than %d bytes", FileName, MaxFileBytes)
	case err != nil:
		r.ioProblem(FileName, err)
	default:
		return data, true
	}
	return nil, false
}

// readSkillFile reads SKILL.md, directly if it is no link.
func (r *skillChecker) readSkillFile() ([]byte, error) {
	for _, f := range r.tree.files {
		if f.path == FileName && f.link == "" && f.mode.IsRegular() {
			file, err := os.Open(filepath.Join(r.dir, FileName))
			if err != nil {
				return nil, err
			}
			defer file.Close()
			return readSized(file, f.size)
		}
	}
	root, err := r.openRoot()
	if err != nil {
		return nil, err
	}
	return readBounded(root, FileName)
}

type readError string

func (e readError) Error() string { return string(e) }

const (
	errNotRegular = readError("not a regular file")
	errTooLarge   = readError("over the size limit")
)

// readBounded reads a regular file below root of at most MaxFileBytes.
func readBounded(root *os.Root, rel string) ([]byte, error) {
	info, err := root.Stat(filepath.FromSlash(rel))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would hang
		return nil, errNotRegular
	}
	f, err := root.Open(filepath.FromSlash(rel))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readSized(f, info.Size())
}

// readSized reads a file that had size bytes a moment ago, in one call if it
// still has.
func readSized(f io.Reader, size int64) ([]byte, error) {
	if size > MaxFileBytes {
		return nil, errTooLarge
	}
	buf := make([]byte, size+1)
	n, err := io.ReadAtLeast(f, buf, int(max(size, 1)))
	switch {
	case n > int(size): // it grew
		rest, err := io.ReadAll(io.LimitReader(f, MaxFileBytes))
		return append(buf[:n], rest...), err
	case err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return buf[:n], nil
	}
	return nil, err
}

// licenseFile notes a license that names a file which is not there.
func (r *skillChecker) licenseFile() {
	for word := range strings.FieldsSeq(r.skill.License) {
		word = strings.Trim(word, `.,;:()[]"'`+"`")
		if !namesLicenseFile(word) {
			continue
		}
		if clean := path.Clean(word); strings.HasPrefix(clean, "..") || !r.exists(clean) {
			r.note(diag.LicenseFileMissing, r.fieldPosition("license"), "the license names `%s`, which is not in the skill", word)
			return
		}
	}
}

func namesLicenseFile(word string) bool {
	if strings.Contains(word, "://") || path.IsAbs(word) {
		return false
	}
	switch path.Base(word) {
	case "LICENSE", "LICENCE", "COPYING", "NOTICE":
		return true
	}
	switch strings.ToLower(path.Ext(word)) {
	case ".txt", ".md", ".rst", ".html", ".pdf":
		return true
	}
	return false
}

// trainingRules judges training.zon, where there is one.
func (r *skillChecker) trainingRules() {
	if !r.tree.known[TrainingFile] {
		return
	}
	for _, bad := range r.badLinks {
		if bad == TrainingFile {
			return
		}
	}
	f := &findings{file: path.Join(r.label, TrainingFile)}
	defer func() { r.list = append(r.list, f.list...) }()
	root, err := r.openRoot()
	if err != nil {
		f.add(ioFinding(TrainingFile, err))
		return
	}
	data, err := readBounded(root, TrainingFile)
	if err != nil {
		f.problem(diag.TrainingSyntax, Position{}, "`%s` cannot be read: %v", TrainingFile, err)
		return
	}
	t, list := ReadTraining(data, r.skill.Name)
	for _, e := range list {
		f.add(e)
	}
	if t != nil && r.suiteFiles(f, t) {
		r.training = t
	}
}

// suiteFiles looks for the suites on disk.
func (r *skillChecker) suiteFiles(f *findings, t *Training) bool {
	for _, s := range t.Suites {
		if r.throughBadLink(s.Path) {
			return false
		}
		info, err := r.root.Stat(filepath.FromSlash(s.Path))
		switch {
		case err != nil:
			f.problem(diag.TrainingSuiteMissing, s.Position, "the suite `%s`, `%s`, is not in the skill", s.Name, s.Path)
		case !info.Mode().IsRegular():
			f.problem(diag.TrainingSuiteMissing, s.Position, "the suite `%s`, `%s`, is %s, not a file", s.Name, s.Path, modeWords(info.Mode()))
		}
	}
	return len(f.list) == 0
}

// throughBadLink reports whether a part of rel is a link that has its own
// finding.
func (r *skillChecker) throughBadLink(rel string) bool {
	for _, bad := range r.badLinks {
		if rel == bad || strings.HasPrefix(rel, bad+"/") {
			return true
		}
	}
	return false
}

func modeWords(m fs.FileMode) string {
	if m.IsDir() {
		return "a directory"
	}
	return "a device"
}

// fieldPosition returns where the frontmatter's field key stands.
func (r *skillChecker) fieldPosition(key string) Position { return r.places[key] }
