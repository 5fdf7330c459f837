package manifest

import (
	"strings"

	"github.com/skillpm/skillpm/internal/tomledit"
)

// foreignTool names the tool that a TOML file belongs to, or "". Other tools
// also call their manifest skills.toml; they are known by tables that ours has
// not (read from their sources and pages in 2026).
func foreignTool(root *tomledit.Value) string {
	has := func(names ...string) bool {
		for _, name := range names {
			if root.Field(name) != nil {
				return true
			}
		}
		return false
	}
	skills := root.Field("skills")
	listed := skills != nil && skills.Value.Kind == tomledit.KindArray && len(skills.Value.Items) > 0 && skills.Value.Items[0].Kind == tomledit.KindTable
	switch {
	case has("adapters", "bundles") || listed && has("version", "sources"):
		return "eddieran/skillpm"
	case has("install_targets"):
		return "skills-pkg"
	case has("subagents") || listed && has("agents"):
		return "getsentry/dotagents"
	case has("assets", "lock-version"):
		return "sx"
	case has("dependencies", "package"):
		return "sksup (skills-supply)"
	case has("require", "repositories") || skills != nil && !listed && composerNames(skills.Value):
		return "skillcask"
	case listed && skills.Value.Items[0].Field("id") != nil:
		return "FastSkill"
	case listed: // ours is a table, so this is somebody's list
		return "another tool"
	}
	return ""
}

// composerNames reports whether every key is vendor/package, as packages of
// Composer repositories are called; such a key is none of ours.
func composerNames(skills *tomledit.Value) bool {
	for _, f := range skills.Fields {
		if !strings.Contains(f.Name, "/") {
			return false
		}
	}
	return len(skills.Fields) > 0
}
