package manifest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/internal/diag"
)

// rangeOf stands for resolver.CheckRange.
func rangeOf(s string) error {
	if strings.Contains(s, "nonsense") {
		return errors.New("improper constraint")
	}
	return nil
}

const sample = `# our skills
[skills]
deploy = "^2.0 github.com/acme/skills//skills/deploy"   # range, then source
pdf    = { source = "github.com/anthropics/skills//skills/pdf", ref = "main" }
vault  = { source = "git@git.example:acme/skills//vault", version = "=1.0.0", digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000" }
house  = { path = "./skills/house", use = "optional", hold = true }

[skills.notes]
source = "acme/notes"
use = 'required'

[overrides]
style-guide = "^3.0"

[install]
agents = ["claude-code", "codex"]
targets = ["tools/skills"]
link = "hardlink"
max_files = 20_000

[trust]
sources = ["github.com/acme/**"]
min_age = "3d"

[[trust.rules]]
match = "github.com/acme/**"
mode = "required"

[registries]
acme = "https://skills.acme.example/index.json"
[mirrors]
office = "dir:/mnt/mirror"
lab = "oci://registry.example/skills"
[validate]
ignore = ["body_long"]
strict_spec = false
profile = "agently"
[git]
cli = "never"
`

func TestParse(t *testing.T) {
	m, err := Parse("skills.toml", []byte(sample), rangeOf)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range m.Skills {
		got = append(got, fmt.Sprintf("%d:%d %s = %s use=%s hold=%v", s.Line, s.Column, s.Key, s.Requirement, s.Use, s.Hold))
	}
	want := []string{
		"3:1 deploy = ^2.0 github.com/acme/skills//skills/deploy use= hold=false",
		"4:1 pdf = github.com/anthropics/skills//skills/pdf ref:main use= hold=false",
		"5:1 vault = =1.0.0 git.example/acme/skills//vault sha256:" + strings.Repeat("0", 64) + " use= hold=false",
		"6:1 house = * path:skills/house use=optional hold=true",
		"8:9 notes = * github.com/acme/notes// use=required hold=false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	no := false
	wantConfig := Config{
		Install:    Install{Agents: []string{"claude-code", "codex"}, AgentPlaces: []Place{{16, 11}, {16, 26}}, Targets: []string{"tools/skills"}, Link: "hardlink", MaxFiles: 20000},
		Registries: []Named{{"acme", "https://skills.acme.example/index.json", 30, 1}},
		Mirrors:    []Named{{"office", "dir:/mnt/mirror", 32, 1}, {"lab", "oci://registry.example/skills", 33, 1}},
		Validate:   Validate{Ignore: []string{"body_long"}, StrictSpec: &no, Profile: "agently"},
		Git:        Git{CLI: "never"},
	}
	if diff := cmp.Diff(wantConfig, m.Config); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Trust{Sources: []string{"github.com/acme/**"}, MinAge: "3d"}, m.Trust); diff != "" {
		t.Error(diff)
	}
	if m.Overrides[0].Key != "style-guide" || m.Overrides[0].Requirement.Range != "^3.0" {
		t.Errorf("overrides: %+v", m.Overrides)
	}
}

