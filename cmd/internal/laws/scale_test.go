package laws

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// scale is L6: the number of requests of a command does not depend on how many
// skills or tags there are.
func scale(w *world, r *rand.Rand) {
	type run struct {
		label string
		args  []string
	}
	counts := map[string][]int{}
	for _, style := range []string{repoTags, untagged} {
		for _, n := range []int{5, 20} {
			u := w.newUpstream(0, fmt.Sprintf("acme/%s-%d", style[:2], n), style)
			for i := range n {
				name := fmt.Sprintf("s%d-%d", i, n)
				u.skills = append(u.skills, &upstreamSkill{name: name, dir: "skills/" + name})
			}
			w.grow(u)
			if style == repoTags {
				for i := range n {
					w.releaseAll(u, fmt.Sprintf("1.%d.0", i))
				}
			}
			for _, c := range []run{
				{"add --all", []string{"add", w.url(u), "--all", "--yes"}},
				{"add DIR/*", []string{"add", w.url(u) + "//skills/*", "--yes"}},
				{"add --skill", append([]string{"add", w.url(u), "--yes"}, each("--skill", u)...)},
				{"add one", []string{"add", w.source(u, u.skills[0]), "--yes"}},
			} {
				t := w.twin(w.me)
				w.run(t, how{}, "init")
				record := func(label string, args ...string) *result {
					res := w.run(t, how{}, append([]string{"--json"}, args...)...)
					key := label + "\x00" + style
					counts[key] = append(counts[key], len(res.requests))
					if res.exit != 0 {
						w.fail("L6", label, "did not run: "+res.outcome(), "%s", res.said())
					}
					return res
				}
				record(c.label, c.args...)
				if c.label == "add --all" {
					must(removeAll(t.cache()))
					must(removeFile(t.path("skills.lock")))
					record("lock, cold", "lock", "--yes")
					record("install, cold", "install", "--frozen")
					record("outdated", "outdated")
					record("versions", "versions", u.skills[0].name)
					record("search", "search", "zzz")
					for _, s := range u.skills {
						s.text += " More."
					}
					w.grow(u)
					if style == repoTags {
						w.releaseAll(u, fmt.Sprintf("1.%d.0", n))
					}
					record("outdated, all moved", "outdated")
					record("update --dry-run", "update", "--dry-run")
					record("update", "update", "--yes")
					record("update --latest", "update", "--latest", "--yes")
				}
				w.drop(t)
			}
		}
	}
	for key, n := range counts {
		label, style, _ := strings.Cut(key, "\x00")
		if n[1] > n[0] {
			w.fail("L6", label, "requests grow with skills, "+style, "%d requests with 5 skills (and tags), %d with 20", n[0], n[1])
		}
	}
}

func each(flag string, u *upstream) []string {
	var list []string
	for _, s := range u.skills {
		list = append(list, flag, s.name)
	}
	return list
}
