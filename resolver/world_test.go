package resolver_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

// id is a candidate's identity, for maps.
type id struct {
	name            skill.Key
	source, version string
	commit          string
}

func idOf(c resolver.Candidate) id {
	if c.Version.IsPseudo() {
		return id{c.Name, c.Source, "", c.Commit}
	}
	return id{c.Name, c.Source, c.Version.String(), ""}
}

type placeKey struct {
	name        skill.Key
	source, ref string
}

// world is a Universe in memory. It answers only for what was loaded, unless
// everything is; load fetches what a Need lists.
type world struct {
	versions   map[placeKey]resolver.Versions
	at         map[placeKey]resolver.Candidate
	edges      map[id][]resolver.Edge
	unreadable map[id]string
	digests    map[id]skill.Digest
	noDigest   map[id]bool     // trees that cannot be had, offline
	blocked    map[string]bool // sources that need consent

	all    bool
	loaded map[any]bool
	// asked counts requests per kind, for tests of laziness.
	rounds, files int
}

func newWorld() *world {
	return &world{
		versions: map[placeKey]resolver.Versions{}, at: map[placeKey]resolver.Candidate{},
		edges: map[id][]resolver.Edge{}, unreadable: map[id]string{}, digests: map[id]skill.Digest{}, noDigest: map[id]bool{},
		blocked: map[string]bool{}, loaded: map[any]bool{},
	}
}

func (w *world) add(c resolver.Candidate, d skill.Digest, edges []resolver.Edge) {
	k := placeKey{c.Name, c.Source, ""}
	v := w.versions[k]
	v.List = append(v.List, c)
	w.versions[k] = v
	w.digests[idOf(c)] = d
	w.edges[idOf(c)] = edges
}

// addAt adds a candidate that only a ref or a commit names.
func (w *world) addAt(c resolver.Candidate, refs []string, d skill.Digest, edges []resolver.Edge) {
	for _, r := range append(refs, c.Commit) {
		w.at[placeKey{c.Name, c.Source, r}] = c
	}
	w.digests[idOf(c)] = d
	w.edges[idOf(c)] = edges
}

func (w *world) find(c resolver.Candidate) (resolver.Candidate, bool) {
	for _, x := range w.versions[placeKey{c.Name, c.Source, ""}].List {
		if x.Version.Compare(c.Version) == 0 {
			return x, true
		}
	}
	return c, false
}

type (
	digestKey  id
	versionKey placeKey
)

func (w *world) Versions(name skill.Key, source string) resolver.Versions {
	k := placeKey{name, source, ""}
	switch {
	case w.blocked[source]:
		return resolver.Versions{State: resolver.NotApproved, Repository: source}
	case !w.all && !w.loaded[versionKey(k)]:
		return resolver.Versions{}
	}
	v := w.versions[k]
	v.State = resolver.Loaded
	if len(v.List) == 0 && !v.Untagged && source != "" && v.NotFound == "" && source != localSource {
		v.NotFound = "no such skill in " + source
	}
	return v
}

func (w *world) At(name skill.Key, source, ref string) (resolver.Candidate, resolver.State) {
	k := placeKey{name, source, ref}
	switch {
	case w.blocked[source]:
		return resolver.Candidate{}, resolver.NotApproved
	case !w.all && !w.loaded[k]:
		return resolver.Candidate{}, resolver.NotLoaded
	}
	return w.at[k], resolver.Loaded
}

func (w *world) Requirements(c resolver.Candidate) resolver.Requirements {
	k := idOf(c)
	if !w.all && !w.loaded[k] {
		return resolver.Requirements{}
	}
	return resolver.Requirements{State: resolver.Loaded, Edges: w.edges[k], Unreadable: w.unreadable[k]}
}

func (w *world) Digest(c resolver.Candidate) (skill.Digest, resolver.State) {
	k := idOf(c)
	if !w.all && !w.loaded[digestKey(k)] {
		return "", resolver.NotLoaded
	}
	if w.noDigest[k] {
		return "", resolver.Unavailable
	}
	return w.digests[k], resolver.Loaded
}

// load makes n's facts known. With a generator, a random part of them, at least
// one, and now and then something nobody asked for.
func (w *world) load(n *resolver.Need, r *rand.Rand) {
	w.rounds++
	var list []any
	for _, x := range n.Versions {
		list = append(list, versionKey{x.Name, x.Source, ""})
	}
	for _, x := range n.At {
		list = append(list, placeKey{x.Name, x.Source, x.Ref})
	}
	for _, x := range n.Requirements {
		list = append(list, idOf(x.Candidate))
	}
	for _, x := range n.Digests {
		list = append(list, digestKey(idOf(x.Candidate)))
	}
	w.files += len(list)
	if r != nil {
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		list = list[:1+r.IntN(len(list))]
		for k := range w.edges {
			if r.IntN(8) == 0 {
				w.loaded[k] = true
				w.loaded[digestKey(k)] = true
			}
		}
	}
	for _, k := range list {
		w.loaded[k] = true
	}
}

// solveLoading calls Solve and loads what it needs until it ends.
func solveLoading(t testing.TB, in resolver.Input, w *world) (*resolver.Solution, error) {
	t.Helper()
	return solveWith(t, in, w, nil)
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func solveWith(t fataler, in resolver.Input, w *world, r *rand.Rand) (*resolver.Solution, error) {
	t.Helper()
	for range 100_000 {
		sol, err := resolver.Solve(context.Background(), in, w)
		need, ok := errors.AsType[*resolver.Need](err)
		if !ok {
			return sol, err
		}
		if len(need.Versions)+len(need.At)+len(need.Requirements)+len(need.Digests) == 0 {
			t.Fatalf("an empty need")
		}
		before := len(w.loaded)
		w.load(need, r)
		if len(w.loaded) == before {
			t.Fatalf("the need lists only what is loaded: %+v", need)
		}
	}
	t.Fatalf("no end of needs")
	return nil, nil
}

// shuffled returns in with every list in another order.
func shuffled(in resolver.Input, r *rand.Rand) resolver.Input {
	mix := func(list []resolver.Edge) []resolver.Edge {
		list = slices.Clone(list)
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		return list
	}
	in.Root = mix(in.Root)
	in.Lock = slices.Clone(in.Lock)
	for i := range in.Lock {
		in.Lock[i].Edges = mix(in.Lock[i].Edges)
	}
	r.Shuffle(len(in.Lock), func(i, j int) { in.Lock[i], in.Lock[j] = in.Lock[j], in.Lock[i] })
	in.Overrides = slices.Clone(in.Overrides)
	r.Shuffle(len(in.Overrides), func(i, j int) { in.Overrides[i], in.Overrides[j] = in.Overrides[j], in.Overrides[i] })
	return in
}
