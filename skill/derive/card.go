package derive

import (
	"slices"
	"strings"

	"github.com/skillpm/skillpm/skill"
)

// Bounds of a decision card, as Agently cuts its own.
const (
	GuidanceExcerpt  = 1200 // code points of the body
	SummaryResources = 20   // resources that are summarised
	maxKeywords      = 32
	maxKeywordLength = 64
)

// Card is what a model sees of a skill before it chooses to read it. It carries
// what the skill declares and what its text suggests, never a permission.
type Card struct {
	SkillID         string            `json:"skill_id"`
	Name            string            `json:"name"`
	Description     string            `json:"description"`
	Version         string            `json:"version,omitempty"`
	Keywords        []string          `json:"keywords"`
	Compatibility   string            `json:"compatibility,omitempty"`
	GuidanceExcerpt string            `json:"guidance_excerpt"`
	ResourceSummary []ResourceSummary `json:"resource_summary"`
	// Checksum is the digest of the tree the card was made from; a card whose
	// checksum differs from the installed tree's is stale.
	Checksum skill.Digest `json:"checksum"`
	Scripts  []Script     `json:"scripts"`
	// ScriptsLeftOut counts scripts beyond the first 200.
	ScriptsLeftOut   int         `json:"scripts_left_out,omitempty"`
	FetchesAtRuntime bool        `json:"fetches_at_runtime"`
	Fetches          []Fetch     `json:"fetches,omitempty"`
	CapabilityNeeds  []Need      `json:"capability_needs"`
	Declares         Declares    `json:"declares"`
	Tokens           TokenCounts `json:"tokens"`
}

// ResourceSummary is one of the first resources of a card.
type ResourceSummary struct {
	Path    string `json:"path"`
	Kind    Kind   `json:"kind"`
	Summary string `json:"summary"`
}

// Declares is what the frontmatter says about powers, as its author wrote it.
type Declares struct {
	// AllowedTools is the text of allowed-tools, verbatim.
	AllowedTools string `json:"allowed_tools"`
	// Other names further fields that some client reads as a request for
	// powers: mcp, mcpServers, allow-scripts, allowed-actions and their like.
	Other []string `json:"other"`
}

// NewCard makes the card of s. Errors are those of s.Read.
func NewCard(s *Skill) (*Card, error) {
	summary, err := resourceSummary(s)
	if err != nil {
		return nil, err
	}
	scripts, leftOut, err := Scripts(s)
	if err != nil {
		return nil, err
	}
	excerpt, _ := cutRunes(strings.TrimSpace(string(s.Body())), GuidanceExcerpt)
	fetches := RuntimeFetches(s)
	return &Card{
		SkillID:          SkillID(s.key()),
		Name:             s.Name,
		Description:      s.Description,
		Version:          s.Version,
		Keywords:         keywords(s),
		Compatibility:    s.Compatibility,
		GuidanceExcerpt:  strings.ToValidUTF8(excerpt, "\ufffd"),
		ResourceSummary:  summary,
		Checksum:         s.Tree.Digest(),
		Scripts:          notNil(scripts),
		ScriptsLeftOut:   leftOut,
		FetchesAtRuntime: len(fetches) > 0,
		Fetches:          fetches,
		CapabilityNeeds:  notNil(Needs(s)),
		Declares:         declares(s),
		Tokens:           CountTokens(s),
	}, nil
}

func resourceSummary(s *Skill) ([]ResourceSummary, error) {
	rows, err := resources(s, SummaryResources)
	if err != nil {
		return nil, err
	}
	out := make([]ResourceSummary, 0, SummaryResources)
	for _, r := range rows[:min(len(rows), SummaryResources)] {
		out = append(out, ResourceSummary{Path: r.Path, Kind: r.Kind, Summary: r.Summary})
	}
	return out, nil
}

func declares(s *Skill) Declares {
	d := Declares{AllowedTools: s.AllowedTools, Other: []string{}}
	for _, field := range s.Other {
		if powerFields[lower(field)] {
			d.Other = append(d.Other, field)
		}
	}
	slices.Sort(d.Other)
	return d
}

// powerFields are the frontmatter fields that some client reads as a request
// for tools, servers, hooks or permissions; none is a grant here.
var powerFields = map[string]bool{
	"mcp": true, "mcpservers": true, "mcp-servers": true, "allow-scripts": true, "allowed-actions": true,
	"tools": true, "permissions": true, "hooks": true, "permission-mode": true, "permissionmode": true,
}

// keywords are metadata.keywords and metadata.tags, comma strings both, without
// repetition.
func keywords(s *Skill) []string {
	out := []string{}
	for _, key := range []string{"keywords", "tags"} {
		for word := range strings.SplitSeq(s.Metadata[key], ",") {
			word = oneLine(word, maxKeywordLength)
			if word != "" && !slices.Contains(out, word) && len(out) < maxKeywords {
				out = append(out, word)
			}
		}
	}
	return out
}

// SkillID returns name as Agently derives its identifiers: lower case, white
// space as hyphens, only a-z, 0-9, '.', '_' and '-' kept. For a name the
// specification allows it is the name itself.
func SkillID(name string) string {
	id := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return -1
	}, strings.Join(strings.Fields(strings.ToLower(name)), "-"))
	return strings.Trim(id, "-")
}

// notNil makes an empty list print as [] and not as null.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