// Every mistake of a file is reported at once, each where it stands.
func TestMistakes(t *testing.T) {
	tests := []struct {
		name, text string
		want       string
	}{
		{"all at once", "[skills]\na = \"^1 nonsense ref:x\"\nb = 3\nc = { src = 'x', version='nonsense' , digest = 'sha256:12'}\n[instal]\n[install]\nlink='hardlnk'\nagents='x'\n",
			"2:18 requirement_syntax\n3:5 manifest_invalid\n4:7 manifest_invalid\n4:27 requirement_syntax\n4:49 requirement_syntax\n5:2 manifest_invalid\n7:6 manifest_invalid\n8:8 manifest_invalid"},
		{"before a syntax fault too", "[skills]\nb = 3\nx = = 4", "2:5 manifest_invalid\n3:5 manifest_invalid"},
		{"defined twice", "[git]\ncli = 'auto'\ncli = 'never'\n", "3:1 manifest_invalid"},
		{"keys equal when folded", "[skills]\nPdf = '*'\npdf = '*'\n", "3:1 manifest_invalid"},
		{"keys no directory can have", "[skills]\n'..' = '*'\nCON = '*'\n\"a b\" = '*'\n", "2:1 manifest_invalid\n3:1 manifest_invalid\n4:1 manifest_invalid"},
		{"inside an escaped string", "[skills]\na = \"\\u0020\\tref:~\"\n", "2:14 requirement_syntax"},
		{"inside a text of several lines", "[skills]\na = \"\"\"\nref:~\"\"\"\n", "3:1 requirement_syntax"},
		{"byte order mark and wide letters", "\ufeff[git]\n'ä' = 1\ncli = 'ü'\n", "2:1 manifest_invalid\n3:7 manifest_invalid"},
		{"range beside ref", "[skills]\na = { source = 'a/b', ref = 'x', version = '1' }\n", "2:23 requirement_syntax"},
		{"path beside source", "[skills]\na = { source = 'a/b', path = 'x' }\n", "2:23 requirement_syntax"},
		{"a path has no ref", "[skills]\na = './x ref:main'\n", "2:5 requirement_syntax"},
		{"a path of one machine", "[skills]\na = '/srv/a'\nb = { path = 'C:\\x' }\n", "2:5 requirement_syntax\n3:5 requirement_syntax"},
		{"version is a range alone", "[skills]\na = { version = '1 a/b' }\n", "2:18 requirement_syntax"},
		{"password", "[skills]\na = 'https://u:p@host.example/x/y'\n[mirrors]\nm = 'https://u:p@host.example'\n", "2:5 requirement_syntax\n4:5 manifest_invalid"},
		{"targets", "[install]\ntargets = ['../x', '/x', 'a/../b', '~/x', '.', 'C:\\x', 'ok/', 3]\n", "2:12 target_unsafe\n2:20 target_unsafe\n2:26 manifest_invalid\n2:36 target_unsafe\n2:43 manifest_invalid\n2:48 target_unsafe\n2:63 manifest_invalid"},
		{"ignored codes are notes", "[validate]\nignore = ['body_long', 'name_empty', 'nosuch']\n", "2:24 manifest_invalid\n2:38 manifest_invalid"},
		{"not UTF-8", "[git]\ncli = '\xff'\n", "2:8 manifest_invalid"},
		{"skills is no table", "skills = 3\n", "1:10 manifest_invalid"},
		{"use", "[skills]\na = { use = 'always' }\n[overrides]\nb = { use = 'required' }\n", "2:13 manifest_invalid\n4:7 manifest_invalid"},
		{"hold", "[skills]\na = { hold = 'yes' }\n[overrides]\nb = { hold = true }\n", "2:14 manifest_invalid\n4:7 manifest_invalid"},
		{"limits", "[install]\nmax_files = 0\nmax_bytes = 'x'\n", "2:13 manifest_invalid\n3:13 manifest_invalid"},
		{"eddieran", "version = 1\n[[skills]]\nref = 'a'\nconstraint = '1'\n[[adapters]]\nname = 'x'\n", "1:1 manifest_foreign"},
		{"FastSkill", "[metadata]\nversion = '1'\n[[skills]]\nid = 'x'\n", "1:1 manifest_foreign"},
		{"names of Composer", "[skills]\n'acme/pdf' = '^1.0'\n", "1:1 manifest_foreign"},
		{"a list of skills", "[[skills]]\nname = 'x'\n", "1:1 manifest_foreign"},
		{"a list of strings is a mistake", "skills = ['a/b']\n", "1:10 manifest_invalid"},
		{"sksup", "[package]\nname = 'x'\n[dependencies]\na = 'b'\n", "1:1 manifest_foreign"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("skills.toml", []byte(tt.text), rangeOf)
			var got []string
			for _, e := range diag.All(err) {
				got = append(got, fmt.Sprintf("%d:%d %s", e.Line, e.Column, e.Code))
				if e.File != "skills.toml" {
					t.Errorf("no file in %v", e)
				}
				if strings.Contains(e.Message, "u:p@") {
					t.Errorf("a password in %q", e.Message)
				}
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

func TestCheckAgents(t *testing.T) {
	m, err := Parse("skills.toml", []byte("[install]\nagents = ['codex',\n  'claude']\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	err = m.CheckAgents(func(id string) (bool, []string) { return id == "codex", []string{"claude-code"} })
	list := diag.All(err)
	if len(list) != 1 || list[0].Line != 3 || list[0].Column != 3 || list[0].Code != diag.ManifestInvalid || list[0].Hint != "did you mean claude-code?" {
		t.Errorf("%+v", list)
	}
}

func TestHints(t *testing.T) {
	_, err := Parse("skills.toml", []byte("[instal]\n"), nil)
	if got := diag.All(err)[0].Hint; got != "did you mean `install`?" {
		t.Errorf("hint %q", got)
	}
}

func TestParseConfig(t *testing.T) {
	c, err := ParseConfig("config.toml", []byte("[git]\ncli = 'always'\n[install]\nlink = 'symlink'\n"))
	if err != nil || c.Git.CLI != "always" || c.Install.Link != "symlink" {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := ParseConfig("config.toml", []byte("[skills]\n")); diag.CodeOf(err) != diag.ManifestInvalid {
		t.Errorf("[skills] in config.toml: %v", err)
	}
}

func TestLayer(t *testing.T) {
	user := Config{
		Install:    Install{Link: "symlink", Expose: "direct", Agents: []string{"codex"}},
		Registries: []Named{{Name: "a", Address: "user-a"}, {Name: "b", Address: "user-b"}},
	}
	project := Config{
		Install:    Install{Link: "hardlink", Agents: []string{}},
		Registries: []Named{{Name: "c", Address: "project-c"}, {Name: "a", Address: "project-a"}},
	}
	want := Config{
		Install:    Install{Link: "hardlink", Expose: "direct", Agents: []string{}, Unmanaged: "note", Validation: "lenient"},
		Registries: []Named{{Name: "c", Address: "project-c"}, {Name: "a", Address: "project-a"}, {Name: "b", Address: "user-b"}},
		Git:        Git{CLI: "auto"},
	}
	defaults := Config{Install: Install{Link: "copy", Expose: "all", Unmanaged: "note", Validation: "lenient"}, Git: Git{CLI: "auto"}}
	if diff := cmp.Diff(want, Layer(defaults, user, project)); diff != "" {
		t.Error(diff)
	}
}

// An unknown field of an entry is told what it may have been meant to be.
func TestUnknownFieldHint(t *testing.T) {
	for name, want := range map[string]string{
		"sorce": "source", "git": "source", "URL": "source", "branch": "ref", "tag": "ref", "rev": "ref",
		"versoin": "version", "range": "version", "holt": "hold", "pinned": "hold", "sha256": "digest", "zzz": "",
	} {
		_, err := Parse(FileName, []byte("[skills]\na = { "+name+" = 'x' }\n"), nil)
		hint := ""
		if want != "" {
			hint = "did you mean `" + want + "`?"
		}
		if list := diag.All(err); len(list) != 1 || list[0].Hint != hint {
			t.Errorf("%s: %v, want the hint %q", name, list, hint)
		}
	}
	_, err := Parse(FileName, []byte("[overrides]\na = { pinned = true }\n"), nil)
	if list := diag.All(err); len(list) != 1 || list[0].Hint != "" {
		t.Errorf("an override is offered what it cannot have: %v", list)
	}
}

func TestTrustSection(t *testing.T) {
	data := "# ä\n[skills]\na = '*'\n[trust]\nmin_age = '3d' # note\n[[trust.rules]]\nmatch = 'x'\n[git]\ncli='auto'\n"
	got := string(TrustSection([]byte(data)))
	if len(got) != len(data) || strings.Count(got, "\n") != strings.Count(data, "\n") {
		t.Fatalf("size changed: %q", got)
	}
	var lines []string
	for line := range strings.Lines(got) {
		lines = append(lines, strings.TrimSpace(line))
	}
	want := []string{"", "", "", "[trust]", "min_age = '3d'", "[[trust.rules]]", "match = 'x'", "", ""}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
	if TrustSection([]byte("[skills]\n")) != nil {
		t.Error("a section where there is none")
	}
}
