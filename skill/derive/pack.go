package derive

import "github.com/skillpm/skillpm/skill"

// PackSchema is the schema of a ContextPack.
const PackSchema = "agently.skills.context_pack.v1"

// Bounds of a context pack.
const (
	DefaultPackBudget = 12_000    // code points, Agently's default
	MaxPackBudget     = 4_000_000 // beyond any model's context
	maxPackResource   = 6_000     // code points of one resource, Agently's default
	maxIndexRows      = 200       // rows of one skill's resource index
)

// Include says when a pack takes resources of one sort.
type Include string

// IncludeAuto takes files whose path holds a word of task or intent: references
// also where no word was given, examples also where the intent is to write code,
// assets never.
const (
	IncludeAuto   Include = "auto"
	IncludeAlways Include = "always"
	IncludeNever  Include = "never"
)

// PackOptions are the questions a pack answers. The zero value asks for
// everything about nothing in particular, in DefaultPackBudget.
type PackOptions struct {
	Task   string // what the caller is about to do, free text
	Intent string // a word or two, such as generate_code
	// Budget is the code points of all excerpts and contents together; 0 means
	// DefaultPackBudget. Negative or above MaxPackBudget is an error.
	Budget int
	// References, Examples and Assets choose; empty means IncludeAuto.
	References, Examples, Assets Include
}

// ContextPack is guidance and resources of some skills, cut to a budget. The
// same skills and options give the same pack. It runs nothing and proposes no
// action; a host that wants action candidates derives them from its own policy.
type ContextPack struct {
	// Schema and SchemaVersion are both PackSchema: the first is how skillpm's
	// documents name theirs, the second what Agently's readers look for.
	Schema        string           `json:"schema"`
	SchemaVersion string           `json:"schema_version"`
	Task          string           `json:"task"`
	Intent        string           `json:"intent"`
	BudgetChars   int              `json:"budget_chars"`
	UsedChars     int              `json:"used_chars"`
	Truncated     bool             `json:"truncated"`
	Skills        []PackSkill      `json:"skills"`
	Citations     []Citation       `json:"citations"`
	Diagnostics   []PackDiagnostic `json:"diagnostics"`
}

// PackSkill is one skill's part of a pack.
type PackSkill struct {
	SkillID       string         `json:"skill_id"`
	DisplayName   string         `json:"display_name"`
	Description   string         `json:"description"`
	Digest        skill.Digest   `json:"digest"`
	Guidance      *PackGuidance  `json:"guidance"`
	References    []PackResource `json:"references"`
	Examples      []PackResource `json:"examples"`
	Assets        []PackResource `json:"assets"`
	ResourceIndex []PackIndexRow `json:"resource_index"`
}

// PackGuidance is the beginning of SKILL.md's body.
type PackGuidance struct {
	Path      string `json:"path"`
	Excerpt   string `json:"excerpt"`
	Truncated bool   `json:"truncated"`
	Citation  string `json:"citation"`
}

// PackResource is the beginning of one file.
type PackResource struct {
	Path      string `json:"path"`
	Kind      string `json:"kind"` // reference, example or asset
	Content   string `json:"content"`
	Size      int64  `json:"size"`
	SHA256    string `json:"sha256"`
	Score     int    `json:"score"` // words of task and intent that the path holds
	Truncated bool   `json:"truncated"`
	Citation  string `json:"citation"`
}

// PackIndexRow names a file that can be asked for.
type PackIndexRow struct {
	Path   string `json:"path"`
	Kind   Kind   `json:"kind"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Citation names the bytes a part of the pack was taken from: the file's path
// below its skill, its own hash, and the digest of the tree.
type Citation struct {
	SkillID string       `json:"skill_id"`
	Path    string       `json:"path"`
	Digest  skill.Digest `json:"digest"` // of the file
	Tree    skill.Digest `json:"tree"`
}

// PackDiagnostic says what the pack lacks and why.
type PackDiagnostic struct {
	Level   string `json:"level"` // note
	Code    string `json:"code"`  // guidance_cut, resource_cut, resource_left_out, resource_not_text, index_cut
	SkillID string `json:"skill_id"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

// JSON returns the pack as a document, with a final newline.
func (p *ContextPack) JSON() ([]byte, error) { return marshal(p) }
