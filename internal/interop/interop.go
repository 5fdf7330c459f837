package interop

import (
	_ "embed"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// Item is one wish of another tool's file: a skill, some skills of a repository,
// or all that a package holds.
type Item struct {
	Place
	// Name is what the file calls it, for people.
	Name string
	// Key is the name the other tool installs it under; "" is the skill's own.
	Key string
	// Source is where it lives. A path source is relative to the directory that
	// was read. Without a subpath the repository has to be looked through.
	Source skill.Source
	// Pick names skills to take below Source; Whole takes every one there is at
	// or below it. With neither, Source is one skill.
	Pick  []string
	Whole bool
	// Exclude are names that Whole leaves out.
	Exclude []string
	// Range or Ref is the version that people asked for; both empty: not said.
	Range, Ref string
	// Commit and Tag are what the other tool has locked, "" if it locks none.
	Commit, Tag string
	// Tree is the git tree id the other tool recorded of the skill, "" if none.
	Tree string
}

// Place is where in which file something stands. Line and Column count from 1; 0
// is unknown.
type Place struct {
	File         string
	Line, Column int
}

// Skipped is an entry that asks for a skill that cannot be taken.
type Skipped struct {
	Place
	Name, Reason string
}

// Agent is an agent that another tool installs for. ID is skillpm's id of it where
// the tool is known to have another, else the tool's own.
type Agent struct {
	Place
	ID string
}

// Document is what was found in one format's files.
type Document struct {
	Tool  string
	Files []string // those that were read
	Items []Item
	// Agents are those that the tool installs for.
	Agents []Agent
	// Skipped are skills that cannot be carried over, Notes what else was left
	// behind: other kinds of packages, settings, digests made by other rules.
	Skipped []Skipped
	Notes   []*diag.Error
}

//go:embed formats.tsv
var formatTable string

// format is a line of formats.tsv.
type format struct{ pattern, reader, tool string }

func formats() []format {
	var list []format
	for line := range strings.Lines(formatTable) {
		line = strings.TrimSpace(line)
		if f := strings.Split(line, "\t"); len(f) == 3 && line[0] != '#' {
			list = append(list, format{f[0], f[1], f[2]})
		}
	}
	return list
}

// Names returns the files that can be read, as they are called, `*` standing for
// a directory.
func Names() []string {
	var names []string
	for _, f := range formats() {
		names = append(names, f.pattern)
	}
	return names
}

// readers are the formats by the name they have in formats.tsv.
var readers = map[string]func(*reading) error{
	"vercel":      readVercel,
	"vercel-user": readVercelUser,
	"gh":          readGH,
	"marketplace": readMarketplace,
	"apm":         readAPM,
	"dotagents":   readDotagents,
	"agr":         readAgr,
	"skillfile":   readSkillfile,
	"toolhive":    readToolhive,
	"spm":         readSPM,
	"packagejson": readPackageJSON,
	"skillspkg":   readSkillsPkg,
	"clawhub":     readClawhub,
	"openskills":  readOpenskills,
	"sx":          readSX,
}

// Detect returns the documents of a directory, in the order of formats.tsv. A
// file whose name several tools use (skills.json, agents.toml, package.json)
// counts only where its content is that tool's.
func Detect(fsys fs.FS) ([]*Document, error) {
	var docs []*Document
	var faults diag.List
	done := map[string]bool{}
	for _, f := range formats() {
		if done[f.reader] {
			continue
		}
		files := present(fsys, f.reader, nil)
		if len(files) == 0 {
			continue
		}
		done[f.reader] = true
		doc, err := read(fsys, f, files, false)
		switch {
		case errors.Is(err, errNotOurs):
		case err != nil:
			faults = append(faults, diag.All(err)...)
		case len(doc.Items)+len(doc.Skipped) > 0:
			docs = append(docs, doc)
		}
	}
	return docs, faults.Err()
}

// Read reads the file name of fsys, and what belongs to it in the same place. A
// file that no tool is known for is refused with code usage.
func Read(fsys fs.FS, name string) (*Document, error) {
	for _, f := range formats() {
		if !matches(f.pattern, name) {
			continue
		}
		var only []string
		if strings.Contains(f.pattern, "*") || f.reader == "vercel-user" || f.reader == "marketplace" {
			only = []string{name}
		}
		files := present(fsys, f.reader, only)
		if len(files) == 0 {
			return nil, file{path: name}.unreadable(0, 0, "%s is no regular file inside its directory", name)
		}
		doc, err := read(fsys, f, files, true)
		if errors.Is(err, errNotOurs) {
			return nil, file{path: name}.unreadable(0, 0, "%s is not a file of %s", name, f.tool)
		}
		return doc, err
	}
	return nil, diag.New(diag.Usage, "`%s` is the file of no tool that is known", name).
		WithHint("the known ones are %s", strings.Join(Names(), ", "))
}

// Locate splits the slash path of a file into the directory its tool would call
// the project and the file's name there, by the longest pattern that fits its
// end. Where none does, the directory is the file's own.
func Locate(file string) (dir, name string) {
	elems := strings.Split(file, "/")
	best := 1
	for _, f := range formats() {
		n := strings.Count(f.pattern, "/") + 1
		if n <= best || n > len(elems) {
			continue
		}
		if matches(f.pattern, strings.Join(elems[len(elems)-n:], "/")) {
			best = n
		}
	}
	dir = strings.Join(elems[:len(elems)-best], "/")
	if dir == "" && strings.HasPrefix(file, "/") {
		dir = "/"
	}
	return dir, strings.Join(elems[len(elems)-best:], "/")
}

func matches(pattern, name string) bool {
	ok, _ := path.Match(pattern, name) // the patterns are ours and well-formed
	return ok
}

// present lists the regular files of a reader that are there, or those of only:
// what else bears such a name, a pipe for one, could be waited on for ever.
func present(fsys fs.FS, reader string, only []string) []string {
	var files []string
	for _, f := range formats() {
		if f.reader != reader {
			continue
		}
		hits, _ := fs.Glob(fsys, f.pattern) // the patterns are ours and well-formed
		if only != nil && matches(f.pattern, only[0]) {
			hits = only
		} else if only != nil {
			continue
		}
		for _, h := range hits {
			if info, err := fs.Stat(fsys, h); err == nil && info.Mode().IsRegular() && len(files) < maxFiles {
				files = append(files, h)
			}
		}
	}
	return files
}

// errNotOurs says that a file has a known name but another content.
var errNotOurs = errors.New("another tool's file")

// reading is one format being read.
type reading struct {
	fsys  fs.FS
	files []string
	// named says that the user named the file, so that it must be readable.
	named bool
	doc   *Document
}

func read(fsys fs.FS, f format, files []string, named bool) (*Document, error) {
	r := &reading{fsys: fsys, files: files, named: named, doc: &Document{Tool: f.tool}}
	if err := readers[f.reader](r); err != nil {
		return nil, err
	}
	if n := len(r.doc.Items); n > maxItems {
		return nil, file{path: files[0]}.unreadable(0, 0, "%d skills; the limit is %d", n, maxItems)
	}
	return r.doc, nil
}

// load reads one file, nil if it is not among those of this format.
func (r *reading) load(name string) (*file, error) {
	for _, have := range r.files {
		if base(have) != name {
			continue
		}
		f, err := r.open(have)
		if err == nil {
			r.doc.Files = append(r.doc.Files, have)
		}
		return f, err
	}
	return nil, nil
}

// tree is load and parse: a nil node without error is a file that is not there.
func (r *reading) tree(name string) (*file, *node, error) {
	f, err := r.load(name)
	if f == nil || err != nil {
		return nil, nil, err
	}
	root, err := f.parse()
	return f, root, err
}

// open reads a file without counting it among those of this format.
func (r *reading) open(name string) (*file, error) {
	data, err := readFile(r.fsys, name)
	if err != nil {
		return nil, err
	}
	return &file{name, data}, nil
}

// openTree is open and parse.
func (r *reading) openTree(name string) (*file, *node, error) {
	f, err := r.open(name)
	if err != nil {
		return nil, nil, err
	}
	root, err := f.parse()
	return f, root, err
}

func readFile(fsys fs.FS, name string) ([]byte, error) {
	// An fs.FS cannot be told not to wait for the writer of a pipe.
	if info, err := fs.Stat(fsys, name); err == nil && !info.Mode().IsRegular() {
		return nil, file{path: name}.unreadable(0, 0, "it is no regular file")
	}
	in, err := fsys.Open(name)
	if err != nil {
		return nil, file{path: name}.unreadable(0, 0, "the file cannot be opened").WithCause(err)
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return nil, file{path: name}.unreadable(0, 0, "the file cannot be read").WithCause(err)
	}
	if len(data) > maxFile {
		return nil, file{path: name}.unreadable(0, 0, "the file has more than %d bytes", maxFile)
	}
	return data, nil
}

// at returns the place of n in f.
func (f *file) at(n *node) Place {
	if n == nil {
		return Place{File: f.path}
	}
	return Place{f.path, n.line, n.column}
}

func (r *reading) add(i Item) { r.doc.Items = append(r.doc.Items, i) }

func (r *reading) skip(at Place, name, reason string) {
	r.doc.Skipped = append(r.doc.Skipped, Skipped{at, name, reason})
}

// note tells what is left behind without being a skill that was asked for.
func (r *reading) note(at Place, format string, args ...any) {
	r.doc.Notes = append(r.doc.Notes, diag.Note(diag.ImportNote, format, args...).At(at.File, at.Line, at.Column))
}
