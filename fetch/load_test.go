package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/fetch/fetchtest"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/testkit"
	"github.com/skillpm/skillpm/skill"
)

type files = map[string]testkit.File

func link(target string) testkit.File  { return testkit.File{Mode: "120000", Data: target} }
func text(content string) testkit.File { return testkit.File{Data: content} }

const someCommit = "0123456789012345678901234567890123456789"

// commitOf writes a repository with one commit of files.
func commitOf(t *testing.T, content files) (*fetchtest.Snapshot, fetch.ID) {
	t.Helper()
	repo, err := testkit.NewRepo(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := repo.Files(content)
	if err != nil {
		t.Fatal(err)
	}
	return commitTree(t, repo, tree)
}

func commitTree(t *testing.T, repo *testkit.Repo, tree string) (*fetchtest.Snapshot, fetch.ID) {
	t.Helper()
	id, err := repo.Commit(tree, "one")
	if err != nil {
		t.Fatal(err)
	}
	return &fetchtest.Snapshot{Repo: repo}, fetch.ID(id)
}

// load returns the skill's files as "mode path content" lines, in tree order.
func load(t *testing.T, s fetch.Snapshot, commit fetch.ID, path string, limits skill.Limits) (string, *fetch.Content, error) {
	t.Helper()
	content := map[string]string{}
	c, err := fetch.Load(t.Context(), s, commit, path, fetch.LoadOptions{Limits: limits}, func(f skill.File, data []byte) error {
		if _, twice := content[f.Path]; twice {
			t.Errorf("%s came twice", f.Path)
		}
		content[f.Path] = string(data)
		return nil
	})
	if err != nil {
		return "", nil, err
	}
	var b strings.Builder
	for _, f := range c.Tree.Files() {
		mode := "-"
		if f.Exec {
			mode = "x"
		}
		fmt.Fprintf(&b, "%s %s %s\n", mode, f.Path, content[f.Path])
	}
	return b.String(), c, nil
}

func TestLoad(t *testing.T) {
	for _, tt := range []struct {
		name    string
		path    string
		content files
		want    string
	}{
		{"plain", "s", files{"s/SKILL.md": text("a"), "s/b/c": {Mode: "100755", Data: "d"}, "other": text("x")}, "- SKILL.md a\nx b/c d\n"},
		{"root", "", files{"SKILL.md": text("a"), "b": text("c")}, "- SKILL.md a\n- b c\n"},
		{"old group-writable mode", "s", files{"s/SKILL.md": {Mode: "100664", Data: "a"}}, "- SKILL.md a\n"},
		{"one content, two paths", "s", files{"s/SKILL.md": text("a"), "s/b": text("a")}, "- SKILL.md a\n- b a\n"},
		{"lower case", "s", files{"s/skill.md": text("a")}, "- skill.md a\n"},
		{"file link", "s", files{"s/SKILL.md": text("a"), "s/l": link("../up/f"), "up/f": {Mode: "100755", Data: "f"}}, "- SKILL.md a\nx l f\n"},
		{"link to a link", "s", files{"s/SKILL.md": text("a"), "s/l": link("m"), "s/m": link("../f"), "f": text("f")}, "- SKILL.md a\n- l f\n- m f\n"},
		{"directory link", "s", files{"s/SKILL.md": text("a"), "s/l": link("../lib/"), "lib/x/y": text("z")}, "- SKILL.md a\n- l/x/y z\n"},
		{"one directory linked twice", "s", files{"s/SKILL.md": text("a"), "s/l": link("../lib"), "s/m": link("../lib"), "lib/y": text("z")}, "- SKILL.md a\n- l/y z\n- m/y z\n"},
		{"links inside what a link names", "s", files{"s/SKILL.md": text("a"), "s/l": link("../lib"), "lib/y": link("../f"), "f": text("z")}, "- SKILL.md a\n- l/y z\n"},
		{"parent of a linked directory is its real parent", "s", files{"s/SKILL.md": text("a"), "s/l": link("d/../f"), "s/d": link("../a/b"), "a/b/g": text("g"), "a/f": text("real")}, "- SKILL.md a\n- d/g g\n- l real\n"},
		{"SKILL.md is a link", "s", files{"s/SKILL.md": link("../t.md"), "t.md": text("t")}, "- SKILL.md t\n"},
		{"the skill's directory is a link", "l", files{"l": link("d/s"), "d/s/SKILL.md": text("a")}, "- SKILL.md a\n"},
		{"the skill's parent is a link", "l/s", files{"l": link("d"), "d/s/SKILL.md": text("a")}, "- SKILL.md a\n"},
		{"the signature is apart", "s", files{"s/SKILL.md": text("a"), "s/skill.oms.sig": text("sig"), "s/sub/skill.oms.sig": text("mine")}, "- SKILL.md a\n- sub/skill.oms.sig mine\n"},
		{"a text about LFS is no pointer", "s", files{"s/SKILL.md": text("version https://git-lfs.github.com/spec/v1\nis how a pointer begins")}, "- SKILL.md version https://git-lfs.github.com/spec/v1\nis how a pointer begins\n"},
		{"faults outside do not matter", "s", files{"s/SKILL.md": text("a"), "t/l": link("/etc/passwd"), "CON": text("c"), "m": {Mode: "160000", Data: someCommit}}, "- SKILL.md a\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, commit := commitOf(t, tt.content)
			got, c, err := load(t, s, commit, tt.path, skill.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if _, signed := tt.content["s/skill.oms.sig"]; signed != (string(c.Signature) == "sig") {
				t.Errorf("signature %q", c.Signature)
			}
		})
	}
}

func TestLoadRefuses(t *testing.T) {
	good := text("a")
	pointer := text("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n")
	for _, tt := range []struct {
		name    string
		content files
		code    diag.Code
	}{
		{"no directory", files{"x": good}, diag.SkillNotFound},
		{"signature too large", files{"s/SKILL.md": good, "s/skill.oms.sig": text(strings.Repeat("s", 8<<20+1))}, diag.SignatureTooLarge},
		{"no SKILL.md", files{"s/README.md": good}, diag.SkillNotFound},
		{"a file", files{"s": good}, diag.SkillNotFound},
		{"SKILL.md is a directory", files{"s/SKILL.md/x": good}, diag.SkillNotFound},
		{"SKILL.md dangles", files{"s/SKILL.md": link("gone")}, diag.SymlinkDangling},
		{"link escapes", files{"s/SKILL.md": good, "s/l": link("../../etc/passwd")}, diag.SymlinkEscapes},
		{"link escapes on a detour", files{"s/SKILL.md": good, "s/l": link("../../s/SKILL.md")}, diag.SymlinkEscapes},
		{"absolute link", files{"s/SKILL.md": good, "s/l": link("/etc/passwd")}, diag.SymlinkEscapes},
		{"dangling link", files{"s/SKILL.md": good, "s/l": link("gone")}, diag.SymlinkDangling},
		{"empty link", files{"s/SKILL.md": good, "s/l": link("")}, diag.SymlinkDangling},
		{"link through a file", files{"s/SKILL.md": good, "s/l": link("SKILL.md/x")}, diag.SymlinkDangling},
		{"link to a file with a slash", files{"s/SKILL.md": good, "s/l": link("SKILL.md/")}, diag.SymlinkDangling},
		{"link longer than a path can be", files{"s/SKILL.md": good, "s/l": link(strings.Repeat("./", 3000) + "SKILL.md")}, diag.SymlinkDangling},
		{"link to itself", files{"s/SKILL.md": good, "s/l": link("l")}, diag.SymlinkLoop},
		{"two links in a circle", files{"s/SKILL.md": good, "s/l": link("m"), "s/m": link("l")}, diag.SymlinkLoop},
		{"link to its directory", files{"s/SKILL.md": good, "s/l": link(".")}, diag.SymlinkLoop},
		{"link to the root", files{"s/SKILL.md": good, "s/l": link("..")}, diag.SymlinkLoop},
		{"directories that link to each other", files{"s/SKILL.md": good, "s/l": link("../t"), "t/l": link("../s")}, diag.SymlinkLoop},
		{"a circle by way of a parent", files{"a/s/SKILL.md": good, "s": link("a/s"), "a/s/x": link("../../b/c"), "b/c/l": link("../../a")}, diag.SymlinkLoop},
		{"link into a submodule", files{"s/SKILL.md": good, "s/l": link("../m/x"), "m": {Mode: "160000", Data: someCommit}}, diag.SubmoduleInSkill},
		{"submodule", files{"s/SKILL.md": good, "s/m": {Mode: "160000", Data: someCommit}}, diag.SubmoduleInSkill},
		{"the skill is in a submodule", files{"s": {Mode: "160000", Data: someCommit}}, diag.SubmoduleInSkill},
		{"LFS pointer", files{"s/SKILL.md": good, "s/big.bin": pointer}, diag.LfsPointer},
		{"odd type", files{"s/SKILL.md": good, "s/odd": {Mode: "10644", Data: "x"}}, diag.PathUnsafe},
		{"device name", files{"s/SKILL.md": good, "s/aux.txt": good}, diag.PathUnsafe},
		{"backslash", files{"s/SKILL.md": good, `s/a\b`: good}, diag.PathUnsafe},
		{"control character", files{"s/SKILL.md": good, "s/a\nb": good}, diag.PathUnsafe},
		{"not UTF-8", files{"s/SKILL.md": good, "s/a\xff": good}, diag.PathUnsafe},
		{".git", files{"s/SKILL.md": good, "s/.GIT/config": good}, diag.PathUnsafe},
		{"git~1", files{"s/SKILL.md": good, "s/sub/git~1": good}, diag.PathUnsafe},
		{"equal without case", files{"s/SKILL.md": good, "s/a": good, "s/A": good}, diag.PathUnsafe},
		{"two spellings of SKILL.md", files{"s/SKILL.md": good, "s/skill.md": good}, diag.PathUnsafe},
		{"equal after normalisation", files{"s/SKILL.md": good, "s/\u00e9": good, "s/e\u0301": good}, diag.PathUnsafe},
		{"directory equal without case", files{"s/SKILL.md": good, "s/a/x": good, "s/A/y": good}, diag.PathUnsafe},
		{"signature is a directory", files{"s/SKILL.md": good, "s/skill.oms.sig/x": good}, diag.PathUnsafe},
		{"signature in another case", files{"s/SKILL.md": good, "s/Skill.OMS.sig": good}, diag.PathUnsafe},
		{"too many files", files{"s/SKILL.md": good, "s/1": good, "s/2": good, "s/3": good, "s/4": good}, diag.TreeTooLarge},
		{"too many files by a link", files{"s/SKILL.md": good, "s/l": link("../t"), "t/2": good, "t/3": good, "t/4": good, "t/5": good}, diag.TreeTooLarge},
		{"file too large", files{"s/SKILL.md": good, "s/f": text(strings.Repeat("x", 101))}, diag.TreeTooLarge},
		{"too large in all", files{"s/SKILL.md": good, "s/f": text(strings.Repeat("x", 80)), "s/g": text(strings.Repeat("y", 80))}, diag.TreeTooLarge},
		{"too large by copies", files{"s/SKILL.md": good, "s/f": text(strings.Repeat("x", 80)), "s/g": link("f")}, diag.TreeTooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, commit := commitOf(t, tt.content)
			_, _, err := load(t, s, commit, "s", skill.Limits{Files: 4, Bytes: 150, FileBytes: 100})
			if err != nil {
				t.Log(err)
			}
			if got := diag.CodeOf(err); got != tt.code {
				t.Errorf("code %q (%v), want %q", got, err, tt.code)
			}
		})
	}
}

