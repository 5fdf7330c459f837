package derive

import (
	"encoding/hex"

	"github.com/skillpm/skillpm/skill"
)

// Origin is where a locked skill came from, for export documents.
type Origin struct {
	Type    string // git, index or path
	URL     string // the lock's source.url
	Ref     string // tag or ref, as locked
	Commit  string
	Subpath string
}

// TrustLevel is Agently's word for how a skill arrived: local or remote. It says
// nothing of its signature.
func (o Origin) TrustLevel() string {
	if o.Type == "path" {
		return "local"
	}
	return "remote"
}

// ExportFile is one file of an export, to be written by the caller.
type ExportFile struct {
	Path string // '/'-separated, relative to the export's directory
	Data []byte
}

type agentlyInstall struct {
	SkillID    string       `json:"skill_id"`
	Name       string       `json:"name"`
	Version    string       `json:"version,omitempty"`
	TrustLevel string       `json:"trust_level"`
	Source     agentlySrc   `json:"source"`
	Checksum   skill.Digest `json:"checksum"`
}

type agentlySrc struct {
	Type    string `json:"type"`
	URL     string `json:"url"`
	Ref     string `json:"ref"`
	Commit  string `json:"commit"`
	Subpath string `json:"subpath"`
}

// agentlyCard is Agently's decision card. The keys only_when, exclude_when,
// not_for, required_context and availability must never appear: Agently throws
// a card with one of them away.
type agentlyCard struct {
	SkillID         string            `json:"skill_id"`
	Name            string            `json:"name"`
	Description     string            `json:"description"`
	Keywords        []string          `json:"keywords"`
	GuidanceExcerpt string            `json:"guidance_excerpt"`
	ResourceSummary []ResourceSummary `json:"resource_summary"`
	CapabilityNeeds []Need            `json:"capability_needs"`
	Declares        Declares          `json:"declares"`
	Checksum        skill.Digest      `json:"checksum"`
}

type agentlyIndex struct {
	SkillID   string       `json:"skill_id"`
	Checksum  skill.Digest `json:"checksum"`
	Resources []Resource   `json:"resources"`
}

type agentlyChecksums struct {
	SkillID string `json:"skill_id"`
	// Checksum covers every file with its mode and size: more than Agently's
	// own root checksum, which leaves out files beside the three directories.
	Checksum skill.Digest      `json:"checksum"`
	Files    map[string]string `json:"files"` // path to 64 hex digits, sorted when written
}

// Agently returns the four files that Agently keeps about an installed skill:
// checksums.json, decision_card.json, install.json and resource_index.json.
// They belong beside a copy of the skill, never into it. Errors are those of
// s.Read.
func Agently(s *Skill, origin Origin) ([]ExportFile, error) {
	card, err := NewCard(s)
	if err != nil {
		return nil, err
	}
	rows, err := Resources(s)
	if err != nil {
		return nil, err
	}
	sums := agentlyChecksums{SkillID: card.SkillID, Checksum: card.Checksum, Files: map[string]string{}}
	for _, f := range s.Tree.Files() {
		sums.Files[f.Path] = hex.EncodeToString(f.SHA256[:])
	}
	documents := []struct {
		name string
		v    any
	}{
		{"checksums.json", sums},
		{"decision_card.json", agentlyCard{
			SkillID: card.SkillID, Name: card.Name, Description: card.Description, Keywords: card.Keywords,
			GuidanceExcerpt: card.GuidanceExcerpt, ResourceSummary: card.ResourceSummary,
			CapabilityNeeds: card.CapabilityNeeds, Declares: card.Declares, Checksum: card.Checksum,
		}},
		{"install.json", agentlyInstall{
			SkillID: card.SkillID, Name: s.Name, Version: s.Version, TrustLevel: origin.TrustLevel(), Checksum: card.Checksum,
			Source: agentlySrc{Type: origin.Type, URL: origin.URL, Ref: origin.Ref, Commit: origin.Commit, Subpath: origin.Subpath},
		}},
		{"resource_index.json", agentlyIndex{SkillID: card.SkillID, Checksum: card.Checksum, Resources: rows}},
	}
	files := make([]ExportFile, len(documents))
	for i, d := range documents {
		data, err := marshal(d.v)
		if err != nil {
			return nil, err
		}
		files[i] = ExportFile{Path: d.name, Data: data}
	}
	return files, nil
}
