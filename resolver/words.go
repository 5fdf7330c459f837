package resolver

import (
	"slices"
	"strings"

	"github.com/skillpm/skillpm/skill"
)

// text returns what the edge demands, as a report prints it: range or ref, and
// the digest pin shortened.
func (e Edge) text() string {
	var t string
	switch {
	case e.Ref != "":
		t = "ref:" + e.Ref
		if skill.IsObjectID(e.Ref) {
			t = "ref:" + e.Ref[:12]
		}
	case e.Exact != "" && isAny(e.Range):
		t = "at commit " + e.Exact[:min(12, len(e.Exact))]
	case isAny(e.Range):
		t = "*"
	default:
		t = e.Range
	}
	if e.Digest != "" {
		t += " " + e.Digest.Short()
	}
	return t
}

// rangeText is text without the pin.
func rangeText(e *edge) string {
	plain := e.Edge
	plain.Digest = ""
	return plain.text()
}

// demand is text for a sentence: a bare "*" is not worth a word.
func (e *edge) demand() string {
	if t := e.text(); t != "*" {
		return " " + t
	}
	return ""
}

// versionText names a candidate within its skill.
func versionText(c Candidate) string {
	switch {
	case c.Version.IsZero() && c.Local:
		return "in " + strings.TrimPrefix(c.Source, "path:")
	case c.Version.IsZero():
		return "from " + c.Source
	}
	return c.Version.String()
}

// describe names a set of candidates: "deploy" (with every, "every version of
// deploy"), "deploy 1.0.0", "deploy >=2.0.0".
func (p *pkg) describe(in set, every bool) string {
	which := p.which(in)
	switch {
	case which == "" && every && p.real() > 1:
		return "every version of " + string(p.name)
	case which == "" && p.real() == 1:
		return p.single()
	case which == "":
		return string(p.name)
	}
	return string(p.name) + " " + which
}

// real counts the candidates that can be used.
func (p *pkg) real() int {
	n := 0
	for i := range p.list.cands {
		if !p.list.unusable(i) {
			n++
		}
	}
	return n
}

// single names p with its only usable candidate.
func (p *pkg) single() string {
	for i, c := range p.list.cands {
		if !p.list.unusable(i) {
			return string(p.name) + " " + versionText(c)
		}
	}
	return string(p.name)
}

// which describes the usable candidates in a set, "" for all of them. Sets are
// described over the versions that can be used: what S8 hides is not missed.
func (p *pkg) which(in set) string {
	var have []int // usable candidates by ascending version
	for i := len(p.list.cands) - 1; i >= 0; i-- {
		if !p.list.unusable(i) {
			have = append(have, i)
		}
	}
	// rank puts pre-releases last; a run of versions reads by precedence alone.
	slices.SortStableFunc(have, func(a, b int) int {
		return p.list.cands[a].Version.Compare(p.list.cands[b].Version)
	})
	var runs [][2]int
	covered := 0
	for k, i := range have {
		if !in.has(i + 1) {
			continue
		}
		covered++
		if n := len(runs); n > 0 && runs[n-1][1] == k-1 {
			runs[n-1][1] = k
		} else {
			runs = append(runs, [2]int{k, k})
		}
	}
	if covered == len(have) {
		return ""
	}
	words := make([]string, 0, len(runs))
	text := func(k int) string { return versionText(p.list.cands[have[k]]) }
	for _, r := range runs {
		switch {
		case r[0] == r[1]:
			words = append(words, text(r[0]))
		case r[0] == 0:
			words = append(words, "<="+text(r[1]))
		case r[1] == len(have)-1:
			words = append(words, ">="+text(r[0]))
		default:
			words = append(words, ">="+text(r[0])+" <="+text(r[1]))
		}
	}
	if len(words) > 4 {
		words = append(words[:3:3], "…")
	}
	return strings.Join(words, " || ")
}

// listed enumerates versions for "there are …", newest first, at most six.
func listed(l *list) string {
	var words []string
	for i, c := range l.cands {
		if l.needsConsent(i) {
			continue
		}
		if len(words) == 6 {
			words = append(words, "…")
			break
		}
		words = append(words, versionText(c))
	}
	return strings.Join(words, ", ")
}
