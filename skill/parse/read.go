package parse

import (
	"github.com/skillpm/skillpm/internal/diag"
	yaml "go.yaml.in/yaml/v4"
)

// Options says what the reader knows about a SKILL.md besides its bytes.
type Options struct {
	// File is the file's name as it is spelled; empty means SKILL.md.
	File string
	// Label is the file name that findings carry; empty means File.
	Label string
	// Dir is the name of the directory that holds the skill, which the declared
	// name must equal. Empty leaves that rule out, as for a repository's root.
	Dir string
	// Local says that the skill is the project's own (a path skill), so that its
	// requirements may name path: and file:// sources. In a fetched skill those
	// are source_not_allowed.
	Local bool
}

// Read reads a SKILL.md as install does. The Skill is nil only if there is no
// frontmatter that can be read. Findings of severity error must stop an
// install: no readable frontmatter, malformed requirements, a chain that
// escapes. Everything else, such as a name that breaks the specification, is a
// warning or a note. Read never changes data and keeps no reference to it.
func Read(data []byte, opt Options) (*Skill, diag.List) {
	if opt.File == "" {
		opt.File = FileName
	}
	if opt.Label == "" {
		opt.Label = opt.File
	}
	r := fieldReader{
		findings: findings{file: opt.Label},
		opt:      fieldOptions{dir: opt.Dir, local: opt.Local, fetched: !opt.Local},
		skill:    &Skill{File: opt.File},
	}
	if opt.File != FileName {
		e := r.problem(diag.SkillFileCase, Position{}, "found `%s`; most loaders look for `%s` alone", opt.File, FileName)
		e.Severity = diag.SeverityWarning
	}
	if !r.readLenient(data) {
		return nil, r.list
	}
	for _, e := range r.list {
		if e.Severity == diag.SeverityError && !stopsInstall(e.Code) {
			e.Severity = diag.SeverityWarning
		}
	}
	return r.skill, r.list
}

// readLenient reads data into r.skill and reports whether it could.
func (r *fieldReader) readLenient(data []byte) bool {
	if len(data) > MaxFileBytes {
		r.problem(diag.FileLarge, Position{}, "the file has %d bytes; the limit is %d", len(data), MaxFileBytes)
		return false
	}
	doc, warnings, err := splitLenient(data)
	for _, w := range warnings {
		r.add(w)
	}
	if err != nil {
		r.add(err)
		return false
	}
	root, err := decode(doc.front, doc.frontLine)
	if err != nil {
		if root = r.repaired(doc, err); root == nil {
			r.add(err)
			return false
		}
	}
	r.line = doc.frontLine
	r.skill.BodyOffset, r.skill.BodySize = doc.bodyAt, len(data)-doc.bodyAt
	r.read(root)
	return true
}

// repaired returns the frontmatter's nodes after quoting the plain values that
// were not YAML, nil where that does not help.
func (r *fieldReader) repaired(doc document, cause *diag.Error) *yaml.Node {
	if cause.Code != diag.YamlInvalid || len(doc.front) > maxFrontBytes {
		return nil
	}
	fixed, values := repair(doc.front)
	if values == nil {
		return nil
	}
	root, err := decode(fixed, doc.frontLine)
	if err != nil || root == nil {
		return nil
	}
	for _, v := range values {
		e := r.problem(diag.FrontmatterRepaired, Position{v.line + doc.frontLine - 1, v.column}, "the value of `%s` is not YAML (%s); it was read as if quoted", v.key, v.why)
		e.Severity = diag.SeverityWarning
	}
	r.skill.Repaired = true
	return root
}

// stopsInstall lists the problems that leave nothing to install, or that an
// install would act on.
func stopsInstall(c diag.Code) bool {
	switch c {
	case diag.DependencyName, diag.DependencyRange, diag.DependencyDigest, diag.RequirementSyntax,
		diag.SourceNotAllowed, diag.ChainEscapes:
		return true
	}
	return false
}

// readStrict reads data as the specification has it, into r.skill. It reports
// whether the frontmatter could be read, and the cut document.
func (r *fieldReader) readStrict(data []byte) (document, bool) {
	doc, err := splitStrict(data)
	if err != nil {
		r.add(err)
		return doc, false
	}
	if err := checkPrintable(doc); err != nil {
		r.add(err)
		return doc, false
	}
	root, err := decode(doc.front, doc.frontLine)
	if err != nil {
		r.add(err)
		return doc, false
	}
	r.line = doc.frontLine
	r.skill.BodyOffset, r.skill.BodySize = doc.bodyAt, len(data)-doc.bodyAt
	r.read(root)
	return doc, true
}
