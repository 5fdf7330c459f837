package parse

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// TrainingFile is the name of the training contract at a skill's root.
const TrainingFile = "training.zon"

const (
	trainingSchema  = "chock.skill-training"
	trainingVersion = "1"
)

// The modes of a training contract.
const (
	ModeRuntime   = "runtime"   // for the prompt only: no adapter, no suites
	ModeTrainable = "trainable" // a training target, not for a prompt
	ModeHybrid    = "hybrid"    // both
)

var trainingModes = []string{ModeRuntime, ModeTrainable, ModeHybrid}

// suiteNames are in the order of the lock.
var suiteNames = []string{"train", "validation", "test"}

// Training is a valid training.zon. It grants nothing: it says whether the
// skill is for a prompt, for training, or both.
type Training struct {
	Schema  string // chock.skill-training
	Version int    // 1
	Skill   string
	Mode    string // runtime, trainable or hybrid
	Adapter string // empty in mode runtime, and where none is named
	// Suites holds train, validation and test in this order; empty in mode
	// runtime.
	Suites []Suite
	SHA256 skill.Digest // of training.zon itself
}

// Suite is one named file of examples.
type Suite struct {
	Name string // train, validation or test
	Path string // clean slash path inside the skill
	// HeldOut says that neither training nor selection may see the suite: it is
	// the test suite.
	HeldOut  bool
	Position Position
}

// ReadTraining reads a training.zon strictly: literals only, every field known,
// none twice. name is the skill's declared name; empty leaves that rule out. The
// Training is nil if there is any finding. Whether the suites exist is the
// caller's to check: their paths are clean and relative.
func ReadTraining(data []byte, name string) (*Training, diag.List) {
	r := trainingReader{findings: findings{file: TrainingFile}}
	t := r.read(data, name)
	if len(r.list) > 0 {
		return nil, r.list
	}
	return t, nil
}

type trainingReader struct {
	findings
}

func (r *trainingReader) read(data []byte, name string) *Training {
	root, err := parseZon(string(data))
	if err != nil {
		r.problem(diag.TrainingSyntax, err.at, "%s", err.message)
		return nil
	}
	if root.kind != zonStruct {
		r.problem(diag.TrainingSyntax, root.at, "the contract is %s; expected a struct of named fields", root.kind)
		return nil
	}
	fields := r.fields(root, "schema", "version", "skill", "mode", "adapter", "suites")
	if !r.identity(root, fields) {
		return nil // another schema has other fields
	}
	t := &Training{Schema: trainingSchema, Version: 1, SHA256: skill.DigestOf(data)}
	t.Skill = r.skillName(root, fields, name)
	t.Mode = r.mode(root, fields)
	if t.Mode == ModeRuntime {
		r.runtime(fields)
		return t
	}
	t.Adapter = r.adapter(fields)
	t.Suites = r.suites(root, fields, t.Mode)
	return t
}

// fields returns the struct's fields by name and reports those not known.
func (r *trainingReader) fields(v zonValue, known ...string) map[string]zonField {
	byName := map[string]zonField{}
	for _, f := range v.fields {
		if !slices.Contains(known, f.name) {
			r.problem(diag.TrainingSchema, f.at, "`.%s` is no field here; expected %s", f.name, strings.Join(known, ", "))
			continue
		}
		byName[f.name] = f
	}
	return byName
}

func (r *trainingReader) identity(root zonValue, fields map[string]zonField) bool {
	schema, ok := fields["schema"]
	if !ok {
		r.problem(diag.TrainingSchema, root.at, "the field `.schema` is missing; expected %q", trainingSchema)
		return false
	}
	if schema.value.kind != zonString || schema.value.text != trainingSchema {
		r.problem(diag.TrainingSchema, schema.value.at, "the schema is %s; expected %q", describe(schema.value), trainingSchema)
		return false
	}
	version, ok := fields["version"]
	if !ok {
		r.problem(diag.TrainingSchema, root.at, "the field `.version` is missing; expected %s", trainingVersion)
		return false
	}
	if version.value.kind != zonNumber || version.value.text != trainingVersion {
		r.problem(diag.TrainingSchema, version.value.at, "the version is %s; expected %s", describe(version.value), trainingVersion)
		return false
	}
	return true
}

func describe(v zonValue) string {
	switch v.kind {
	case zonString:
		return fmt.Sprintf("%q", shorten(v.text, 60))
	case zonEnum:
		return "`." + shorten(v.text, 60) + "`"
	case zonNumber, zonWord:
		return "`" + shorten(v.text, 60) + "`"
	}
	return v.kind.String()
}