// What no git would write: names that are no names, and trees that unfold
// without end.
func TestLoadRefusesForgedTrees(t *testing.T) {
	repo, err := testkit.NewRepo(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	blob, err := repo.Blob("a")
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string) testkit.Entry { return testkit.Entry{Mode: "100644", Name: name, ID: blob} }
	tree := func(entries ...testkit.Entry) string {
		id, err := repo.Tree(entries...)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	dir := func(name, id string) testkit.Entry { return testkit.Entry{Mode: "40000", Name: name, ID: id} }
	bomb := tree(file("f"))
	hollow := tree()
	deep := tree(file("f"))
	for range 40 {
		bomb = tree(dir("a", bomb), dir("b", bomb))
		hollow = tree(dir("a", hollow), dir("b", hollow))
	}
	for range 25 {
		deep = tree(dir(strings.Repeat("d", 200), deep))
	}
	for _, tt := range []struct {
		name string
		tree string
		code diag.Code
	}{
		{"dot dot", tree(file("SKILL.md"), file("..")), diag.PathUnsafe},
		{"dot", tree(file("."), file("SKILL.md")), diag.PathUnsafe},
		{"slash", tree(file("../x"), file("SKILL.md")), diag.PathUnsafe},
		{"absolute", tree(file("/x"), file("SKILL.md")), diag.PathUnsafe},
		{"empty name", tree(file(""), file("SKILL.md")), diag.PathUnsafe},
		{"one name twice", tree(file("SKILL.md"), file("SKILL.md")), diag.PathUnsafe},
		{"a slash in a name", tree(file("SKILL.md"), file("a/b")), diag.PathUnsafe},
		{"file and directory of one name", tree(file("SKILL.md"), file("a"), dir("a", tree(file("b")))), diag.PathUnsafe},
		{"two directories of one name", tree(file("SKILL.md"), dir("a", tree(file("b"))), dir("a", tree(file("c")))), diag.PathUnsafe},
		{"bomb", tree(file("SKILL.md"), dir("b", bomb)), diag.TreeTooLarge},
		{"bomb of empty directories", tree(file("SKILL.md"), dir("b", hollow)), diag.TreeTooLarge},
		{"deep", tree(file("SKILL.md"), dir("d", deep)), diag.PathUnsafe},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, commit := commitTree(t, repo, tree(dir("s", tt.tree)))
			_, _, err := load(t, s, commit, "s", skill.Limits{})
			if got := diag.CodeOf(err); got != tt.code {
				t.Errorf("code %q (%v), want %q", got, err, tt.code)
			}
			if _, err := fetch.Discover(t.Context(), s, commit); err != nil && diag.CodeOf(err) != diag.FetchTooLarge {
				t.Errorf("Discover: %v", err)
			}
		})
	}
}

