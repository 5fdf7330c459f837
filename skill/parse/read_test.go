package parse_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill/parse"
)

// codes lists findings as "severity code line", in order.
func codes(list diag.List) string {
	var out []string
	for _, e := range list {
		out = append(out, string(e.Severity)+" "+string(e.Code))
	}
	return strings.Join(out, ", ")
}

func TestReadTakesWhatIsPublished(t *testing.T) {
	for _, c := range []struct {
		name, text string
		opt        parse.Options
		want       string // name | description | allowed-tools | body
		findings   string
	}{
		{
			name: "plain", text: "---\nname: a\ndescription: D.\n---\nbody",
			want: "a | D. |  | body",
		},
		{
			name: "byte order mark and blank lines", text: "\ufeff\n  \n---\nname: a\ndescription: D.\n---\nbody",
			want: "a | D. |  | body", findings: "warning frontmatter_bom, warning frontmatter_missing",
		},
		{
			name: "CRLF", text: "---\r\nname: a\r\ndescription: D.\r\n---\r\nbody\r\n",
			want: "a | D. |  | body\r\n",
		},
		{
			name: "a colon in a value", text: "---\nname: a\ndescription: Use when: it\n  rains: hard\n---\nbody",
			want: "a | Use when: it rains: hard |  | body", findings: "warning frontmatter_repaired",
		},
		{
			name: "scalars keep their text", text: "---\nname: yes\ndescription: 1.10\nallowed-tools: 0x10\n---\n",
			want: "yes | 1.10 | 0x10 | ", findings: "note scalar_not_string, note scalar_not_string, note scalar_not_string",
		},
		{
			name: "lists", text: "---\nname: a\ndescription: [x, y]\nallowed-tools:\n  - Bash(git:*)\n  - Read\n---\n",
			want: "a | x, y | Bash(git:*), Read | ", findings: "note yaml_flow, warning description_not_string, note allowed_tools_shape",
		},
		{
			name: "comma string verbatim", text: "---\nname: a\ndescription: D.\nallowed-tools: Read,  Grep \n---\n",
			want: "a | D. | Read,  Grep | ", findings: "note allowed_tools_shape",
		},
		{
			name: "nothing declared", text: "---\n---\nbody",
			want: " |  |  | body", findings: "warning name_missing, warning description_missing",
		},
		{
			name: "another name and spelling", text: "---\nname: My Skill\ndescription: D.\n---\n", opt: parse.Options{File: "skill.md", Dir: "x"},
			want: "My Skill | D. |  | ", findings: "warning skill_file_case, warning name_charset",
		},
		{
			name: "null metadata", text: "---\nname: a\ndescription: D.\nmetadata:\n---\n",
			want: "a | D. |  | ", findings: "warning metadata_not_mapping",
		},
		{name: "no frontmatter", text: "# A\n", findings: "error frontmatter_missing"},
		{name: "not closed", text: "---\nname: a\n", findings: "error frontmatter_not_closed"},
		{name: "a list", text: "---\n- a\n---\n", findings: "error frontmatter_not_mapping"},
		{name: "not UTF-8", text: "---\nname: \xff\n---\n", findings: "error not_utf8"},
		{name: "duplicate key", text: "---\nname: a\nname: b\n---\n", findings: "error yaml_duplicate_key"},
		{name: "a template", text: "---\nname: {{name}}\n---\n", findings: "error yaml_invalid"},
		{name: "too large", text: "---\nname: a\n---\n" + strings.Repeat("x", parse.MaxFileBytes), findings: "error file_large"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, list := parse.Read([]byte(c.text), c.opt)
			if got := codes(list); got != c.findings {
				t.Errorf("findings: %s\nwant:     %s", got, c.findings)
			}
			if s == nil {
				if c.want != "" {
					t.Errorf("nothing was read, want %s", c.want)
				}
				return
			}
			got := strings.Join([]string{s.Name, s.Description, s.AllowedTools, c.text[s.BodyOffset:]}, " | ")
			if got != c.want || s.BodySize != len(c.text)-s.BodyOffset {
				t.Errorf("read: %q with body of %d bytes\nwant: %q", got, s.BodySize, c.want)
			}
		})
	}
}

