package parse

import (
	"errors"
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
	yaml "go.yaml.in/yaml/v4"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

const (
	ownPrefix      = "skillpm."
	requiresPrefix = "skillpm.requires."
	versionKey     = "skillpm.version"
	retractKey     = "skillpm.retract"
)

// maxRange bounds the text of a version range, since the range grammar is
// matched with regular expressions.
const maxRange = 512

func (r *fieldReader) metadata(f field) {
	if f.value.Kind != yaml.MappingNode {
		if isNull(f.value) {
			r.problem(diag.MetadataNotMapping, r.at(f.key), "metadata holds nothing").WithHint("leave the field out")
			return
		}
		r.problem(diag.MetadataNotMapping, r.at(f.value), "metadata is %s; expected `key: \"value\"` lines", kindWords(f.value))
		return
	}
	entries := fieldsOf(f.value)
	var odd []field
	for _, e := range entries {
		r.skill.Metadata = append(r.skill.Metadata, r.pair(e))
		if !isText(e.value) {
			odd = append(odd, e)
		}
	}
	r.metadataValues(odd)
	if len(entries) > maxMetadata {
		r.note(diag.MetadataMany, r.at(f.key), "metadata has %d entries; one loader keeps the first %d", len(entries), maxMetadata)
	}
	r.version(entries)
	for _, e := range entries {
		r.ownEntry(e)
	}
	r.chain(entries)
}

// metadataValues reports all values that are no strings in one line, at the
// first: to the specification metadata is one field.
func (r *fieldReader) metadataValues(odd []field) {
	if len(odd) == 0 {
		return
	}
	first := odd[0]
	e := r.note(diag.MetadataValueNotString, r.at(first.value), "`metadata.%s` is %s; the specification has strings there", first.key.Value, kindWords(first.value))
	switch first.value.Kind {
	case yaml.ScalarNode:
		e.WithHint("quote it: %s: %q", first.key.Value, nodeText(first.value))
	case yaml.SequenceNode:
		e.WithHint("write %s: %q", first.key.Value, shorten(nodeText(first.value), 120))
	default:
		e.WithHint("write one entry a value, such as %s.%s", first.key.Value, firstKey(first.value))
	}
	if len(odd) > 1 {
		names := make([]string, 0, len(odd)-1)
		for _, o := range odd[1:] {
			names = append(names, "`"+shorten(o.key.Value, 40)+"`")
		}
		if more := len(names) - 8; more > 0 {
			names = append(names[:8], fmt.Sprintf("%d more", more))
		}
		e.Message += "; also " + strings.Join(names, ", ")
	}
}

func firstKey(n *yaml.Node) string {
	if len(n.Content) > 0 {
		return n.Content[0].Value
	}
	return "key"
}

// version finds what the skill says of its own version. It decides for path
// skills only; in a repository the tags do.
func (r *fieldReader) version(entries []field) {
	for _, key := range []string{versionKey, "version"} {
		for _, e := range entries {
			if e.key.Value != key || e.value.Kind != yaml.ScalarNode {
				continue
			}
			text := strings.TrimSpace(nodeText(e.value))
			if r.skill.DeclaredVersion == "" {
				r.skill.DeclaredVersion = text
			}
			v, err := skill.ParseVersion(text)
			if err == nil && r.skill.Version.IsZero() {
				r.skill.Version = v
			}
			if err != nil && key == versionKey {
				r.note(diag.VersionNotSemver, r.at(e.value), "%s; it is ignored", err.Error())
			}
		}
	}
}

// ownEntry reads one skillpm.* entry of metadata.
func (r *fieldReader) ownEntry(e field) {
	key := e.key.Value
	name, isRequire := strings.CutPrefix(key, requiresPrefix)
	switch {
	case isRequire:
		r.require(name, e)
	case key == retractKey:
		r.retract(e)
	case key == versionKey:
	case strings.HasPrefix(key, ownPrefix) || key == "skillpm":
		r.note(diag.FieldUnknown, r.at(e.key), "`metadata.%s` is nothing that skillpm reads", key).
			WithHint("it reads skillpm.requires.NAME, skillpm.version and skillpm.retract, one string each")
	}
}

func (r *fieldReader) require(name string, e field) {
	legal, err := skill.ParseName(name)
	if err != nil {
		r.problem(diag.DependencyName, r.at(e.key), "`%s` is no skill name: %s", name, err.Error()).
			WithHint("the key is skillpm.requires. and the required skill's own name")
		return
	}
	if e.value.Kind != yaml.ScalarNode {
		r.problem(diag.RequirementSyntax, r.at(e.value), "the requirement on `%s` is %s; expected one string", name, kindWords(e.value)).
			WithHint("write %s: \"^1.2\"", e.key.Value)
		return
	}
	text := nodeText(e.value)
	req, err := skill.ParseRequirement(text, CheckRange)
	if err != nil {
		r.requirementFault(name, e, err)
		return
	}
	dep := Dependency{Name: legal, Requirement: req, Text: text, Position: r.at(e.value)}
	r.requirementSource(dep)
	r.skill.Requires = append(r.skill.Requires, dep)
}

func (r *fieldReader) requirementFault(name string, e field, err error) {
	code, offset := diag.RequirementSyntax, 0
	if re, ok := errors.AsType[*skill.RequirementError](err); ok {
		offset = re.Offset
		switch re.Part {
		case skill.PartRange:
			code = diag.DependencyRange
		case skill.PartDigest:
			code = diag.DependencyDigest
		}
	}
	at := r.at(e.value)
	if e.value.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		at.Column += offset
		if !isPlain(e.value) {
			at.Column++ // the opening quote
		}
	}
	f := r.problem(code, at, "the requirement on `%s`: %s", name, err.Error())
	if code == diag.DependencyRange {
		f.WithHint("a range is like ^1.2, ~1.2.3, >=1.0 <2.0 or 1.2.3")
	}
}

