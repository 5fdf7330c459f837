package laws

import (
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// row is a command of the program. The table has all of them, with all flags;
// TestTableIsComplete holds that.
type row struct {
	command string
	// drawn are the moves of worlds that run it, by label, and how many requests
	// each may make for every repository; none at all (0) if it changes nothing.
	drawn map[string]int
	// flags are those that worlds use.
	flags string
	// left are groups of flags that no world uses.
	left []string
}

// groups are flags that no world uses, and what tests them instead.
var groups = map[string]string{
	// what a person agrees to: consent.txtar, trust.txtar, signed_install.txtar
	"consent": "accept-signer-change accept-unsigned allow-untrusted resolve-subskills force",
	// how it is done, not what: flags.txtar, min_age.txtar, mirror_locked.txtar, names.txtar
	"tuning": "explain jobs min-age mirror reserved-names",
	// where it goes: targets.txtar, agents.txtar
	"places": "agent target as optional",
	// an author's work or a mirror's, on no project: author.txtar, sign.txtar, mirror_airgap.txtar, runtime_read.txtar
	"elsewhere": "all cert check generate-key key push remote age keep size quick plain-http replace from-file with-versions ca from identity issuer last log not-after optional source-repository subject user source as " +
		"allow-unicode-names ignore profile strict-spec fix deps format assets form hide-versions budget-chars examples intent raw references task packaged runtime layers dry-run",
}

// adds are the ways to add: 4 requests a repository, whatever is taken of it.
func adds() map[string]int {
	m := map[string]int{"add DIR": 0, "add --dry-run": 4, "add NAME@": 4}
	for _, at := range []string{"", " @RANGE", " @ref"} {
		for _, what := range []string{"", " --all", " --skill", " DIR/*", " --no-install"} {
			m["add"+at+what] = 4
		}
	}
	return m
}

var table = []row{
	{"add", adds(), "all skill no-install dry-run yes global", []string{"consent", "tuning", "places"}},
	{"install", map[string]int{"install": 0, "install --frozen": 0, "install --no-manifest": 0, "install NAME": 4},
		"frozen no-frozen no-manifest no-install all skill dry-run yes global", []string{"consent", "tuning", "places"}},
	{"lock", map[string]int{"lock": 0}, "check merge install-merge-driver dry-run no-install yes global", []string{"consent", "tuning"}},
	{"update", map[string]int{"update": 4, "update NAME": 4, "update NAME@": 4, "update --latest": 4, "update --dry-run": 4},
		"latest dry-run no-install yes global accept-moved-source accept-moved-tag accept-scripts accept-tools prefer", []string{"consent", "tuning"}},
	{"remove", map[string]int{"remove": 0}, "dry-run no-install yes global", []string{"consent", "tuning"}},
	{"import", map[string]int{"import --dry-run": 4}, "dry-run no-install skill unpin yes global", []string{"consent", "tuning"}},
	{"init", map[string]int{"init": 0}, "from gitattributes global no-install skill unpin", []string{"places"}},
	{"materialize", map[string]int{"materialize": 0}, "dry-run no-install yes global", []string{"consent", "tuning"}},
	{"fetch", map[string]int{"fetch": 0}, "", []string{"tuning"}},
	{"outdated", map[string]int{"outdated": 3}, "exit-code global", nil},
	{"versions", map[string]int{"versions": 2}, "", nil},
	{"search", map[string]int{"search": 4}, "global", nil},
	{"list", map[string]int{"list": 0}, "global", []string{"elsewhere"}},
	{"tree", map[string]int{"tree": 0}, "global", nil},
	{"why", map[string]int{"why": 0, "why --not": 2}, "not global", nil},
	{"info", map[string]int{"info": 0}, "global", nil},
	{"verify", map[string]int{"verify": 0}, "format strict no-manifest global", nil},
	{"doctor", map[string]int{"doctor": 0}, "global", nil},
	{"prompt", map[string]int{"prompt": 0}, "global", nil},
	{"sbom", map[string]int{"sbom": 0}, "global", []string{"elsewhere"}},
	{"export", map[string]int{"export": 0}, "global", []string{"elsewhere"}},
	{"diff", map[string]int{"diff": 0}, "global", nil},
	{"resources", map[string]int{"resources": 0}, "global", nil},
	{"needs", map[string]int{"needs": 0}, "global", nil},
	{"card", map[string]int{"card": 0}, "global", nil},
	{"plan", map[string]int{"plan": 0}, "global", nil},
	{"inspect", map[string]int{"inspect": 0}, "", []string{"elsewhere"}},
	{"pack-context", map[string]int{"pack-context": 0}, "global", []string{"elsewhere"}},
	{"cache dir", nil, "", nil},
	{"cache size", nil, "", nil},
	{"cache gc", nil, "", []string{"elsewhere"}},
	{"cache verify", nil, "", nil},
	{"mirror copy", nil, "", []string{"tuning", "elsewhere"}},
	{"mirror gc", nil, "", []string{"tuning", "elsewhere"}},
	{"mirror list", nil, "", []string{"tuning", "elsewhere"}},
	{"mirror push", nil, "", []string{"tuning", "elsewhere"}},
	{"mirror verify", nil, "", []string{"tuning", "elsewhere"}},
	{"trust add", nil, "", []string{"elsewhere"}},
	{"trust inspect", nil, "", []string{"elsewhere"}},
	{"trust list", nil, "", nil},
	{"trust remove", nil, "", []string{"elsewhere"}},
	{"trust revoke", nil, "", []string{"elsewhere"}},
	{"trust status", nil, "", nil},
	{"trust test", nil, "", nil},
	{"validate", nil, "", []string{"elsewhere"}},
	{"new", nil, "", nil},
	{"sign", nil, "", []string{"elsewhere"}},
	{"tag", nil, "", []string{"elsewhere"}},
	{"completion bash", nil, "no-descriptions", nil},
	{"completion fish", nil, "no-descriptions", nil},
	{"completion powershell", nil, "no-descriptions", nil},
	{"completion zsh", nil, "no-descriptions", nil},
	{"help", nil, "", nil},
	{"version", nil, "", nil},
}

// requestsOf is L6: the table's numbers by label.
var requestsOf = func() map[string]int {
	all := map[string]int{}
	for _, r := range table {
		maps.Copy(all, r.drawn)
	}
	return all
}()

var (
	commandLine = regexp.MustCompile(`(?m)^  ([a-z][a-z-]*) `)
	flagLine    = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z][a-z-]*)`)
)

// Every command and every flag of the program is in the table: a new one says
// there how the laws are held of it.
func TestTableIsComplete(t *testing.T) {
	program := map[string][]string{}
	readTree(t, nil, program)
	if len(program) < 40 {
		t.Fatalf("only %d commands found", len(program))
	}
	for _, r := range table {
		flags, ok := program[r.command]
		if !ok {
			t.Errorf("the table has `%s`, which the program does not have", r.command)
			continue
		}
		delete(program, r.command)
		known := strings.Fields(r.flags)
		for _, g := range r.left {
			if groups[g] == "" {
				t.Errorf("`%s`: there is no group %s", r.command, g)
			}
			known = append(known, strings.Fields(groups[g])...)
		}
		for _, f := range flags {
			if !slices.Contains(known, f) {
				t.Errorf("`skillpm %s --%s` is not in the table: let worlds use it, or name the group of flags that another test holds", r.command, f)
			}
		}
		for _, f := range strings.Fields(r.flags) {
			if !slices.Contains(flags, f) {
				t.Errorf("the table has `skillpm %s --%s`, which the program does not have", r.command, f)
			}
		}
	}
	for name := range program {
		t.Errorf("`skillpm %s` is not in the table: add a row, and let drawCommand draw it if it reads or writes a project", name)
	}
}

// readTree asks the program for its commands and flags.
func readTree(t *testing.T, path []string, found map[string][]string) {
	t.Helper()
	out, err := exec.Command(filepath.Join(binDir, "skillpm"), append(slices.Clone(path), "--help")...).Output()
	if err != nil {
		t.Fatalf("%s --help: %v", strings.Join(path, " "), err)
	}
	text, _, _ := strings.Cut(string(out), "\nGlobal Flags:")
	_, sub, group := strings.Cut(text, "\nAvailable Commands:\n")
	if group {
		sub, _, _ = strings.Cut(sub, "\n\n")
		for _, m := range commandLine.FindAllStringSubmatch(sub, -1) {
			readTree(t, append(slices.Clone(path), m[1]), found)
		}
		return
	}
	_, flags, _ := strings.Cut(text, "\nFlags:\n")
	list := []string{}
	for _, m := range flagLine.FindAllStringSubmatch(flags, -1) {
		if m[1] != "help" {
			list = append(list, m[1])
		}
	}
	found[strings.Join(path, " ")] = list
}
