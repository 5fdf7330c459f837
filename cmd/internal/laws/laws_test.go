package laws

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/lockfile"
)

func (m *machine) manifest() *manifest.Manifest {
	data := m.read("skills.toml")
	if data == nil {
		return nil
	}
	mf, err := manifest.Parse("skills.toml", data, nil)
	if err != nil {
		return nil
	}
	return mf
}

// do runs a command on the user's machine and checks every law after it.
func (w *world) do(r *rand.Rand, mv move) *result {
	before := w.twin(w.me)
	old := before.state()
	args := append([]string{"--json"}, mv.args...)
	res := w.run(w.me, how{}, args...)
	w.say("$ skillpm %s    # %s", strings.Join(mv.args, " "), res.outcome())
	now := w.me.state()
	w.ended(mv, res)
	w.saidOnce(mv, res)
	w.neverLooser(mv, before, res)
	if old.toml != now.toml || old.lock != now.lock {
		w.fixedPoint(mv, res)
		w.historyFree(mv, res)
	}
	w.onlyWhatIsAsked(mv, before, res, now)
	w.rows(mv, res)
	w.agree(mv, res)
	w.twice(mv, res, now)
	w.anywhere(r, mv, before, res, now)
	w.frugal(mv, old, now, res)
	w.drop(before)
	if old.lock != now.lock {
		w.edited = map[string]bool{}
	}
	return res
}

// ended: a command ends by itself, with a status of its own, and says why.
func (w *world) ended(mv move, res *result) {
	if !slices.Contains([]int{0, 1, 2, 3, 64, 130}, res.exit) {
		w.fail("L14", mv.label, res.outcome(), "ended with status %d: %s", res.exit, res.said())
	}
	if !res.isJSON && mv.label != "sbom" && mv.label != "export" {
		w.fail("L13", mv.label, "no JSON", "--json printed: %.300s", res.out)
	}
	if res.exit != 0 && res.isJSON && res.code() == "" && res.exit != 3 {
		w.fail("L4", mv.label, fmt.Sprintf("exit %d without an error", res.exit), "%.300s", res.out)
	}
}

// fixedPoint is L1.
func (w *world) fixedPoint(mv move, res *result) {
	if data := w.me.read("skills.lock"); data != nil {
		if _, err := lockfile.Parse(data); err != nil {
			w.fail("L1", mv.label, "lock does not decode", "%v", err)
			return
		}
	}
	check := w.run(w.me, how{}, "--json", "lock", "--check")
	if check.exit != 0 {
		w.fail("L1", mv.label, "lock --check: "+check.outcome()+" "+shape(check.said()), "after exit %d, `lock --check` ends with %d: %s", res.exit, check.exit, check.said())
	}
	t := w.twin(w.me)
	old := t.state()
	again := w.run(t, how{}, "--json", "lock", "--yes")
	if d := t.state().differs(old); d != "" {
		w.fail("L1", mv.label, "lock changes "+d, "after exit %d, `lock` changes %s (exit %d)", res.exit, d, again.exit)
	} else if again.exit != 0 && check.exit == 0 {
		w.fail("L1", mv.label, "lock: "+again.outcome(), "`lock` ends with %d: %s", again.exit, again.said())
	}
	w.drop(t)
	w.reproduces(mv, res)
}

// reproduces is the other half of L1: another machine gets the same bytes.
func (w *world) reproduces(mv move, res *result) {
	if w.anyDead() || w.me.lock() == nil {
		return
	}
	f := w.fresh(w.me)
	defer w.drop(f)
	frozen := w.run(f, how{}, "--json", "install", "--frozen")
	if frozen.exit != 0 {
		w.fail("L1", mv.label, "install --frozen: "+frozen.outcome()+" "+shape(frozen.said()), "after exit %d, `install --frozen` with an empty cache ends with %d: %s", res.exit, frozen.exit, frozen.said())
		return
	}
	if res.exit != 0 || slices.Contains(mv.args, "--no-install") || mv.label == "lock" || w.me.notInstalled() {
		return
	}
	got, want := f.state(), w.me.state()
	for name := range want.files {
		if !w.isInstalled(name) || w.local[w.keyOf(name)] {
			delete(want.files, name)
		}
	}
	for name := range got.files {
		if !w.isInstalled(name) || w.local[w.keyOf(name)] {
			delete(got.files, name)
		}
	}
	if d := want.differs(got); d != "" {
		w.fail("L1", mv.label, "frozen install has other bytes", "another machine gets other bytes: %s", d)
	}
}

