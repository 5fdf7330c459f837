package manifest

import (
	"errors"
	"path"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/tomledit"
	"github.com/skillpm/skillpm/skill"
)

// maxBytes bounds a manifest: people write them by hand.
const maxBytes = 4 << 20

var (
	configTables  = []string{"install", "registries", "mirrors", "validate", "git"}
	projectTables = append([]string{"skills", "overrides", "trust"}, configTables...)
)

// Parse reads a skills.toml. checkRange judges version ranges; nil accepts any.
// The error is a *diag.Error or a diag.List with every mistake by position:
// manifest_invalid, requirement_syntax or, alone, manifest_foreign.
func Parse(file string, data []byte, checkRange func(string) error) (*Manifest, error) {
	r, root := read(file, data, checkRange)
	if root == nil {
		return nil, r.err()
	}
	r.known(root, FileName, projectTables...)
	m := &Manifest{File: file}
	m.Skills = r.skills(root, "skills")
	m.places = make(map[string]int, len(m.Skills))
	for i, s := range m.Skills {
		m.places[s.Key.Fold()] = i
	}
	m.Overrides = r.skills(root, "overrides")
	m.Config = r.config(root)
	m.Trust = r.trust(root)
	if len(r.list) > 0 {
		return nil, r.err()
	}
	return m, nil
}

// ParseConfig reads a user's config.toml: the same tables but [skills],
// [overrides] and [trust]; trust rules of a user stand in trust.toml.
func ParseConfig(file string, data []byte) (Config, error) {
	r, root := read(file, data, nil)
	if root == nil {
		return Config{}, r.err()
	}
	r.known(root, ConfigName, configTables...)
	c := r.config(root)
	if len(r.list) > 0 {
		return Config{}, r.err()
	}
	return c, nil
}

// read returns the file's tree. After a syntax fault the tree holds what stands
// before it, so that its mistakes are reported too; it is nil if nothing further
// can be said.
func read(file string, data []byte, checkRange func(string) error) (*reader, *tomledit.Value) {
	r := &reader{file: file, checkRange: checkRange}
	if len(data) > maxBytes {
		r.list = diag.List{diag.New(diag.ManifestInvalid, "the file has %d bytes; the limit is %d", len(data), maxBytes).At(file, 0, 0)}
		return r, nil
	}
	var err error
	r.doc, err = tomledit.Parse(data)
	if tool := foreignTool(r.doc.Root()); tool != "" {
		r.fault(diag.ManifestForeign, 0, "this file belongs to %s", tool).
			WithHint("skillpm does not touch another tool's files; work in another directory, or move it away")
		return r, nil
	}
	if fault, ok := errors.AsType[*tomledit.SyntaxError](err); ok {
		r.invalid(fault.Offset, "%s", diag.Escape(fault.Message))
	}
	return r, r.doc.Root()
}

func (r *reader) config(root *tomledit.Value) Config {
	var c Config
	if t := r.table(root, "install"); t != nil {
		c.Install = r.install(t)
	}
	c.Registries = r.named(root, "registries")
	c.Mirrors = r.named(root, "mirrors")
	if t := r.table(root, "validate"); t != nil {
		r.known(t, "[validate]", "ignore", "strict_spec", "allow_unicode_names", "profile")
		c.Validate.Ignore = r.strings(t, "ignore", checkIgnored)
		c.Validate.StrictSpec = r.boolean(t, "strict_spec")
		c.Validate.AllowUnicodeNames = r.boolean(t, "allow_unicode_names")
		c.Validate.Profile, _ = r.str(t, "profile")
	}
	if t := r.table(root, "git"); t != nil {
		r.known(t, "[git]", "cli")
		c.Git.CLI = r.choice(t, "cli", "auto", "always", "never")
	}
	return c
}

// CheckAgents returns manifest_invalid for each id in [install] agents that
// lookup does not know; lookup also gives ids that may have been meant.
func (m *Manifest) CheckAgents(lookup func(id string) (known bool, similar []string)) error {
	var list diag.List
	for i, id := range m.Install.Agents {
		known, similar := lookup(id)
		if known {
			continue
		}
		e := diag.New(diag.ManifestInvalid, "no agent is called `%s`", diag.Escape(id))
		if i < len(m.Install.AgentPlaces) {
			e.At(m.File, m.Install.AgentPlaces[i].Line, m.Install.AgentPlaces[i].Column)
		}
		if len(similar) > 0 {
			e.WithHint("did you mean %s?", strings.Join(similar, " or "))
		}
		list = append(list, e)
	}
	return list.Err()
}

