package resolver

import (
	"cmp"
	"strings"

	"github.com/skillpm/skillpm/skill"
)

// A term says that a name's value lies in a set.
type term struct {
	pkg *pkg
	in  set
}

// kind says what an incompatibility is known from.
type kind int

const (
	// kindDerived was learnt: left and right resolved on a name.
	kindDerived kind = iota
	// kindRequires is an edge: no version of parent with this edge goes with a
	// target outside the edge's set. parent is nil for the root.
	kindRequires
	// kindPin is an edge whose digest some candidates of target do not have.
	kindPin
	// kindRetracted, kindHidden, kindOffline and kindUnreadable take candidates
	// of one name away.
	kindRetracted
	kindHidden
	kindOffline
	kindUnreadable
	// kindForced is an experiment of Input.Prefer; it never reaches a report.
	kindForced
)

// incompat is a set of terms that never hold all at once: the facts and what
// was learnt from them.
type incompat struct {
	kind  kind
	terms []term

	parent *pkg  // kindRequires, kindPin
	edge   *edge // kindRequires, kindPin
	target *pkg  // all but kindDerived
	// offlinePin says that a digest could not be had, rather than differed.
	offlinePin bool

	left, right *incompat // kindDerived

	line int // the report's: number of the proof line that ends in it
	uses int // the report's: how many derivations use it
}

func (c *incompat) termOf(p *pkg) int {
	for i := range c.terms {
		if c.terms[i].pkg == p {
			return i
		}
	}
	return -1
}

// resolve combines two incompatibilities on x: if all other terms of both hold,
// x lies in neither set. A term that always holds is dropped.
func resolve(c, d *incompat, x *pkg) *incompat {
	r := &incompat{kind: kindDerived, left: c, right: d, terms: make([]term, 0, len(c.terms)+len(d.terms)-1)}
	for _, t := range c.terms {
		var in set
		if j := d.termOf(t.pkg); j >= 0 {
			other := d.terms[j].in
			in = make(set, len(t.in))
			for i := range in {
				if t.pkg == x {
					in[i] = t.in[i] | other[i]
				} else {
					in[i] = t.in[i] & other[i]
				}
			}
		} else {
			in = t.in.clone() // a fact's set may still grow
		}
		if !t.pkg.all.within(in) {
			r.terms = append(r.terms, term{t.pkg, in})
		}
	}
	for _, t := range d.terms {
		if c.termOf(t.pkg) < 0 && !t.pkg.all.within(t.in) {
			r.terms = append(r.terms, term{t.pkg, t.in.clone()})
		}
	}
	return r
}

// edge is an Edge as the solve sees it: override applied.
type edge struct {
	Edge
	overridden bool
	key        edgeKey
}

// edgeKey holds all that decides an edge's set and its words in a report; edges
// of one parent with equal keys share an incompatibility.
type edgeKey struct {
	name                             skill.Key
	rng, ref, exact, sources, digest string
	flags                            uint8
}

func (k edgeKey) compare(o edgeKey) int {
	return cmp.Or(compareNames(k.name, o.name), strings.Compare(k.rng, o.rng), strings.Compare(k.ref, o.ref),
		strings.Compare(k.exact, o.exact), strings.Compare(k.sources, o.sources), strings.Compare(k.digest, o.digest),
		cmp.Compare(k.flags, o.flags))
}