func (w *world) anyDead() bool {
	return slices.ContainsFunc(w.hosts, func(h *host) bool { return h.dead })
}

// notInstalled says that the lock has skills that an earlier command left out.
func (m *machine) notInstalled() bool {
	l := m.lock()
	return slices.ContainsFunc(l.Skills, func(e *lockfile.Entry) bool {
		return len(l.Targets) > 0 && m.read(path.Join(l.Targets[0], e.Key, "SKILL.md")) == nil
	})
}

func (w *world) isInstalled(name string) bool {
	l := w.me.lock()
	return l != nil && slices.ContainsFunc(l.Targets, func(t string) bool { return strings.HasPrefix(name, t+"/") })
}

func (w *world) keyOf(name string) string {
	l := w.me.lock()
	for _, t := range l.Targets {
		if rest, ok := strings.CutPrefix(name, t+"/"); ok {
			key, _, _ := strings.Cut(rest, "/")
			return key
		}
	}
	return ""
}

// historyFree is L2: from no lock to the same commits is the same bytes, and
// the order of lines is presentation.
func (w *world) historyFree(mv move, res *result) {
	l := w.me.lock()
	if l == nil || w.me.read("skills.toml") == nil {
		return
	}
	if !w.anyDead() {
		t := w.twin(w.me)
		must(removeFile(t.path("skills.lock")))
		again := w.run(t, how{}, "--json", "lock", "--yes")
		if m := t.lock(); again.exit == 0 && m != nil && sameCommits(l, m) && string(withoutRetracted(l)) != string(withoutRetracted(m)) {
			d := firstDifference(string(l.Bytes()), string(m.Bytes()))
			w.fail("L2", mv.label, "fresh lock differs in "+field(d), "locking anew gives the same commits and other bytes: %s", w.normal(w.me, d))
		}
		w.drop(t)
	}
	w.orderFree(mv, res)
}

// orderFree is the part of L2 about lines.
func (w *world) orderFree(mv move, res *result) {
	swapped, ok := reversed(string(w.me.read("skills.toml")))
	if !ok {
		return
	}
	if w.run(w.me, how{}, "--json", "lock", "--check").exit != 0 {
		return // L1 has it
	}
	t := w.twin(w.me)
	t.write("skills.toml", []byte(swapped))
	old := t.state()
	if check := w.run(t, how{}, "--json", "lock", "--check"); check.exit != 0 {
		w.fail("L2", mv.label, "reordered lines: lock --check "+check.outcome(), "with the lines of [skills] in another order `lock --check` ends with %d: %s", check.exit, check.said())
	}
	w.run(t, how{}, "--json", "lock", "--yes")
	if d := t.state().differs(old); d != "" {
		w.fail("L2", mv.label, "reordered lines: lock changes "+d, "with the lines of [skills] in another order `lock` changes %s", d)
	}
	w.drop(t)
}

// reversed turns the order of the lines of [skills] around.
func reversed(toml string) (string, bool) {
	lines := strings.SplitAfter(toml, "\n")
	var at []int
	in := false
	for i, l := range lines {
		if strings.HasPrefix(l, "[") {
			in = strings.HasPrefix(l, "[skills]")
			continue
		}
		if in && strings.Contains(l, " = ") && !strings.HasPrefix(strings.TrimSpace(l), "#") {
			at = append(at, i)
		}
	}
	for i, j := 0, len(at)-1; i < j; i, j = i+1, j-1 {
		lines[at[i]], lines[at[j]] = lines[at[j]], lines[at[i]]
	}
	return strings.Join(lines, ""), len(at) > 1
}

func sameCommits(a, b *lockfile.Lock) bool {
	if len(a.Skills) != len(b.Skills) {
		return false
	}
	for _, e := range a.Skills {
		f := b.Get(e.Key)
		if f == nil || f.Source.Commit != e.Source.Commit || f.Source.URL != e.Source.URL || f.Source.Path != e.Source.Path {
			return false
		}
	}
	return true
}

