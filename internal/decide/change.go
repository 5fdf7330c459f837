package decide

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/install"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/signing"
	"github.com/skillpm/skillpm/skill"
)

// Action says what happened to a skill.
type Action string

// The actions.
const (
	Added      Action = "added"
	Updated    Action = "updated"
	Downgraded Action = "downgraded"
	Removed    Action = "removed"
	Moved      Action = "moved" // another source or commit of the same version
	Kept       Action = "kept"
)

// SkillChange is one skill of a Change.
type SkillChange struct {
	Key    string       `json:"key"`
	Action Action       `json:"action"`
	From   string       `json:"from,omitempty"` // version before
	To     string       `json:"to,omitempty"`   // version after
	Source string       `json:"source,omitempty"`
	Digest skill.Digest `json:"digest,omitempty"`
	// Signature is the judgement in words, such as "not signed".
	Signature string `json:"signature,omitempty"`
	State     string `json:"state,omitempty"`
	// Carries names what a person should look at: scripts, broad tool grants,
	// host configuration, binaries.
	Carries []string `json:"carries,omitempty"`
	Files   int64    `json:"files,omitempty"`
	Bytes   int64    `json:"bytes,omitempty"`
	// Transitive says that no line of skills.toml asks for it.
	Transitive bool `json:"transitive,omitempty"`
	// Disk is what was done on disk: create, replace, remove, adopt, keep.
	Disk string `json:"disk,omitempty"`
}

// Change is what add, remove, install, lock or update did, or would do.
type Change struct {
	Skills  []SkillChange `json:"skills"`
	Targets []string      `json:"targets"`
	// DryRun says that nothing was written, Frozen that the lock was only read.
	DryRun bool `json:"dryRun,omitempty"`
	Frozen bool `json:"frozen,omitempty"`
	// LockChanged says that skills.lock has new bytes.
	LockChanged bool `json:"lockChanged"`
	// UpToDate says that disk and lock were already as wanted.
	UpToDate bool `json:"upToDate"`
	// Unmanaged are skills in a target that nobody ordered.
	Unmanaged []string `json:"unmanaged,omitempty"`
	// Plan lists what happens to each place on disk.
	Plan []install.Action `json:"plan,omitempty"`
	// Behind are skills not at the newest version their requirements allow.
	Behind []Behind `json:"behind,omitempty"`
	// Explained says why each skill has its version, if that was asked for.
	Explained []Explanation `json:"explained,omitempty"`
	// Skipped are skills that `add --all` could not take, with the reason.
	Skipped []SkippedSkill `json:"skipped,omitempty"`
	// NoInstall says that the disk was left alone.
	NoInstall bool `json:"noInstall,omitempty"`
}

// Behind is a skill for which a newer version exists.
type Behind struct {
	Key     string   `json:"key"`
	Version string   `json:"version"`
	Newest  string   `json:"newest"`
	Because []string `json:"because,omitempty"`
}

// SkippedSkill is a skill that was left out, with its finding.
type SkippedSkill struct {
	Path    string    `json:"path"`
	Code    diag.Code `json:"code"`
	Message string    `json:"message"`
}

// LockChanges compares two locks entry by entry; either may be nil. The order is
// the new lock's, removed entries after it.
func LockChanges(old, new *lockfile.Lock) []SkillChange {
	var out []SkillChange
	before, after := workspace.EntriesByKey(old), workspace.EntriesByKey(new)
	if new != nil {
		for _, e := range new.Skills {
			c := SkillChange{
				Key: e.Key, Action: Added, To: e.Version, Digest: e.Digest, Source: workspace.SourceText(e),
				Files: e.Size.Files, Bytes: e.Size.Body + e.Size.Resources,
			}
			_, direct := new.Root.Requires[e.Key]
			c.Transitive = !direct
			if o := before[e.Key]; o != nil {
				c.From, c.Action = o.Version, compareEntries(o, e)
			}
			out = append(out, c)
		}
	}
	if old != nil {
		for _, o := range old.Skills {
			if after[o.Key] == nil {
				out = append(out, SkillChange{Key: o.Key, Action: Removed, From: o.Version, Source: workspace.SourceText(o), Digest: o.Digest})
			}
		}
	}
	return out
}

