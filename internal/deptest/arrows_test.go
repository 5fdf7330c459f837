package deptest

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// only says that the packages in may import, beside the standard library,
// nothing but what is listed: directories of this repository and modules.
var only = []struct {
	in      string
	own     []string
	modules []string
	why     string
}{
	{"skill", nil, []string{"golang.org/x/text"},
		"a runtime imports it for the values of a lock, and must not get a YAML reader or a git client with it"},
	{"lockfile", []string{"skill"}, []string{"golang.org/x/text"},
		"a runtime must be able to read and verify a lock without linking the package manager"},
	{"resolver", []string{"skill", "internal/diag"}, []string{"github.com/Masterminds/semver/v3", "golang.org/x/text"},
		"the solver is pure: no clock, disk, network or cache can reach a decision"},
	{"skill/parse", []string{"skill", "internal/diag"}, []string{"go.yaml.in/yaml/v4", "github.com/Masterminds/semver/v3", "golang.org/x/sync", "golang.org/x/text"},
		"reading a SKILL.md needs no project, no network and no store"},
	{"skill/derive", []string{"skill", "skill/parse"}, []string{"golang.org/x/text"},
		"what runtimes read is computed from bytes alone"},
	{"internal/tomledit", nil, []string{"github.com/pelletier/go-toml/v2"},
		"it edits TOML and knows no schema; what a file means is its readers' business"},
	{"internal/manifest", []string{"skill", "internal/diag", "internal/tomledit"}, []string{"golang.org/x/text"},
		"skills.toml is a file format; what its entries lead to is for others to find out"},
	{"internal/interop", []string{"skill", "internal/diag"}, []string{"github.com/pelletier/go-toml/v2", "go.yaml.in/yaml/v4", "golang.org/x/text"},
		"reading another tool's file decides nothing; what its entries lead to is for the project to find out"},
	{"internal/diag", []string{"skill"}, nil,
		"everybody imports it, so whatever it imports is in every package"},
	{"docs", nil, nil, "it holds pages"},
}

// never says that the packages in must not reach the packages to, neither
// directly nor through others.
var never = []struct {
	in, to []string
	why    string
}{
	{[]string{"fetch/..."}, []string{"cache"}, "a source delivers verified bytes; where they are kept is the caller's choice"},
	{[]string{"cache"}, []string{"lockfile"}, "the store serves many projects and knows no lock"},
	{[]string{"signing"}, []string{"fetch/..."}, "verification is offline by construction"},
	{[]string{"internal/install"}, []string{"fetch/..."}, "an installation is planned and done from the store, or it could stop half-way for the network"},
	{[]string{"internal/workspace"}, []string{"internal/world", "cache", "fetch/git", "fetch/oci"}, "a function that takes no more than a project can reach neither store nor network"},
	{[]string{"lockfile", "skill/..."}, []string{"resolver", "internal/workspace", "internal/install"}, "public readers do not pull in the machine"},
}

// confined says that a module is linked through one package alone, so that it
// can be exchanged there and costs nobody else its start-up and build time.
var confined = []struct {
	module string
	in     []string
	why    string
}{
	{"github.com/go-git/", []string{"fetch/git"}, "go-git v6 must be a move inside one package"},
	{"oras.land/", []string{"fetch/oci"}, "it is the client of one kind of mirror"},
	{"github.com/sigstore/", []string{"signing"}, "it brings 72 modules and takes minutes to build"},
	{"go.etcd.io/bbolt", []string{"cache"}, "the index is a cache; nobody else may keep facts in it"},
	{"github.com/pelletier/go-toml/", []string{"internal/tomledit", "internal/interop"}, "there is one editor of our own TOML files, and one reader of other tools'"},
	{"go.yaml.in/yaml/", []string{"skill/parse", "internal/interop"}, "there is one strict reader of frontmatter, and one of other tools' files"},
	{"github.com/CycloneDX/", []string{"internal/sbom"}, "a bill of materials is one foreign document among others"},
	{"github.com/spf13/cobra", []string{"cmd/..."}, "use cases do not know of flags"},
	{"golang.org/x/term", []string{"cmd/..."}, "only the command line knows of terminals"},
	{"github.com/google/go-containerregistry", nil, "it is a server for tests"},
	{"github.com/rogpeppe/go-internal/testscript", nil, "it is for tests"},
	{"github.com/google/go-cmp", nil, "it is for tests"},
	{"pgregory.net/rapid", nil, "it is for tests"},
	{"github.com/santhosh-tekuri/jsonschema", nil, "schemas are proved in tests; at run time our own readers give better messages"},
}

// importers says who may import a package of ours.
var importers = []struct {
	pkg  string
	from []string
	why  string
}{
	{"internal/project", []string{"cmd/..."}, "it knows all others; whoever imports it knows them too"},
	{"internal/world", rooms[2:], "who may ask the world is one of the rooms, or a command that opens a project for them"},
	{"internal/testkit/...", append([]string{"examples/..."}, testPackages...), "its servers are for tests and for the tour"},
	{"internal/fsx", []string{"cmd/internal/cli", "cache", "internal/author", "internal/flock", "internal/install", "internal/apply", "internal/adopt", "internal/views", "internal/project", "internal/workspace"},
		"readers, formats and decisions write no files"},
	{"fetch/fetchtest", testPackages, "it is the suite that every source must pass"},
}