func withoutRetracted(l *lockfile.Lock) []byte {
	c, err := lockfile.Parse(l.Bytes())
	must(err)
	for _, e := range c.Skills {
		e.Retracted = ""
	}
	return c.Bytes()
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("%s | %s", strings.TrimSpace(x[i]), strings.TrimSpace(y[i]))
		}
	}
	return "one is longer"
}

// field is the name of the field that a line of a lock is about.
func field(line string) string {
	_, rest, ok := strings.Cut(line, `"`)
	name, _, _ := strings.Cut(rest, `"`)
	if !ok || slices.Contains(words, name) {
		return "an entry"
	}
	return name
}

// onlyWhatIsAsked is L3: with every uninvolved host dead, all is as before.
func (w *world) onlyWhatIsAsked(mv move, before *machine, res *result, now state) {
	if mv.all {
		return
	}
	involved := mv.involved
	if involved == nil && !w.satisfied(before) {
		return
	}
	rest := slices.DeleteFunc(w.others(involved), func(h int) bool { return w.hosts[h].dead })
	if len(rest) == 0 {
		return
	}
	t := w.twin(before)
	w.without(rest, func() {
		dead := w.run(t, how{}, res.args...)
		if dead.exit != res.exit || dead.code() != res.code() {
			w.fail("L3", mv.label, fmt.Sprintf("%s, alive %s", dead.outcome(), res.outcome()), "with uninvolved hosts %s dead it ends with %s: %s", hostNames(rest), dead.outcome(), dead.said())
		} else if d := t.state().differs(now); d != "" {
			w.fail("L3", mv.label, "other result: "+shape(d), "with uninvolved hosts %s dead other files: %s", hostNames(rest), d)
		} else if string(dead.result) != string(res.result) {
			w.fail("L3", mv.label, "other JSON", "with uninvolved hosts %s dead: %s", hostNames(rest), firstDifference(string(res.result), string(dead.result)))
		}
	})
	w.drop(t)
}

// satisfied says that the lock answers every requirement of the manifest.
func (w *world) satisfied(m *machine) bool {
	l := m.lock()
	if l == nil {
		return false
	}
	t := w.run(m, how{}, "--json", "--offline", "lock", "--check")
	return t.exit == 0
}

func hostNames(list []int) string {
	var s []string
	for _, h := range list {
		s = append(s, fmt.Sprintf("host%d", h+1))
	}
	return strings.Join(s, ", ")
}

// rows is L4: each locked skill has its row or finding.
func (w *world) rows(mv move, res *result) {
	l := w.me.lock()
	if l == nil || !slices.Contains([]string{"outdated", "list", "tree", "verify", "update", "update --dry-run"}, mv.label) {
		return
	}
	if strings.HasPrefix(mv.label, "update") && res.exit == 0 {
		return
	}
	var missing []string
	for _, e := range l.Skills {
		if e.Source.Type != lockfile.TypeGit || (mv.label == "outdated" || strings.HasPrefix(mv.label, "update")) && w.me.manifest().Get(e.Key) == nil {
			continue
		}
		if !strings.Contains(res.out, e.Key) {
			missing = append(missing, e.Key)
		}
	}
	switch {
	case res.exit == 0 && mv.label == "outdated":
		return // what is at its newest has no row
	case mv.label == "outdated" && res.result == nil:
		w.fail("L4", mv.label, "no rows: "+res.outcome()+" "+shape(res.said()), "no rows at all: %s", res.said())
	case strings.HasPrefix(mv.label, "update"):
		if bad := w.badRows(l); len(bad) > 1 {
			for _, key := range bad {
				if !strings.Contains(res.out, key) {
					w.fail("L4", mv.label, "not every refused row is told: "+res.outcome(), "%s is also gone or unreachable, and not told; told is: %s", key, res.said())
					return
				}
			}
		}
	case len(missing) > 0 && mv.label != "outdated":
		w.fail("L4", mv.label, "rows are missing: "+res.outcome(), "no word of %s: %s", strings.Join(missing, ", "), res.said())
	}
}

// badRows are locked skills whose host is dead.
func (w *world) badRows(l *lockfile.Lock) []string {
	var bad []string
	for _, u := range w.upstreams {
		for _, e := range l.Skills {
			if e.Source.URL == w.url(u) && w.hosts[u.host].dead && w.me.manifest().Get(e.Key) != nil {
				bad = append(bad, e.Key)
			}
		}
	}
	return bad
}

