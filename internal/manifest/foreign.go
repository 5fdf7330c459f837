package manifest

import "strings"

// foreignTool names the tool that a TOML file belongs to, or "". Other tools
// also call their manifest skills.toml; they are known by tables that ours has
// not (read from their sources and pages in 2026).
func foreignTool(list []statement) string {
	root := tree(list)
	has := func(names ...string) bool {
		for _, name := range names {
			if root.field(name) != nil {
				return true
			}
		}
		return false
	}
	skills := root.field("skills")
	listed := skills != nil && skills.val.kind == kindArray && len(skills.val.items) > 0 && skills.val.items[0].kind == kindTable
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
	case has("require", "repositories") || skills != nil && !listed && composerNames(skills.val):
		return "skillcask"
	case listed && skills.val.items[0].field("id") != nil:
		return "FastSkill"
	case listed: // ours is a table, so this is somebody's list
		return "another tool"
	}
	return ""
}

// composerNames reports whether every key is vendor/package, as packages of
// Composer repositories are called; such a key is none of ours.
func composerNames(skills *value) bool {
	for _, f := range skills.fields {
		if !strings.Contains(f.name, "/") {
			return false
		}
	}
	return len(skills.fields) > 0
}
