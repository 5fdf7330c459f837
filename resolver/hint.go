package resolver

import (
	"fmt"
	"slices"
)

// contestHint says how to settle a contest: in the root's own requirement if
// that is a party, else by override.
func (p *prover) contestHint(c *contest) string {
	name := c.target.name
	var own, other *incompat
	var parents []string
	for _, f := range c.parties {
		if f.parent == nil {
			own = f
			continue
		}
		other = f
		parents = append(parents, string(f.parent.name))
	}
	switch {
	case own != nil && own.edge.overridden:
		return fmt.Sprintf("change %s under [overrides] in skills.toml", name)
	case c.reason == NameSourceConflict && own == nil:
		return fmt.Sprintf("choose one source in skills.toml under [overrides], or drop one of %s", and(parents))
	case c.reason == NameSourceConflict:
		return fmt.Sprintf("choose one source in skills.toml: under [overrides], or give your own `%s` another key", name)
	case c.reason == DigestConflict:
		return fmt.Sprintf("compare the contents, then choose one in skills.toml: [overrides] %s = \"=X.Y.Z\" drops the pins", name)
	case own != nil && other != nil:
		if text := rangeText(other.edge); other.kind == kindRequires && other.edge.Ref == "" {
			return fmt.Sprintf("change `%s` in skills.toml to %q, or override it for all under [overrides]", name, text)
		}
		return fmt.Sprintf("change `%s` in skills.toml, or override it for all under [overrides]", name)
	}
	drop := "drop one of the two"
	if len(parents) > 2 {
		drop = "drop one of " + and(parents)
	}
	return "choose one in skills.toml under [overrides], or " + drop
}

// aloneHint says how to get something for a requirement that nothing satisfies.
func (p *prover) aloneHint(reason Reason, c *incompat) string {
	name, l := c.target.name, c.target.list
	source := ""
	if len(c.edge.Sources) > 0 {
		source = c.edge.Sources[len(c.edge.Sources)-1]
	}
	edit := fmt.Sprintf("change `%s` in skills.toml", name)
	table := ""
	switch {
	case c.edge.overridden:
		edit = fmt.Sprintf("change `%s` under [overrides] in skills.toml", name)
		table = "[overrides] "
	case c.parent != nil:
		edit = fmt.Sprintf("decide it under [overrides] in skills.toml, or ask the author of %s", c.parent.name)
		table = "[overrides] "
	}
	switch reason {
	case NotFound:
		if c.parent != nil {
			return fmt.Sprintf("name a source for it in skills.toml: %s = \"* OWNER/REPO//PATH\", or ask the author of %s", name, c.parent.name)
		}
		return fmt.Sprintf("check the source of `%s` in skills.toml: `skillpm versions %s` shows what is there", name, source)
	case NoVersions:
		if table == "" && source != "" { // the whole entry: a range alone would lose its source
			return fmt.Sprintf("follow a branch or a commit instead: %s = \"%s ref:main\" in skills.toml", name, source)
		}
		return fmt.Sprintf("follow a branch or a commit instead: %s%s = \"ref:main\" in skills.toml", table, name)
	case Offline:
		return "run it again without --offline, or fetch it first with `skillpm fetch`"
	case OnlyPrereleases:
		return fmt.Sprintf("to allow them: %s%s = %q in skills.toml", table, name, allowingPrereleases(c.edge, l))
	case OnlyRetracted:
		in := c.allows()
		if b := in.first(1); b > 0 && !l.cands[b-1].Version.IsZero() {
			return fmt.Sprintf("choose a version that stands, or name it exactly on purpose: %s%s = \"=%s\" in skills.toml", table, name, l.cands[b-1].Version)
		}
	case UnreadableSkill:
		return edit + "; `skillpm validate` shows what is wrong with a SKILL.md"
	case DisjointRanges:
		return "choose versions that go together under [overrides] in skills.toml"
	}
	if p.hiddenBy(c) != "" {
		return "wait, or take it on purpose with --min-age 0"
	}
	newest := newestStable(l)
	switch {
	case newest == "" || c.edge.Ref != "":
	case c.parent != nil && !c.edge.overridden:
		return fmt.Sprintf("the newest version is %s: [overrides] %s = \"=%s\" in skills.toml, or ask the author of %s", newest, name, newest, c.parent.name)
	default:
		return fmt.Sprintf("%s: the newest version is %s", edit, newest)
	}
	return edit
}

func newestStable(l *list) string {
	for i, c := range l.cands {
		if c.Version.Prerelease() == "" && !c.Version.IsZero() && !l.unusable(i) && !l.needsConsent(i) {
			return c.Version.String()
		}
	}
	return ""
}

// allowingPrereleases returns a range that admits the newest pre-release.
func allowingPrereleases(e *edge, l *list) string {
	for _, c := range l.cands {
		if c.Version.Prerelease() != "" && !c.Version.IsPseudo() && slices.Contains(e.Sources, c.Source) {
			return "=" + c.Version.String()
		}
	}
	return e.Range
}