// neverLooser is L8.
func (w *world) neverLooser(mv move, before *machine, res *result) {
	m, n := before.manifest(), w.me.manifest()
	if m == nil || n == nil {
		return
	}
	for _, s := range m.Skills {
		t := n.Get(string(s.Key))
		if t == nil || slices.Contains(mv.asked, string(s.Key)) {
			continue
		}
		a, b := s.Requirement, t.Requirement
		if a.Digest != "" && a.Digest != b.Digest {
			w.fail("L8", mv.label, "digest dropped", "%s: the pin %s is gone", s.Key, a.Digest)
		}
		if operators(a.Range) != operators(b.Range) {
			w.fail("L8", mv.label, fmt.Sprintf("operator %s becomes %s", operators(a.Range), operators(b.Range)), "%s: `%s` becomes `%s`", s.Key, a.Range, b.Range)
		}
		if a.Ref != b.Ref {
			w.fail("L8", mv.label, "ref changed", "%s: `ref:%s` becomes `%s`", s.Key, a.Ref, b.String())
		}
	}
	w.neverDown(mv, before)
}

func (w *world) neverDown(mv move, before *machine) {
	l, k := before.lock(), w.me.lock()
	if l == nil || k == nil {
		return
	}
	direct := w.me.manifest()
	for _, e := range l.Skills {
		f := k.Get(e.Key)
		if f == nil || e.Version == f.Version || slices.Contains(mv.asked, e.Key) || w.edited[e.Key] || direct.Get(e.Key) == nil {
			continue
		}
		a, errA := semver.NewVersion(e.Version)
		b, errB := semver.NewVersion(f.Version)
		if errA == nil && errB == nil && b.LessThan(a) && e.Source.URL == f.Source.URL {
			what := "version lowered"
			if a.Prerelease() != "" && !pseudo(a) {
				what = "pre-release left for an older release"
			}
			if pseudo(b) {
				what = "version lowered to a pseudo-version"
			}
			w.fail("L8", mv.label, what, "%s: %s becomes %s", e.Key, e.Version, f.Version)
		}
	}
}

func pseudo(v *semver.Version) bool { return strings.HasPrefix(v.String(), "0.0.0-0.") }

// operators leaves out of a range what are versions.
func operators(rng string) string {
	var b strings.Builder
	for _, part := range strings.Fields(rng) {
		op := strings.TrimRight(part, "0123456789.*xX+-abcdefghijklmnopqrstuvwyz")
		if op == "" && part != "*" {
			op = "="
		}
		if part == "*" {
			op = "*"
		}
		b.WriteString(op + " ")
	}
	return strings.TrimSpace(b.String())
}

// saidOnce is L13.
func (w *world) saidOnce(mv move, res *result) {
	seen := map[string]bool{}
	for _, d := range res.diagnostics {
		text := fmt.Sprint(d.text(), d.Line, d.Column, d.Details)
		if seen[text] {
			w.fail("L13", mv.label, "twice: "+d.Code, "said twice: %s", d.text())
			break
		}
		seen[text] = true
	}
}

// twice is part of L15: a second run changes nothing.
func (w *world) twice(mv move, res *result, now state) {
	if res.exit != 0 || mv.label == "init" || mv.label == "remove" { // these ask for what is there now
		return
	}
	t := w.twin(w.me)
	again := w.run(t, how{}, res.args...)
	if again.exit != res.exit {
		w.fail("L15", mv.label, "second run: "+again.outcome()+" "+shape(again.said()), "run again it ends with %d: %s", again.exit, again.said())
	} else if d := t.state().differs(now); d != "" {
		w.fail("L15", mv.label, "second run changes "+shape(d), "run again it changes %s", d)
	}
	w.drop(t)
}

