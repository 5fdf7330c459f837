package laws

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
)

func removeFile(name string) error { return os.Remove(name) }
func removeAll(name string) error  { return os.RemoveAll(name) }

// openSeeds are worlds that are known to break a law, as directed.open says it of
// the others.
var openSeeds = map[int64]string{}

// TestWorlds draws worlds and holds the laws in each.
func TestWorlds(t *testing.T) {
	var seeds []int64
	for i := range *worldsFlag {
		if seed := *fromFlag + int64(i); (openSeeds[seed] != "") == *openFlag {
			seeds = append(seeds, seed)
		}
	}
	if *seedFlag >= 0 {
		seeds = []int64{*seedFlag}
	}
	var kinds report
	t.Run("seeds", func(t *testing.T) {
		for _, seed := range seeds {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				w, err := draw(seed, t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				defer w.close()
				w.hold(t, w.live)
				if reason := openSeeds[seed]; reason != "" && *openFlag {
					w.stillOpen(t, reason)
					return
				}
				kinds.add(w)
				if testing.Verbose() && *seedFlag >= 0 {
					t.Log("\n" + strings.Join(append(w.describe(), w.log...), "\n"))
				}
				if len(w.broken) > 0 {
					t.Fail()
				}
			})
		}
	})
	kinds.print(t)
}

// hold runs f; where the harness itself breaks, this world alone fails.
func (w *world) hold(t *testing.T, f func()) {
	defer func() {
		if v := recover(); v != nil {
			t.Errorf("%s: the harness broke: %v\n%s\n%s", w.name, v, strings.Join(w.log, "\n"), debug.Stack())
		}
	}()
	f()
}

// live runs the world's commands and events.
func (w *world) live() {
	steps := 6 + int(w.seed%7)
	if *stepsFlag > 0 {
		steps = min(steps, *stepsFlag)
	}
	w.run(w.me, how{}, "init")
	for i := range steps {
		r := rand.New(rand.NewPCG(uint64(w.seed), uint64(100+i)))
		for range r.IntN(3) {
			if i > 1 {
				w.drawEvent(r)
			}
		}
		if i < 2 {
			w.do(r, w.drawAdd(r))
			continue
		}
		w.do(r, w.drawCommand(r))
	}
}

// report gathers violations by kind.
type report struct {
	mu     sync.Mutex
	kinds  map[string]*kind
	worlds int
	ran    int
}

type kind struct {
	first violation
	count int
}

func (k *report) add(w *world) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.worlds++
	k.ran += w.ran
	if k.kinds == nil {
		k.kinds = map[string]*kind{}
	}
	for _, v := range w.broken {
		name := fmt.Sprintf("%s\x00%s\x00%s", v.Law, v.Command, v.Shape)
		old := k.kinds[name]
		switch {
		case old == nil:
			k.kinds[name] = &kind{v, 1}
		default:
			old.count++
			// the shortest story is the one to read
			if len(v.Steps) < len(old.first.Steps) || len(v.Steps) == len(old.first.Steps) && v.Seed < old.first.Seed {
				old.first = v
			}
		}
	}
}

func (k *report) print(t *testing.T) {
	names := make([]string, 0, len(k.kinds))
	for name := range k.kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	fmt.Fprintf(&b, "%d worlds, %d runs of the program, %d kinds of failures\n\n", k.worlds, k.ran, len(names))
	fmt.Fprintf(&b, "| law | command | times | first | how |\n|---|---|---|---|---|\n")
	for _, name := range names {
		v := k.kinds[name]
		fmt.Fprintf(&b, "| %s | %s | %d | %s | %s |\n", v.first.Law, v.first.Command, v.count, v.first.World, v.first.Shape)
	}
	for _, name := range names {
		v := k.kinds[name].first
		fmt.Fprintf(&b, "\n## %s %s: %s (%s)\n%s\n", v.Law, v.Command, v.Shape, v.World, v.Evidence)
		for _, s := range v.Steps {
			fmt.Fprintf(&b, "    %s\n", s)
		}
	}
	if *reportFlag != "" {
		must(os.WriteFile(*reportFlag, []byte(b.String()), 0o644))
	}
	if len(names) > 0 {
		t.Error("\n" + b.String())
	}
}
