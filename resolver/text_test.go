package resolver_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

// A problem as text, one statement a line:
//
//	project: NAME REQUIREMENT; …
//	NAME VERSION [from SOURCE] [sha256:…|nodigest] [local] [cached] [at COMMIT]
//	     [retracted "…"] [hidden "…"] [unreadable "…"] [: NAME REQUIREMENT; …]
//	at NAME REF COMMIT [from SOURCE] [: …]     a candidate at a branch
//	lock NAME VERSION [from SOURCE] [: …]
//	untagged NAME from SOURCE
//	blocked SOURCE
//	override NAME REQUIREMENT
//	unlock NAME, prefer NAME, frozen, offline
//
// A REQUIREMENT is a range or ref:NAME, then [from SOURCE] [sha256:…] [chain]
// [exact COMMIT] [lookup] [orroot] [missing "…"] [delegate WORD]. A source left
// out is that of the name's first candidate, or example.com/skills//NAME.
func parseProblem(t *testing.T, text string) (resolver.Input, *world) {
	t.Helper()
	p := &textProblem{T: t, w: newWorld(), sources: map[skill.Key]string{}}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			p.statement(line)
		}
	}
	p.settle()
	return p.in, p.w
}

// settle points requirements without source at the source of the name's first
// candidate.
func (p *textProblem) settle() {
	point := func(list []resolver.Edge) {
		for i, e := range list {
			if to, ok := p.sources[e.Name]; ok && len(e.Sources) == 1 && e.Sources[0] == defaultSource(e.Name) {
				list[i].Sources = []string{to}
			}
		}
	}
	point(p.in.Root)
	for _, list := range p.w.edges {
		point(list)
	}
	for _, l := range p.in.Lock {
		point(l.Edges)
	}
}

func defaultSource(name skill.Key) string { return "example.com/skills//" + string(name) }

type textProblem struct {
	*testing.T
	in      resolver.Input
	w       *world
	sources map[skill.Key]string // of each name's first candidate
}

// words splits at blanks, keeps "quoted" words together and drops the quotes.
func words(s string) []string {
	list := regexp.MustCompile(`"[^"]*"|\S+`).FindAllString(s, -1)
	for i := range list {
		list[i] = strings.Trim(list[i], `"`)
	}
	return list
}

func (p *textProblem) statement(line string) {
	p.Helper()
	head, deps := line, ""
	if i := regexp.MustCompile(`:( |$)`).FindStringIndex(line); i != nil {
		head, deps = line[:i[0]], line[i[1]:]
	}
	w := words(head)
	switch w[0] {
	case "project":
		p.in.Root = p.edges(deps)
	case "frozen":
		p.in.Frozen = true
	case "offline":
		p.in.Offline = true
	case "unlock":
		p.in.Unlock = append(p.in.Unlock, skill.Key(w[1]))
	case "prefer":
		p.in.Prefer = append(p.in.Prefer, skill.Key(w[1]))
	case "blocked":
		p.w.blocked[w[1]] = true
	case "untagged":
		p.w.versions[placeKey{skill.Key(w[1]), w[3], ""}] = resolver.Versions{Untagged: true}
	case "override":
		e := p.edge(strings.TrimPrefix(head, "override "))
		o := resolver.Override{Name: e.Name, Range: e.Range, Ref: e.Ref, Digest: e.Digest}
		if strings.Contains(head, " from ") {
			o.Source = e.Sources[0]
		}
		p.in.Overrides = append(p.in.Overrides, o)
	case "at":
		c, d, _ := p.candidate(append([]string{w[1], "0.0.0-0.20260102030405-" + w[3][:12]}, w[4:]...))
		c.Commit = w[3]
		p.w.addAt(c, []string{w[2]}, d, p.edges(deps))
	case "lock":
		c, d, _ := p.candidate(w[1:])
		p.in.Lock = append(p.in.Lock, resolver.Locked{Candidate: c, Digest: d, Edges: p.edges(deps)})
	default:
		c, d, unreadable := p.candidate(w)
		p.w.add(c, d, p.edges(deps))
		if unreadable != "" {
			p.w.unreadable[idOf(c)] = unreadable
		}
	}
}

func (p *textProblem) candidate(w []string) (c resolver.Candidate, d skill.Digest, unreadable string) {
	p.Helper()
	c.Name, c.Source = skill.Key(w[0]), defaultSource(skill.Key(w[0]))
	if w[1] != "-" {
		v, err := skill.ParseVersion(w[1])
		if err != nil {
			p.Fatal(err)
		}
		c.Version = v
	}
	for i := 2; i < len(w); i++ {
		next := func() string { i++; return w[i] }
		switch {
		case w[i] == "from":
			c.Source = next()
		case w[i] == "at":
			c.Commit = next()
		case w[i] == "local":
			c.Local = true
		case w[i] == "cached":
			c.Cached = true
		case w[i] == "retracted":
			c.Retracted, c.RetractedReason = true, next()
		case w[i] == "hidden":
			c.Hidden = next()
		case w[i] == "unreadable":
			unreadable = next()
		case w[i] == "nodigest":
			p.w.noDigest[idOf(c)] = true
		case strings.HasPrefix(w[i], "sha256:"):
			d = skill.Digest(w[i])
		default:
			p.Fatalf("what is %q in %q?", w[i], w)
		}
	}
	if p.sources[c.Name] == "" {
		p.sources[c.Name] = c.Source
	}
	return c, d, unreadable
}

func (p *textProblem) edges(deps string) []resolver.Edge {
	var list []resolver.Edge
	for d := range strings.SplitSeq(deps, ";") {
		if strings.TrimSpace(d) != "" {
			list = append(list, p.edge(d))
		}
	}
	return list
}

func (p *textProblem) edge(text string) resolver.Edge {
	p.Helper()
	w := words(text)
	e := resolver.Edge{Name: skill.Key(w[0]), Sources: []string{defaultSource(skill.Key(w[0]))}}
	var rng []string
	for i := 1; i < len(w); i++ {
		next := func() string { i++; return w[i] }
		switch {
		case w[i] == "from":
			e.Sources = []string{next()}
		case w[i] == "chain":
			e.Chain = true
		case w[i] == "lookup":
			e.LookedUp = true
		case w[i] == "orroot":
			e.OrRoot = true
		case w[i] == "exact":
			e.Exact, e.LookedUp = next(), true
		case w[i] == "missing":
			e.Sources, e.Missing = nil, next()
		case w[i] == "delegate":
			e.Delegate = next()
		case strings.HasPrefix(w[i], "ref:"):
			e.Ref = w[i][4:]
		case strings.HasPrefix(w[i], "sha256:"):
			e.Digest = skill.Digest(w[i])
		default:
			rng = append(rng, w[i])
		}
	}
	e.Range = strings.Join(rng, " ")
	if e.Range == "" && e.Ref == "" {
		e.Range = "*"
	}
	return e
}
