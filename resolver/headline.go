package resolver

import "fmt"

// contestHeadline names the parties and what they disagree about.
func (p *prover) contestHeadline(c *contest) string {
	var names []string
	for _, f := range c.parties {
		names = append(names, who(f))
	}
	what := "different versions of"
	switch c.reason {
	case NameSourceConflict:
		what = "skills from different sources for the name"
	case DigestConflict:
		what = "different contents of"
	}
	verb := "need"
	if len(names) == 1 {
		verb = "needs"
	}
	return fmt.Sprintf("%s %s %s `%s`", and(names), verb, what, c.target.name)
}

// aloneHeadline names the requirement that nothing satisfies, and why.
func (p *prover) aloneHeadline(reason Reason, c *incompat) string {
	name := "`" + string(c.target.name) + "`"
	l := c.target.list
	demand := rangeText(c.edge)
	by := ""
	if c.parent != nil && !c.edge.overridden {
		by = ", which " + who(c) + " requires,"
	}
	switch reason {
	case NotFound:
		why := c.edge.Missing
		if why == "" {
			why = l.notFound
		}
		if why != "" {
			why = ": " + why
		}
		return fmt.Sprintf("%s%s was not found%s", name, by, why)
	case NoVersions:
		return fmt.Sprintf("%s%s has no version tags for `%s` to choose from", name, by, demand)
	case Offline:
		return fmt.Sprintf("%s%s is not at hand offline", name, by)
	case UnreadableSkill:
		return fmt.Sprintf("no version of %s that satisfies `%s` can be read", name, demand)
	case OnlyRetracted:
		return fmt.Sprintf("every version of %s that satisfies `%s` was retracted", name, demand)
	case OnlyPrereleases:
		return fmt.Sprintf("only pre-releases of %s satisfy `%s`", name, demand)
	case DisjointRanges:
		if c.parent != nil {
			return fmt.Sprintf("no versions of `%s` and %s go together", c.parent.name, name)
		}
		return fmt.Sprintf("no version of %s works", name)
	}
	if hidden := p.hiddenBy(c); hidden != "" {
		return fmt.Sprintf("no version of %s that satisfies `%s` may be used yet: %s", name, demand, hidden)
	}
	from := ""
	if c.edge.overridden {
		from = ", set under [overrides]"
	}
	return fmt.Sprintf("no version of %s satisfies `%s`%s", name, demand, from)
}

// hiddenBy returns why the newest candidate that c admits is hidden, or "".
func (p *prover) hiddenBy(c *incompat) string {
	in := c.allows()
	if b := in.first(1); b > 0 && c.target.list.hidden != nil && c.target.list.hidden.has(b) {
		return c.target.list.cands[b-1].Hidden
	}
	return ""
}
