package manifest

// foreignTool names the tool that a TOML file belongs to, or "". Other tools
// also call their manifest skills.toml; they are known by tables that ours has
// not (read from their sources in 2026).
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
	listed := skills != nil && skills.val.kind == kindArray
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
	case has("require", "repositories", "packages"):
		return "skillcask"
	}
	return ""
}