func checkIgnored(code string) *diag.Error {
	info, ok := diag.Lookup(diag.Code(code))
	switch {
	case !ok:
		return diag.New(diag.ManifestInvalid, "`ignore` names `%s`, which is no code", diag.Escape(code)).
			WithHint("`skillpm help CODE` explains them")
	case info.Kind != "note":
		return diag.New(diag.ManifestInvalid, "`ignore` names `%s`, which is no note; only notes can be ignored", code)
	}
	return nil
}

func (r *reader) install(t *tomledit.Value) Install {
	r.known(t, "[install]", "agents", "targets", "link", "expose", "unmanaged", "validation",
		"max_files", "max_bytes", "max_file_bytes")
	return Install{
		Agents:       r.strings(t, "agents", nil),
		AgentPlaces:  r.places(t, "agents"),
		Targets:      r.strings(t, "targets", checkTarget),
		Link:         r.choice(t, "link", "copy", "hardlink", "symlink"),
		Expose:       r.choice(t, "expose", "all", "direct"),
		Unmanaged:    r.choice(t, "unmanaged", "note", "refuse"),
		Validation:   r.choice(t, "validation", "lenient", "strict"),
		MaxFiles:     r.size(t, "max_files"),
		MaxBytes:     r.size(t, "max_bytes"),
		MaxFileBytes: r.size(t, "max_file_bytes"),
	}
}

// checkTarget wants a clean relative slash path; that it stays inside the
// project on disk, links followed, is checked when it is opened.
func checkTarget(s string) *diag.Error {
	rest := strings.TrimSuffix(strings.TrimPrefix(s, "./"), "/")
	switch {
	case rest == ".." || strings.HasPrefix(path.Clean(rest), "..") || path.IsAbs(s) || strings.HasPrefix(s, "~") || strings.Contains(s, ":"):
		return diag.New(diag.TargetUnsafe, "the target `%s` lies outside the project", diag.Escape(s)).
			WithHint("a target is a directory below the project, such as .agents/skills")
	case rest == "" || path.Clean(rest) != rest || rest == "." || strings.Contains(s, `\`):
		return diag.New(diag.ManifestInvalid, "the target `%s` is no clean slash path below the project", diag.Escape(s))
	}
	return nil
}

func (r *reader) named(root *tomledit.Value, table string) []Named {
	t := r.table(root, table)
	if t == nil {
		return nil
	}
	var list []Named
	for _, f := range t.Fields {
		switch {
		case f.Value.Kind != tomledit.KindString:
			r.wrong(f, "a string")
		case f.Value.Text == "":
			r.invalid(f.Value.Start, "`%s` is empty", diag.Escape(f.Name))
		case hasPassword(f.Value.Text):
			r.invalid(f.Value.Start, "credentials in `%s`", diag.Escape(f.Name)).
				WithHint("use a credential helper or netrc; nothing secret belongs into this file")
		default:
			n := Named{Name: f.Name, Address: f.Value.Text}
			at := r.doc.Place(f.At)
			n.Line, n.Column = at.Line, at.Column
			list = append(list, n)
		}
	}
	return list
}

func hasPassword(address string) bool {
	_, after, ok := strings.Cut(address, "://")
	authority, _, _ := strings.Cut(after, "/")
	user, _, at := strings.Cut(authority, "@")
	return ok && at && strings.Contains(user, ":")
}

func (r *reader) trust(root *tomledit.Value) Trust {
	t := r.table(root, "trust")
	if t == nil {
		return Trust{}
	}
	var trust Trust
	trust.Sources = r.strings(t, "sources", nil)
	trust.MinAge, _ = r.str(t, "min_age")
	return trust
}

// Missing returns manifest_missing for a search from dir upward.
func Missing(dir string) *diag.Error {
	return diag.New(diag.ManifestMissing, "no %s in `%s` or above it", FileName, dir).
		WithHint("`skillpm init` writes one")
}

// skills reads [skills] or [overrides].
func (r *reader) skills(root *tomledit.Value, name string) []Skill {
	t := r.table(root, name)
	if t == nil {
		return nil
	}
	folds := map[string]string{}
	var list []Skill
	for _, f := range t.Fields {
		key, err := skill.ParseKey(f.Name)
		if err != nil {
			r.invalid(f.At, "%s", diag.Escape(err.Error()))
		} else if old, twice := folds[key.Fold()]; twice {
			r.invalid(f.At, "`%s` and `%s` would be one directory on a case-insensitive disk", old, f.Name)
		}
		folds[key.Fold()] = f.Name
		s := Skill{Key: key}
		at := r.doc.Place(f.At)
		s.Line, s.Column = at.Line, at.Column
		if r.requirement(&s, f, name) && err == nil {
			list = append(list, s)
		}
	}
	return list
}
