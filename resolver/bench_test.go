package resolver_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

// The problems whose goals docs/resolution.md names: go test -bench . ./resolver

func version(major, minor int) skill.Version {
	v, err := skill.ParseVersion(fmt.Sprintf("%d.%d.0", major, minor))
	if err != nil {
		panic(err)
	}
	return v
}

func benchName(i int) skill.Key { return skill.Key(fmt.Sprintf("skill-%04d", i)) }

// wide makes n skills of v versions, each version with three requirements on
// later skills; every tenth requirement excludes the newest versions, so that
// there is something to search.
func wide(n, v int) (resolver.Input, *world) {
	r := rand.New(rand.NewPCG(1, 2))
	w := newWorld()
	w.all = true
	in := resolver.Input{}
	for i := range n {
		name := benchName(i)
		source := "git/" + string(name)
		for k := v - 1; k >= 0; k-- { // newest first, as a caller would who cares
			c := resolver.Candidate{Name: name, Source: source, Version: version(1+k/10, k%10)}
			var edges []resolver.Edge
			for d := range 3 {
				to := i + 1 + d*(n/8) + r.IntN(7)
				if to >= n {
					continue
				}
				low := r.IntN(v / 2)
				rng := fmt.Sprintf(">=%d.%d.0", 1+low/10, low%10)
				if r.IntN(10) == 0 {
					high := v/2 + r.IntN(v/2)
					rng += fmt.Sprintf(", <%d.%d.0", 1+high/10, high%10)
				}
				edges = append(edges, resolver.Edge{Name: benchName(to), Range: rng, Sources: []string{"git/" + string(benchName(to))}})
			}
			w.add(c, "", edges)
		}
		in.Root = append(in.Root, resolver.Edge{Name: name, Range: "*", Sources: []string{source}})
	}
	return in, w
}

func benchmarkSolve(b *testing.B, in resolver.Input, w *world) {
	b.Helper()
	b.ReportAllocs()
	var sol *resolver.Solution
	for b.Loop() {
		var err error
		if sol, err = resolver.Solve(b.Context(), in, w); err != nil {
			b.Fatal(err, reportOf(err))
		}
	}
	b.ReportMetric(float64(sol.Conflicts), "conflicts")
	b.ReportMetric(float64(len(sol.Chosen)), "skills")
}

func Benchmark1000Skills100Versions(b *testing.B) {
	in, w := wide(1000, 100)
	benchmarkSolve(b, in, w)
}

func Benchmark3000Skills100Versions(b *testing.B) {
	in, w := wide(3000, 100)
	benchmarkSolve(b, in, w)
}

func Benchmark1000LockedAndSatisfied(b *testing.B) {
	in, w := wide(1000, 100)
	sol, err := resolver.Solve(b.Context(), in, w)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range sol.Chosen {
		in.Lock = append(in.Lock, resolver.Locked{Candidate: c.Candidate, Edges: c.Edges})
	}
	// A lock that suffices asks for nothing, so the world may go; it would only
	// give the garbage collector more to do.
	benchmarkSolve(b, in, newWorld())
}

// pigeonhole has n pigeons with a version for each of the holes; the version
// takes the hole, whose version is the pigeon in it.
func pigeonhole(pigeons, holes int) (resolver.Input, *world) {
	w := newWorld()
	w.all = true
	in := resolver.Input{}
	for h := range holes {
		name := skill.Key(fmt.Sprintf("hole-%d", h))
		for p := range pigeons {
			w.add(resolver.Candidate{Name: name, Source: "git/" + string(name), Version: version(p+1, 0)}, "", nil)
		}
	}
	for p := range pigeons {
		name := skill.Key(fmt.Sprintf("pigeon-%d", p))
		for h := range holes {
			hole := fmt.Sprintf("hole-%d", h)
			w.add(resolver.Candidate{Name: name, Source: "git/" + string(name), Version: version(h+1, 0)}, "", []resolver.Edge{
				{Name: skill.Key(hole), Range: fmt.Sprintf("=%d.0.0", p+1), Sources: []string{"git/" + hole}},
			})
		}
		in.Root = append(in.Root, resolver.Edge{Name: name, Range: "*", Sources: []string{"git/" + string(name)}})
	}
	return in, w
}

func BenchmarkPigeonhole9In8(b *testing.B) {
	in, w := pigeonhole(9, 8)
	b.ReportAllocs()
	for b.Loop() {
		_, err := resolver.Solve(b.Context(), in, w)
		if f, ok := errors.AsType[*resolver.Failure](err); !ok || f.Code != "subskill_unresolved" {
			b.Fatal(err)
		}
	}
}

// wrongPackage has a skill whose thousand newest versions all exclude what was
// decided before it.
func wrongPackage(n int) (resolver.Input, *world) {
	w := newWorld()
	w.all = true
	w.add(resolver.Candidate{Name: "a", Source: "git/a", Version: version(1, 0)}, "", nil)
	w.add(resolver.Candidate{Name: "a", Source: "git/a", Version: version(2, 0)}, "", nil)
	for i := range n {
		var edges []resolver.Edge
		if i > 0 {
			edges = []resolver.Edge{{Name: "a", Range: "=1.0.0", Sources: []string{"git/a"}}}
		}
		w.add(resolver.Candidate{Name: "b", Source: "git/b", Version: version(1, i)}, "", edges)
	}
	return resolver.Input{Root: []resolver.Edge{
		{Name: "a", Range: "*", Sources: []string{"git/a"}}, {Name: "b", Range: "*", Sources: []string{"git/b"}},
	}}, w
}

func BenchmarkWrongPackage1000Versions(b *testing.B) {
	in, w := wrongPackage(1000)
	benchmarkSolve(b, in, w)
}