func compareEntries(o, e *lockfile.Entry) Action {
	if o == e {
		return Kept
	}
	ov, oerr := skill.ParseVersion(o.Version)
	ev, eerr := skill.ParseVersion(e.Version)
	if oerr == nil && eerr == nil {
		switch c := ev.Compare(ov); {
		case c > 0:
			return Updated
		case c < 0:
			return Downgraded
		}
	}
	if o.Digest != e.Digest || o.Source.Commit != e.Source.Commit || workspace.SourceText(o) != workspace.SourceText(e) || o.Version != e.Version {
		return Moved
	}
	return Kept
}

// Carries names what in a skill deserves a look before an agent obeys it.
func Carries(e *lockfile.Entry, tree *skill.Tree) []string {
	found := map[string]bool{}
	for _, f := range tree.Files() {
		base := path.Base(f.Path)
		switch {
		case f.Exec, ScriptSuffix[path.Ext(base)]:
			found["scripts"] = true
		case binarySuffix[path.Ext(base)]:
			found["binaries"] = true
		}
		if hostConfig(f.Path) {
			found["host configuration"] = true
		}
	}
	if broadTools(e.AllowedTools) {
		found["broad tool grants"] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// ScriptSuffix are the endings of files that something executes.
var ScriptSuffix = map[string]bool{
	".sh": true, ".bash": true, ".zsh": true, ".py": true, ".js": true, ".mjs": true, ".cjs": true, ".ts": true,
	".rb": true, ".pl": true, ".ps1": true, ".bat": true, ".cmd": true, ".php": true, ".lua": true,
}

var binarySuffix = map[string]bool{
	".exe": true, ".dll": true, ".so": true, ".dylib": true, ".wasm": true, ".pyc": true, ".jar": true, ".node": true,
}

// hostConfig recognises files that give a skill powers beyond text in some
// client.
func hostConfig(file string) bool {
	return file == ".mcp.json" || file == "plugin.json" || file == ".claude-plugin/plugin.json" ||
		strings.HasPrefix(file, "hooks/") || file == "agents/openai.yaml"
}

// broadTools reports whether allowed-tools names an unscoped shell or all.
func broadTools(text string) bool {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		if word == "*" || word == "Bash" || word == "Bash(*)" || word == "Bash(*:*)" || word == "Shell" {
			return true
		}
	}
	return false
}

// Annotate adds the judgement of one skill and what it carries.
func (c *Change) Annotate(key string, v signing.Verdict, carried []string) {
	for i := range c.Skills {
		if c.Skills[i].Key == key {
			c.Skills[i].Signature, c.Skills[i].State, c.Skills[i].Carries = v.Summary(), string(v.State), carried
		}
	}
}

// Disk adds what happens to each skill on disk.
func (c *Change) Disk(actions []install.Action) {
	rank := map[install.Kind]int{install.Keep: 1, install.Adopt: 2, install.Create: 3, install.Replace: 4, install.Remove: 5}
	best := map[string]install.Kind{}
	for _, a := range actions {
		key := string(a.Key)
		if a.Kind == install.Unmanaged {
			c.Unmanaged = append(c.Unmanaged, a.Path())
			continue
		}
		if rank[a.Kind] > rank[best[key]] {
			best[key] = a.Kind
		}
	}
	for i := range c.Skills {
		c.Skills[i].Disk = string(best[c.Skills[i].Key])
	}
}

func asFailure(err error) (*resolver.Failure, bool) { return errors.AsType[*resolver.Failure](err) }

func pathLocked(l *lockfile.Lock, e *lockfile.Entry, src skill.Source, u *Provider) resolver.Locked {
	v, _ := skill.ParseVersion(e.Version)
	c := resolver.Candidate{Name: skill.Key(e.Key), Source: src.Identity(), Version: v, Local: true}
	u.Remember(c, Candidate{Source: src})
	return resolver.Locked{Candidate: c, Edges: lockedEdges(l, e, src, u)}
}
