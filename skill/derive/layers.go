package derive

import (
	"fmt"
	"strings"

	"github.com/skillpm/skillpm/skill"
)

// Installed is one installed skill as an export document names it.
type Installed struct {
	Key         string
	Name        string
	Description string
	Path        string // of the skill's directory, as the reader will open it
	Digest      skill.Digest
	// TrainingMode is the mode of the skill's training.zon: runtime, trainable
	// or hybrid; empty where it has none.
	TrainingMode string
}

// Clever returns the `agent_skills` section of a CleverAgents skill file: the
// directories to look in, with the name, the digest and the source tag that its
// registry uses. Strings are quoted as JSON, which YAML reads alike.
func Clever(skills []Installed) ([]byte, error) {
	if len(skills) == 0 {
		return []byte("agent_skills: []\n"), nil
	}
	var b strings.Builder
	b.WriteString("agent_skills:\n")
	for _, s := range skills {
		path, err := quote(s.Path)
		if err != nil {
			return nil, err
		}
		name, err := quote(s.Name)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "  - path: %s\n    name: %s\n    source_tag: agent_skill\n", path, name)
		if s.Digest != "" {
			fmt.Fprintf(&b, "    digest: %s\n", s.Digest)
		}
	}
	return []byte(b.String()), nil
}

// quote returns s as a JSON string on one line that YAML reads alike: what YAML
// calls not printable and JSON leaves bare is escaped, too.
func quote(s string) (string, error) {
	data, err := marshal(s)
	var b strings.Builder
	for _, r := range strings.TrimSuffix(string(data), "\n") {
		if r >= 0x7f && r < 0xa0 || r == 0xfeff {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String(), err
}

// Layer is who wrote a set of skills, which decides what reading one needs.
type Layer string

// The layers, in the order of precedence: the first that has a name keeps it.
const (
	LayerOperator Layer = "operator" // the person's own, in their configuration
	LayerProject  Layer = "project"  // came with the project
	LayerPackaged Layer = "packaged" // came with the environment
)

// Default returns what a runtime does when a skill of the layer is read and no
// rule says otherwise: allow or ask.
func (l Layer) Default() string {
	if l == LayerOperator {
		return "allow"
	}
	return "ask"
}

// LayerSkills are the skills of one layer, in the order of its lock.
type LayerSkills struct {
	Layer  Layer
	Path   string // the layer's directory
	Skills []Installed
}

type chockExport struct {
	Schema string       `json:"schema"`
	Layers []chockLayer `json:"layers"`
}

type chockLayer struct {
	Layer   Layer        `json:"layer"`
	Path    string       `json:"path"`
	Action  string       `json:"action"`
	Default string       `json:"default"`
	Skills  []chockSkill `json:"skills"`
}

type chockSkill struct {
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Path        string       `json:"path"`
	Digest      skill.Digest `json:"digest,omitempty"`
	Prompt      bool         `json:"prompt"`
	Shadowed    bool         `json:"shadowed,omitempty"`
}

// Chock returns a JSON document of the layers and their skills for Chock: the
// action a read is judged under (skill.read.<layer>; a skill's name never enters
// the action's), the layer's default, and for each skill whether it belongs into
// a prompt (not where it is a training target alone) and whether an earlier
// layer already has its name.
func Chock(layers []LayerSkills) ([]byte, error) {
	doc := chockExport{Schema: "skillpm.chock.v1", Layers: []chockLayer{}}
	taken := map[string]bool{}
	for _, l := range layers {
		out := chockLayer{
			Layer: l.Layer, Path: l.Path, Action: "skill.read." + string(l.Layer), Default: l.Layer.Default(), Skills: []chockSkill{},
		}
		for _, s := range l.Skills {
			out.Skills = append(out.Skills, chockSkill{
				Name: s.Name, Description: s.Description, Path: s.Path, Digest: s.Digest,
				Prompt: s.TrainingMode != "trainable", Shadowed: taken[s.Name],
			})
			taken[s.Name] = true
		}
		doc.Layers = append(doc.Layers, out)
	}
	return marshal(doc)
}
