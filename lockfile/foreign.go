package lockfile

import "strings"

// Several tools write a file named skills.lock or can be taken for one. They
// are known by their fields, as read from their sources in 2026; a file that
// merely fails to parse is corrupt, not foreign.

// foreignTool names the tool that text belongs to, or "". n is the text as
// JSON, nil if it is none.
func foreignTool(text string, n *node) string {
	if n == nil {
		return foreignText(text)
	}
	if n.kind != kindObject {
		return ""
	}
	o := &object{n: n}
	if f := o.take("format"); f != nil {
		if f.value.kind == kindString && f.value.text != Format && f.value.text != "" {
			return "a tool whose format is called `" + clip(f.value.text) + "`"
		}
		return ""
	}
	return foreignJSON(o)
}

// clip keeps a foreign word short in a message.
func clip(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

func foreignJSON(o *object) string {
	has := func(names ...string) bool {
		for _, name := range names {
			if o.take(name) != nil {
				return true
			}
		}
		return false
	}
	entry := firstSkill(o)
	inEntry := func(names ...string) bool {
		for _, name := range names {
			if entry != nil && entry.take(name) != nil {
				return true
			}
		}
		return false
	}
	switch {
	case has("lockVersion"):
		return "" // ours, with its format field lost
	case has("generated_by"):
		return "skillpack"
	case inEntry("computedHash", "sourceType", "skillFolderHash"):
		return "vercel-labs/skills (`npx skills`)"
	case inEntry("ownerHandle", "trustLabel"):
		return "clawhub"
	case has("lockfileVersion") && inEntry("spec"):
		return "luisalima's skills installer"
	case has("lockfileVersion"):
		return "tank"
	case has("version") && has("skills"):
		return "pcomans/skills-lock"
	}
	return ""
}

// firstSkill returns the first entry of a foreign `skills`, map or list.
func firstSkill(o *object) *object {
	f := o.take("skills")
	if f == nil {
		return nil
	}
	var n *node
	switch {
	case len(f.value.fields) > 0:
		n = f.value.fields[0].value
	case len(f.value.items) > 0:
		n = f.value.items[0]
	}
	if n == nil || n.kind != kindObject {
		return nil
	}
	return &object{n: n}
}

// foreignText recognises TOML and YAML locks by the start of their lines.
func foreignText(text string) string {
	if strings.HasPrefix(strings.TrimLeft(text, " \t\n\ufeff"), "{") {
		return ""
	}
	starts := map[string]bool{}
	for line := range strings.Lines(text) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		word, _, _ = strings.Cut(word, "=")
		starts[strings.TrimSuffix(word, ":")] = true
	}
	for _, sign := range []struct{ word, tool string }{
		{"skillRef", "eddieran/skillpm"}, {"resolvedVersion", "eddieran/skillpm"},
		{"lock-version", "sx"}, {"[[assets]]", "sx"},
		{"lockfile_version", "microsoft/apm"}, {"apm_version", "microsoft/apm"},
		{"resolvedReference", "stacklok/toolhive"}, {"contentDigest", "stacklok/toolhive"},
		{"installed-name", "agr"}, {"[[skill]]", "skillcask"},
		{"resolved_url", "getsentry/dotagents"},
		{"lockfileVersion", "spm"},
		{"[[skills]]", "skillcask"}, {"[skills]", "skillcask"}, {"[[package]]", "skillcask"},
	} {
		if starts[sign.word] {
			return sign.tool
		}
	}
	if starts["version"] && (starts["skills"] || starts["[[skills]]"]) {
		return "another tool"
	}
	return ""
}