func TestReadRefusesWhatAnInstallWouldActOn(t *testing.T) {
	for name, c := range map[string]struct {
		metadata string
		local    bool
		want     string
	}{
		"a range":             {`skillpm.requires.b: "one"`, false, "error dependency_range"},
		"a digest":            {`skillpm.requires.b: "sha256:1"`, false, "error dependency_digest"},
		"a name":              {`skillpm.requires.B: "*"`, false, "error dependency_name"},
		"syntax":              {`skillpm.requires.b: "* ref:x ref:y"`, false, "error requirement_syntax"},
		"a path, fetched":     {`skillpm.requires.b: "path:../b"`, false, "error source_not_allowed"},
		"a disk, fetched":     {`skillpm.requires.b: "file:///srv/kit//b"`, false, "error source_not_allowed"},
		"a path, of our own":  {`skillpm.requires.b: "path:../b"`, true, ""},
		"a chain that climbs": {`chain: "../b"`, false, "error chain_escapes"},
		"an option":           {"chain: b\n  timeout: soon", false, "warning chain_option_value"},
	} {
		t.Run(name, func(t *testing.T) {
			text := "---\nname: a\ndescription: D.\nmetadata:\n  " + c.metadata + "\n---\n"
			_, list := parse.Read([]byte(text), parse.Options{Local: c.local})
			if got := codes(list); got != c.want {
				t.Errorf("findings %q, want %q", got, c.want)
			}
		})
	}
}

func TestReadRequirementsVersionAndChain(t *testing.T) {
	s, list := parse.Read([]byte(`---
name: a
description: D.
version: 3.0
metadata:
  skillpm.version: "1.2.3"
  version: "9.9.9"
  skillpm.retract: "1.0.0 || >=1.1 <1.1.4; loses  data"
  skillpm.requires.b: "~2.0   acme/parts//skills/b sha256:0000000000000000000000000000000000000000000000000000000000000000"
  skillpm.requires.c: latest
  chain: "b, deep/c , b"
  async: "true"
  max_depth: "3"
  nested:
    deep: [x, 1.10]
---
`), parse.Options{})
	if s == nil {
		t.Fatal(codes(list))
	}
	if s.Version.String() != "1.2.3" || s.DeclaredVersion != "1.2.3" {
		t.Errorf("version %s, declared %s", s.Version, s.DeclaredVersion)
	}
	if diff := cmp.Diff(&parse.Retraction{Ranges: []string{"1.0.0", ">=1.1 <1.1.4"}, Reason: "loses  data"}, s.Retract); diff != "" {
		t.Errorf("retract differs:\n%s", diff)
	}
	var reqs []string
	for _, d := range s.Requires {
		reqs = append(reqs, string(d.Name)+" "+d.Requirement.String())
	}
	if diff := cmp.Diff([]string{"b ~2.0 github.com/acme/parts//skills/b sha256:" + strings.Repeat("0", 64), "c *"}, reqs); diff != "" {
		t.Errorf("requirements differ:\n%s", diff)
	}
	policy := parse.DefaultPolicy
	policy.MaxDepth = 3
	want := &parse.Chain{
		Steps:    []parse.Step{{Name: "b", Path: "b"}, {Name: "c", Path: "deep/c"}, {Name: "b", Path: "b"}},
		Parallel: true, ValidateOnLoad: true, Policy: policy,
	}
	if diff := cmp.Diff(want, s.Chain, cmpopts.IgnoreTypes(parse.Position{})); diff != "" {
		t.Errorf("chain differs:\n%s", diff)
	}
	if text, _ := s.Meta("nested"); text != "{deep: [x, 1.10]}" {
		t.Errorf("nested metadata is %q", text)
	}
}

// A top-level version is only what the file says; it never decides.
func TestReadKeepsATopLevelVersionAsText(t *testing.T) {
	s, _ := parse.Read([]byte("---\nname: a\ndescription: D.\nversion: 1.10\n---\n"), parse.Options{})
	if !s.Version.IsZero() || s.DeclaredVersion != "1.10" {
		t.Errorf("version %q, declared %q", s.Version, s.DeclaredVersion)
	}
}

func TestRangeOfARequirementPointsIntoTheValue(t *testing.T) {
	_, list := parse.Read([]byte("---\nname: a\ndescription: D.\nmetadata:\n  skillpm.requires.b: \"acme/b//b   ^q\"\n---\n"), parse.Options{})
	if len(list) != 1 || list[0].Line != 5 || list[0].Column != 36 {
		t.Fatalf("got %+v", list)
	}
}