// anywhere is L15: one other cell of the matrix.
func (w *world) anywhere(r *rand.Rand, mv move, before *machine, res *result, now state) {
	relative := slices.ContainsFunc(mv.args, func(a string) bool { return strings.HasPrefix(a, "./") })
	t := w.twin(before)
	defer w.drop(t)
	h, args, cell := how{}, slices.Clone(res.args), ""
	switch r.IntN(5) {
	case 4:
		cell, args = "as text", args[1:] // without --json
	case 0:
		if relative || mv.label == "init" || t.read("skills.toml") == nil {
			return
		}
		cell, h.cwd = "in a sub-directory", t.path("sub", "deeper")
		t.write("sub/deeper/.keep", nil)
	case 1:
		cell, h.cwd = "with -C", filepath.Join(t.dir, "home")
		args = append([]string{"-C", t.path()}, args...)
	case 2:
		// without a cache nothing can be read of what was never installed, or edited
		if w.anyDead() || len(w.local) > 0 || before.lock() != nil && before.notInstalled() {
			return
		}
		cell = "with a cold cache"
		must(removeAll(t.cache()))
	case 3:
		if mv.involved != nil || mv.all || !w.satisfied(before) || w.cold(before) {
			return
		}
		cell = "offline"
		args = append([]string{"--offline"}, args...)
	}
	other := w.run(t, h, args...)
	if cell == "as text" {
		w.oneNote(mv, other)
	}
	st := t.state()
	delete(st.files, "sub/deeper/.keep")
	if other.exit != res.exit || other.code() != res.code() {
		w.fail("L15", mv.label, fmt.Sprintf("%s: %s, else %s", cell, other.outcome(), res.outcome()), "%s it ends with %s: %s", cell, other.outcome(), other.said())
	} else if d := st.differs(now); d != "" {
		w.fail("L15", mv.label, cell+": other files "+shape(d), "%s other files: %s", cell, d)
	}
}

// cold says that not everything locked is in the cache.
func (w *world) cold(m *machine) bool {
	t := w.twin(m)
	defer w.drop(t)
	return w.run(t, how{}, "--json", "--offline", "fetch").exit != 0
}

// frugal is L6 for commands that have nothing to ask.
func (w *world) frugal(mv move, old, now state, res *result) {
	limit, ok := requestsOf[mv.label]
	if !ok {
		panic("no row of the table has " + mv.label)
	}
	if res.exit != 0 {
		return
	}
	if limit == 0 && (old.toml != now.toml || old.lock != now.lock || old.differs(now) != "") {
		return
	}
	n := limit * max(1, len(w.upstreams))
	if limit == 0 {
		n = 0
	}
	if len(res.requests) > n {
		w.fail("L6", mv.label, fmt.Sprintf("more than %d requests a repository", limit), "%d requests for %d repositories:\n%s", len(res.requests), len(w.upstreams), strings.Join(res.requests, "\n"))
	}
}

// agree is L12 of outdated: update takes what it calls wanted.
func (w *world) agree(mv move, res *result) {
	var found struct {
		Skills []struct{ Key, Locked, Wanted, Commit string }
	}
	if mv.label != "outdated" || res.exit != 0 || json.Unmarshal(res.result, &found) != nil {
		return
	}
	t := w.twin(w.me)
	defer w.drop(t)
	update := w.run(t, how{}, "--json", "update", "--yes", "--accept-moved-tag", "--force")
	l := t.lock()
	if update.exit != 0 || l == nil {
		return
	}
	rows := map[string]bool{}
	for _, row := range found.Skills {
		rows[row.Key] = true
		e := l.Get(row.Key)
		if row.Wanted != "" && row.Wanted != row.Locked && e != nil && e.Version == row.Locked {
			w.fail("L12", mv.label, "wanted is not what update takes", "%s: wanted is %s, and `update` stays at %s without a word: %.200s", row.Key, row.Wanted, row.Locked, update.out)
		}
	}
	for _, e := range w.me.lock().Skills {
		f := l.Get(e.Key)
		if f != nil && f.Version != e.Version && !rows[e.Key] && w.me.manifest().Get(e.Key) != nil {
			w.fail("L12", mv.label, "update moves what outdated calls newest", "%s: no row, and `update` moves it from %s to %s", e.Key, e.Version, f.Version)
		}
	}
}

// severity is how a note or a warning begins in text.
var severity = regexp.MustCompile(`(?m)^(?:note|warning)\[(\w+)\]`)

// oneNote is L13 in text: notes and warnings of one kind are one, with a count.
func (w *world) oneNote(mv move, res *result) {
	count := map[string]int{}
	for _, m := range severity.FindAllStringSubmatch(res.err, -1) {
		count[m[1]]++
	}
	for _, code := range slices.Sorted(maps.Keys(count)) {
		if count[code] > 1 {
			w.fail("L13", mv.label, "many of one kind: "+code, "%d of %s in one run:\n%s", count[code], code, res.err)
		}
	}
}