func (r *trainingReader) skillName(root zonValue, fields map[string]zonField, name string) string {
	f, ok := fields["skill"]
	switch {
	case !ok:
		r.problem(diag.TrainingSkillName, root.at, "the field `.skill` is missing; expected the skill's name")
	case f.value.kind != zonString:
		r.problem(diag.TrainingSkillName, f.value.at, "`.skill` is %s; expected the skill's name in quotes", describe(f.value))
	case name != "" && f.value.text != name:
		r.problem(diag.TrainingSkillName, f.value.at, "`.skill` is %s but the skill's name is `%s`", describe(f.value), name)
	}
	return f.value.text
}

func (r *trainingReader) mode(root zonValue, fields map[string]zonField) string {
	f, ok := fields["mode"]
	switch {
	case !ok:
		r.problem(diag.TrainingSchema, root.at, "the field `.mode` is missing; expected .runtime, .trainable or .hybrid")
	case f.value.kind != zonEnum || !slices.Contains(trainingModes, f.value.text):
		r.problem(diag.TrainingSchema, f.value.at, "the mode is %s; expected .runtime, .trainable or .hybrid", describe(f.value))
	}
	return f.value.text
}

// runtime refuses what only training needs.
func (r *trainingReader) runtime(fields map[string]zonField) {
	for _, name := range []string{"adapter", "suites"} {
		if f, ok := fields[name]; ok {
			r.problem(diag.TrainingRuntimeNames, f.at, "mode .runtime is for the prompt alone and must not name `.%s`", name)
			return
		}
	}
}

func (r *trainingReader) adapter(fields map[string]zonField) string {
	f, ok := fields["adapter"]
	if ok && (f.value.kind != zonString || strings.TrimSpace(f.value.text) == "") {
		r.problem(diag.TrainingSchema, f.value.at, "`.adapter` is %s; expected a name in quotes", describe(f.value))
	}
	return f.value.text
}

func (r *trainingReader) suites(root zonValue, fields map[string]zonField, mode string) []Suite {
	f, ok := fields["suites"]
	if !ok {
		if slices.Contains(trainingModes, mode) {
			r.problem(diag.TrainingSuiteMissing, root.at, "the field `.suites` is missing; mode .%s names train, validation and test", mode)
		}
		return nil
	}
	if f.value.kind != zonStruct {
		r.problem(diag.TrainingSuiteMissing, f.value.at, "`.suites` is %s; expected .{ .train = …, .validation = …, .@\"test\" = … }", describe(f.value))
		return nil
	}
	named := r.fields(f.value, suiteNames...)
	var suites []Suite
	for _, name := range suiteNames {
		s, ok := named[name]
		if !ok {
			r.problem(diag.TrainingSuiteMissing, f.value.at, "the suite `%s` is missing", name)
			continue
		}
		if clean := r.suitePath(name, s); clean != "" {
			suites = append(suites, Suite{Name: name, Path: clean, HeldOut: name == "test", Position: s.value.at})
		}
	}
	r.heldOut(suites)
	return suites
}

// heldOut refuses a test suite that is also trained or selected on.
func (r *trainingReader) heldOut(suites []Suite) {
	for _, s := range suites {
		for _, other := range suites {
			if s.HeldOut && !other.HeldOut && skill.FoldPath(s.Path) == skill.FoldPath(other.Path) {
				r.problem(diag.TrainingPath, s.Position, "the test suite is the file of `%s`; it must be held out", other.Name)
				return
			}
		}
	}
}

func (r *trainingReader) suitePath(name string, s zonField) string {
	if s.value.kind != zonString {
		r.problem(diag.TrainingPath, s.value.at, "the suite `%s` is %s; expected a path in quotes", name, describe(s.value))
		return ""
	}
	text := s.value.text
	if why := climbs(text); why != "" {
		r.problem(diag.TrainingPath, s.value.at, "the suite `%s`, %s, %s; expected a path inside the skill", name, describe(s.value), why)
		return ""
	}
	clean := path.Clean(text)
	if err := skill.CheckPath(clean); text == "" || err != nil || clean == "." {
		r.problem(diag.TrainingPath, s.value.at, "the suite `%s`, %s, is no path to a file inside the skill", name, describe(s.value))
		return ""
	}
	return clean
}