// commandsThatWrite are the files of cmd that import internal/fsx. A command
// reads flags and prints; what it changes on disk a use case changes. The list
// only gets shorter.
var commandsThatWrite = map[string]string{
	"cmd/internal/cli/app.go": "it names the fault of a write to stdout, and writes nothing",
}

func TestCommandsWriteNothing(t *testing.T) {
	writing := map[string]bool{}
	for _, f := range sourceFiles(t) {
		if !f.test && within(f.dir(), "cmd/...") && slices.Contains(f.imports(), module+"/internal/fsx") {
			writing[f.path] = true
			if commandsThatWrite[f.path] == "" {
				t.Errorf("%s imports internal/fsx; a command changes files through a use case", f.path)
			}
		}
	}
	for name := range commandsThatWrite {
		if !writing[name] {
			t.Errorf("%s imports internal/fsx no more; take it out", name)
		}
	}
}

// rooms are the packages that know of projects, lowest first: each may import
// those before it, and none after it.
var rooms = []string{
	"internal/workspace", "internal/world", "internal/decide", "internal/accept", "internal/apply",
	"internal/mirroring", "internal/choose", "internal/adopt", "internal/views", "internal/project", "cmd/...",
}

func TestRoomsKnowOnlyThoseBelow(t *testing.T) {
	g := graph(t)
	for i, room := range rooms[:len(rooms)-1] {
		if g[room] == nil {
			t.Errorf("there is no room %s", room)
		}
		for _, p := range g[room] {
			if within(p, rooms[i+1:]...) {
				t.Errorf("%s imports %s\n\twhy not: a room that knows those above it can promise nothing of its own", room, p)
			}
		}
	}
}

// testPackages are made for tests; they may use whatever serves tests best.
var testPackages = []string{"internal/testkit/...", "fetch/fetchtest"}

// graph maps each package's directory to what its files, tests left out,
// import: directories of this repository and import paths of others.
func graph(t *testing.T) map[string][]string {
	t.Helper()
	edges := map[string]map[string]bool{}
	for _, f := range sourceFiles(t) {
		if f.test {
			continue
		}
		if edges[f.dir()] == nil {
			edges[f.dir()] = map[string]bool{}
		}
		for _, p := range f.imports() {
			edges[f.dir()][strings.TrimPrefix(p, module+"/")] = true
		}
	}
	out := map[string][]string{}
	for dir, set := range edges {
		out[dir] = slices.Sorted(maps.Keys(set))
	}
	return out
}

func isStd(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

func TestArrowsOnly(t *testing.T) {
	g := graph(t)
	for _, rule := range only {
		for _, p := range g[rule.in] {
			_, own := g[p]
			switch {
			case own && slices.Contains(rule.own, p):
			case !own && isStd(p):
			case !own && slices.ContainsFunc(rule.modules, func(m string) bool { return p == m || strings.HasPrefix(p, m+"/") }):
			default:
				t.Errorf("%s imports %s\n\tallowed beside the standard library: %s\n\twhy: %s",
					rule.in, p, strings.Join(append(slices.Clone(rule.own), rule.modules...), ", "), rule.why)
			}
		}
	}
}

func TestArrowsNever(t *testing.T) {
	g := graph(t)
	for _, rule := range never {
		for _, dir := range slices.Sorted(maps.Keys(g)) {
			if !within(dir, rule.in...) {
				continue
			}
			if way := reach(g, dir, rule.to); way != nil {
				t.Errorf("%s reaches %s: %s\n\twhy not: %s", dir, way[len(way)-1], strings.Join(way, " > "), rule.why)
			}
		}
	}
}

// reach returns the shortest way from a package to one of the patterns, nil if
// there is none.
func reach(g map[string][]string, from string, to []string) []string {
	ways := [][]string{{from}}
	seen := map[string]bool{from: true}
	for len(ways) > 0 {
		way := ways[0]
		ways = ways[1:]
		for _, next := range g[way[len(way)-1]] {
			if seen[next] {
				continue
			}
			seen[next] = true
			longer := append(slices.Clone(way), next)
			if within(next, to...) {
				return longer
			}
			ways = append(ways, longer)
		}
	}
	return nil
}

func TestArrowsConfined(t *testing.T) {
	g := graph(t)
	for _, rule := range confined {
		for _, dir := range slices.Sorted(maps.Keys(g)) {
			if within(dir, rule.in...) || within(dir, testPackages...) {
				continue
			}
			for _, p := range g[dir] {
				if strings.HasPrefix(p, rule.module) {
					t.Errorf("%s imports %s\n\tallowed in: %s\n\twhy: %s", dir, p, strings.Join(rule.in, ", "), rule.why)
				}
			}
		}
	}
}

func TestArrowsImporters(t *testing.T) {
	g := graph(t)
	for _, rule := range importers {
		for _, dir := range slices.Sorted(maps.Keys(g)) {
			if within(dir, rule.from...) || within(dir, rule.pkg) {
				continue
			}
			for _, p := range g[dir] {
				if within(p, rule.pkg) {
					t.Errorf("%s imports %s\n\tallowed from: %s\n\twhy: %s", dir, p, strings.Join(rule.from, ", "), rule.why)
				}
			}
		}
	}
}

// The only-rules name packages; a package that was renamed must not slip out.
func TestArrowsNameRealPackages(t *testing.T) {
	g := graph(t)
	for _, rule := range only {
		if _, ok := g[rule.in]; !ok {
			t.Errorf("a rule is about %s, which is no package", rule.in)
		}
	}
}