func TestLoadReportsAllFaults(t *testing.T) {
	s, commit := commitOf(t, files{"s/SKILL.md": text("a"), "s/aux": text("a"), "s/l": link("gone"), "s/m": {Mode: "160000", Data: someCommit}})
	_, _, err := load(t, s, commit, "s", skill.Limits{})
	list := diag.All(err)
	if len(list) != 3 || list[0].File != "s/aux" || list[2].Code != diag.SubmoduleInSkill {
		t.Errorf("%d findings: %v", len(list), err)
	}
}

func TestLoadManyKeepsFaultsApart(t *testing.T) {
	s, commit := commitOf(t, files{"a/SKILL.md": text("a"), "b/SKILL.md": text("b"), "b/l": link("/x"), "c/SKILL.md": text("a")})
	got := map[int]string{}
	list, err := fetch.LoadMany(t.Context(), s, []fetch.SkillAt{{Commit: commit, Path: "a"}, {Commit: commit, Path: "b"}, {Commit: commit, Path: "c"}, {Commit: commit, Path: "d"}},
		fetch.LoadOptions{Repository: "example.com/x"}, func(i int, f skill.File, data []byte) error {
			got[i] += f.Path + " " + string(data)
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	if list[0].Err != nil || diag.CodeOf(list[1].Err) != diag.SymlinkEscapes || list[2].Err != nil || diag.CodeOf(list[3].Err) != diag.SkillNotFound {
		t.Errorf("%v", list)
	}
	if diff := cmp.Diff(map[int]string{0: "SKILL.md a", 2: "SKILL.md a"}, got); diff != "" {
		t.Error(diff)
	}
	if n := s.Batches.Load(); n != 2 { // the links, then all files
		t.Errorf("%d batches", n)
	}
}

// lossy has lost one file.
type lossy struct {
	fetch.Snapshot
	lost fetch.ID
}

func (l *lossy) Blobs(ctx context.Context, ids []fetch.ID, visit func(fetch.ID, []byte) error) error {
	if slices.Contains(ids, l.lost) {
		return diag.New(diag.FetchFailed, "corrupt")
	}
	return l.Snapshot.Blobs(ctx, ids, visit)
}

// A file that the server has lost is the fault of the skill that needs it alone.
func TestLoadManySurvivesALostFile(t *testing.T) {
	content := files{}
	for i := range 6 {
		content[fmt.Sprintf("s%d/SKILL.md", i)] = text(fmt.Sprint("skill ", i))
	}
	s, commit := commitOf(t, content)
	lost, err := s.Repo.Blob("skill 2")
	if err != nil {
		t.Fatal(err)
	}
	var at []fetch.SkillAt
	for i := range 6 {
		at = append(at, fetch.SkillAt{Commit: commit, Path: fmt.Sprintf("s%d", i)})
	}
	came := map[int]int{}
	list, err := fetch.LoadMany(t.Context(), &lossy{s, fetch.ID(lost)}, at, fetch.LoadOptions{}, func(i int, _ skill.File, _ []byte) error {
		came[i]++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range list {
		if (l.Err != nil) != (i == 2) || came[i] != 1 && i != 2 {
			t.Errorf("skill %d: %v, came %d times", i, l.Err, came[i])
		}
	}
}

// asking notes which files each request is for.
type asking struct {
	fetch.Snapshot
	asked [][]fetch.ID
}

func (a *asking) Blobs(ctx context.Context, ids []fetch.ID, visit func(fetch.ID, []byte) error) error {
	a.asked = append(a.asked, ids)
	return a.Snapshot.Blobs(ctx, ids, visit)
}

// The SKILL.md of places beside come with the files of what is loaded, and to find
// skills costs nothing.
func TestLoadManyBeside(t *testing.T) {
	s, commit := commitOf(t, files{"a/SKILL.md": text("a"), "a/x": text("x"), "b/SKILL.md": text("b"), "b/x": text("other"), "c/x": text("c")})
	counted := &asking{Snapshot: s}
	at := []fetch.SkillAt{{commit, "a"}, {commit, "b"}, {commit, "c"}}
	found, err := fetch.FindSkills(t.Context(), counted, at)
	if err != nil || len(counted.asked) > 0 {
		t.Fatal(err, counted.asked)
	}
	if found[1].Name != "SKILL.md" || found[1].GitTree == "" || found[1].Data != nil || diag.CodeOf(found[2].Err) != diag.SkillNotFound {
		t.Errorf("found %+v", found)
	}
	came := 0
	if _, err = fetch.LoadMany(t.Context(), counted, at[:1], fetch.LoadOptions{Beside: at[1:]}, func(int, skill.File, []byte) error {
		came++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	beside, err := s.Repo.Blob("b")
	if err != nil {
		t.Fatal(err)
	}
	if len(counted.asked) != 1 || len(counted.asked[0]) != 3 || !slices.Contains(counted.asked[0], fetch.ID(beside)) || came != 2 {
		t.Errorf("asked for %v, %d files came", counted.asked, came)
	}
}

func TestLoadReturnsTheSinksError(t *testing.T) {
	s, commit := commitOf(t, files{"s/SKILL.md": text("a")})
	full := errors.New("disk full")
	_, err := fetch.Load(t.Context(), s, commit, "s", fetch.LoadOptions{}, func(skill.File, []byte) error { return full })
	if err != full {
		t.Errorf("%v", err)
	}
}

func TestSkillFiles(t *testing.T) {
	s, commit := commitOf(t, files{"a/Skill.md": text("a"), "b/SKILL.md": link("../a/Skill.md"), "c/x": text("c"), "d/SKILL.md": text("d"), "d/skill.md": text("wrong")})
	list, err := fetch.SkillFiles(t.Context(), s, []fetch.SkillAt{{commit, "a"}, {commit, "b"}, {commit, "c"}, {commit, "d"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range list {
		got = append(got, fmt.Sprintf("%s %s %s %s", f.At.Path, f.Name, f.Data, diag.CodeOf(f.Err)))
	}
	if diff := cmp.Diff([]string{"a Skill.md a ", "b SKILL.md a ", "c   skill_not_found", "d SKILL.md d "}, got); diff != "" {
		t.Error(diff)
	}
}
