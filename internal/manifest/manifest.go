package manifest

import (
	"github.com/skillpm/skillpm/skill"
)

// FileName is the manifest's name; ConfigName that of the user's defaults.
const (
	FileName   = "skills.toml"
	ConfigName = "config.toml"
)

// Manifest is a project's skills.toml.
type Manifest struct {
	// File is the name given to Parse, for messages.
	File string
	// Skills stand in the order of the file.
	Skills []Skill
	// Overrides replace every requirement on a name, in the order of the file.
	Overrides []Skill
	Config
	// Trust is the part of [trust] that concerns contact, not judgement.
	Trust Trust

	// places is the position in Skills of each key, folded. Parse makes it, and
	// what it parsed is not changed.
	places map[string]int
}

// Skill is one line of [skills] or [overrides].
type Skill struct {
	Key         skill.Key
	Requirement skill.Requirement
	// Use is "required", "optional", or "" if the file does not say.
	Use string
	// Hold keeps the locked version until somebody asks for another.
	Hold bool
	// Line and Column are the key's place, from 1.
	Line, Column int
}

// Get returns the entry of key in [skills], or nil.
func (m *Manifest) Get(key string) *Skill {
	if m.places != nil {
		if s := m.Folded(skill.Key(key)); s != nil && string(s.Key) == key {
			return s
		}
		return nil
	}
	for i := range m.Skills {
		if string(m.Skills[i].Key) == key {
			return &m.Skills[i]
		}
	}
	return nil
}

// Folded returns the entry in [skills] of a parsed manifest whose key is key but
// for letter case, or nil.
func (m *Manifest) Folded(key skill.Key) *Skill {
	if i, ok := m.places[key.Fold()]; ok {
		return &m.Skills[i]
	}
	return nil
}

// Trust is what resolution needs of [trust]; package signing reads the rest.
type Trust struct {
	// Sources are globs of repositories that may be contacted.
	Sources []string
	// MinAge hides versions first seen later than that ("3d"), or is "".
	MinAge string
}

// Config are the settings that skills.toml and config.toml share. An empty value
// means "not set here".
type Config struct {
	Install    Install
	Registries []Named // name and index URL or file, in file order
	Mirrors    []Named // name and mirror address, in reading order
	Validate   Validate
	Git        Git
}

// Place is where something stands in a file, from 1.
type Place struct{ Line, Column int }

// Named is a name with an address.
type Named struct {
	Name, Address string
	Line, Column  int
}

// Install is the table [install].
type Install struct {
	// Agents are ids of package agents (see CheckAgents); Targets further directories.
	Agents, Targets []string
	// AgentPlaces are the places of Agents in their file.
	AgentPlaces []Place
	Link        string // copy, hardlink or symlink
	Expose      string // all or direct
	Unmanaged   string // note or refuse
	Validation  string // lenient or strict
	// MaxFiles, MaxBytes and MaxFileBytes raise skill.DefaultLimits; 0 is not set.
	MaxFiles, MaxBytes, MaxFileBytes int64
}

// Limits returns the limits of trees: the defaults, raised where set.
func (in Install) Limits() skill.Limits {
	l := skill.DefaultLimits
	l.Files = max(l.Files, int(in.MaxFiles))
	l.Bytes = max(l.Bytes, in.MaxBytes)
	l.FileBytes = max(l.FileBytes, in.MaxFileBytes)
	return l
}

// Validate is the table [validate]: what the flags of `validate` say otherwise.
type Validate struct {
	// Ignore are codes of notes that are not reported.
	Ignore []string
	// StrictSpec and AllowUnicodeNames are nil where they are not set.
	StrictSpec, AllowUnicodeNames *bool
	// Profile is the runtime whose further rules hold.
	Profile string
}

// Git is the table [git].
type Git struct {
	CLI string // auto, always or never
}
