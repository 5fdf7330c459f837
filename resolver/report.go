package resolver

import (
	"fmt"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// unsolvable reports the latest failed search.
func (s *session) unsolvable() *Failure {
	p := newProver(s.failed)
	reason, about, alone := p.reasonOf()
	f := &Failure{Code: diag.SubskillUnresolved, Reason: reason}
	if reason == NoVersions {
		f.Code = diag.NoVersions
	}
	switch {
	case about != nil:
		f.Headline = p.contestHeadline(about)
		f.Hint = p.contestHint(about)
		for _, c := range about.parties {
			f.Why = append(f.Why, p.whyPath(c))
			f.Culprits = append(f.Culprits, culprits(c)...)
		}
	case alone != nil:
		f.Headline = p.aloneHeadline(reason, alone)
		f.Hint = p.aloneHint(reason, alone)
		f.Why = []Path{p.whyPath(alone)}
		f.Culprits = culprits(alone)
	default:
		f.Headline = "no combination of versions works"
	}
	f.Proof = p.write()
	f.Why = uniquePaths(f.Why)
	slices.Sort(f.Culprits)
	f.Culprits = slices.Compact(f.Culprits)
	return f
}

func culprits(c *incompat) []skill.Key {
	names := []skill.Key{c.target.name}
	if c.parent != nil {
		names = append(names, c.parent.name)
	}
	return names
}

// who names the one who requires, for headlines.
func who(c *incompat) string {
	switch {
	case c.edge.overridden && c.parent == nil:
		return "[overrides]"
	case c.parent == nil:
		return "your project"
	}
	return "`" + string(c.parent.name) + "`"
}

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

func (p *prover) aloneHeadline(reason Reason, c *incompat) string {
	name := "`" + string(c.target.name) + "`"
	l := c.target.list
	demand := rangeText(c.edge)
	by := ""
	if c.parent != nil && !c.edge.overridden {
		by = ", which " + p.requirer(c) + " requires,"
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

func (p *prover) requirer(c *incompat) string {
	return "`" + string(c.parent.name) + "`"
}

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

// whyPath returns a way from the root to a requirement over what the failed
// search has seen: shortest first, newest versions.
func (p *prover) whyPath(c *incompat) Path {
	end := Step{Name: string(c.target.name)}
	if c.parent == nil {
		return Path{{Name: p.project(), Requires: c.edge.text(), Chain: c.edge.Chain}, end}
	}
	cand := c.terms[0].in.first(1) - 1
	path := p.pathToCandidate(c.parent.name, cand)
	last := &path[len(path)-1]
	last.Requires, last.Chain = c.edge.text(), c.edge.Chain
	return append(path, end)
}

// pathToCandidate searches breadth first, from the root, along compiled edges
// that admit the candidate each step names.
func (p *prover) pathToCandidate(name skill.Key, cand int) Path {
	type node struct {
		pkg  *pkg
		cand int
		from int
		edge *edge
	}
	original := p.search
	var queue []node
	seen := map[*pkg]bool{}
	visit := func(from int, g *group) {
		at := g.target
		if at.name == name {
			if g.allows.has(cand + 1) {
				queue = append(queue, node{at, cand, from, g.edge})
			}
			return
		}
		if seen[at] {
			return
		}
		for b := g.allows.first(1); b > 0; b = g.allows.first(b + 1) {
			if len(at.deps[b-1]) > 0 {
				seen[at] = true
				queue = append(queue, node{at, b - 1, from, g.edge})
			}
		}
	}
	for _, e := range original.root {
		if g := original.roots[e.key]; g != nil {
			visit(-1, g)
		}
	}
	for i := 0; i < len(queue); i++ {
		n := queue[i]
		if n.pkg.name != name {
			for _, d := range n.pkg.deps[n.cand] {
				visit(i, d.group)
			}
			continue
		}
		path := Path{}
		for j := i; j >= 0; j = queue[j].from {
			c := queue[j].pkg.list.cands[queue[j].cand]
			path = append(path, Step{Name: string(c.Name), Version: c.Version.String(), Source: c.Source})
		}
		root := Step{Name: p.project()}
		path = append(path, root)
		slices.Reverse(path)
		at := len(path) - 2
		for j := i; j >= 0; j = queue[j].from {
			path[at].Requires, path[at].Chain = queue[j].edge.text(), queue[j].edge.Chain
			at--
		}
		return path
	}
	c := p.pkgs[name].list.cands[cand]
	return Path{{Name: p.project()}, {Name: string(name), Version: c.Version.String(), Source: c.Source}}
}

func uniquePaths(list []Path) []Path {
	var out []Path
	seen := map[string]bool{}
	for _, p := range list {
		key := p.String() + "\n" + lastRequires(p)
		if !seen[key] {
			seen[key] = true
			out = append(out, p)
		}
	}
	return out
}

func lastRequires(p Path) string {
	if len(p) < 2 {
		return ""
	}
	return p[len(p)-2].Requires
}

// Diag returns the failure as the finding that commands print: the proof and
// the why paths are its details, and a *Failure's paths its Data for --json.
func (f *Failure) Diag() *diag.Error {
	if len(f.Refusals) > 0 {
		return f.Refusals[0]
	}
	e := diag.New(f.Code, "%s", f.Headline).WithReason(string(f.Reason))
	e.Hint = f.Hint
	e.Details = append(e.Details, f.Proof...)
	for i, p := range f.Why {
		label := "     "
		if i == 0 {
			label = "why: "
		}
		e.Details = append(e.Details, label+p.String())
	}
	data := FailureData{Culprits: f.Culprits}
	data.Paths = append(data.Paths, f.Why...)
	if f.Cycle != nil {
		data.Cycle = f.Cycle[f.CycleStart:]
		data.Paths = append(data.Paths, f.Cycle)
	}
	e.Data = data
	return e
}

// List returns the failure as findings: its refusals where it has several.
func (f *Failure) List() diag.List {
	if len(f.Refusals) > 0 {
		return f.Refusals
	}
	return diag.List{f.Diag()}
}

// FailureData are the further fields of a failure in --json.
type FailureData struct {
	Culprits []skill.Key `json:"culprits,omitempty"`
	Paths    []Path      `json:"paths,omitempty"`
	Cycle    Path        `json:"cycle,omitempty"`
}

// String returns the whole report as commands print it, without colour.
func (f *Failure) String() string {
	var b strings.Builder
	for _, e := range f.List() {
		fmt.Fprintf(&b, "error[%s]: %s\n", e.Code, diag.Escape(e.Message))
		for _, d := range e.Details {
			fmt.Fprintf(&b, "  %s\n", diag.Escape(d))
		}
		if e.Hint != "" {
			fmt.Fprintf(&b, "hint: %s\n", diag.Escape(e.Hint))
		}
	}
	return b.String()
}