// requirementSource judges where a requirement points. A path means something
// only beside the skill, so a fetched skill may not name one.
func (r *fieldReader) requirementSource(dep Dependency) {
	req := dep.Requirement
	switch {
	case req.Delegate != "":
		r.note(diag.DelegateReserved, dep.Position, "the requirement on `%s` says delegate:%s, which is reserved; resolution refuses it", dep.Name, req.Delegate)
	case !IsLocal(req.Source) || r.opt.local:
	case r.opt.fetched:
		r.problem(diag.SourceNotAllowed, dep.Position, "the requirement on `%s` points to `%s`, on the author's disk", dep.Name, req.Source).
			WithHint("the author must name the repository, or leave the source out for a skill of the same repository")
	default:
		r.note(diag.SourceNotAllowed, dep.Position, "the requirement on `%s` points to `%s`, which is refused once the skill is fetched", dep.Name, req.Source).
			WithHint("leave the source out for a skill of the same repository")
	}
	if r.opt.resolving && req.Ref != "" && !skill.IsObjectID(req.Ref) {
		r.note(diag.FloatingDependency, dep.Position, "the requirement on `%s` follows `ref:%s`; projects refuse a dependency that moves", dep.Name, req.Ref).
			WithHint("name a range, or the full commit")
	}
}

// IsLocal reports whether src lies on the reader's own disk (path: or file://).
// Such a source is legal in skills.toml and in path skills only.
func IsLocal(src skill.Source) bool {
	return src.Kind() == skill.SourcePath || src.Transport() == "file"
}

// CheckRange says whether r is a version range as Masterminds/semver/v3 reads
// it. It is the check to give to skill.ParseRequirement.
func CheckRange(r string) error {
	if len(r) > maxRange {
		return fmt.Errorf("longer than %d bytes", maxRange)
	}
	_, err := semver.NewConstraint(r)
	return err
}

// retract reads "<range> || <range>; <reason>".
func (r *fieldReader) retract(e field) {
	at := r.at(e.value)
	if e.value.Kind != yaml.ScalarNode {
		r.problem(diag.RequirementSyntax, at, "`metadata.%s` is %s; expected one string", retractKey, kindWords(e.value)).
			WithHint("write \"1.2.0 || >=2.0.0 <2.0.3; the reason\"")
		return
	}
	ranges, reason, _ := strings.Cut(nodeText(e.value), ";")
	out := &Retraction{Reason: strings.TrimSpace(reason)}
	for part := range strings.SplitSeq(ranges, "||") {
		part = strings.Join(strings.Fields(part), " ")
		if part == "" {
			r.problem(diag.DependencyRange, at, "`metadata.%s` names an empty range", retractKey).
				WithHint("write \"1.2.0 || >=2.0.0 <2.0.3; the reason\"")
			return
		}
		if err := CheckRange(part); err != nil {
			r.problem(diag.DependencyRange, at, "`metadata.%s`: `%s` is no version range: %v", retractKey, part, err)
			return
		}
		out.Ranges = append(out.Ranges, part)
	}
	r.skill.Retract = out
}
