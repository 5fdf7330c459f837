package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/skill"
)

func mustRequirement(t interface {
	Helper()
	Fatal(...any)
}, text string) skill.Requirement {
	t.Helper()
	r, err := skill.ParseRequirement(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// edited returns data after one change.
func edited(data string, change func(*Edit) error) ([]byte, error) {
	e, err := NewEdit([]byte(data))
	if err != nil {
		return nil, err
	}
	if err := change(e); err != nil {
		return nil, err
	}
	return e.Bytes()
}

func set(data string, key skill.Key, r skill.Requirement) ([]byte, error) {
	return edited(data, func(e *Edit) error { return e.Set(key, r) })
}

func remove(data string, key skill.Key) (out []byte, found bool, err error) {
	out, err = edited(data, func(e *Edit) error { found = e.Remove(key); return nil })
	return out, found, err
}

func TestSet(t *testing.T) {
	tests := []struct{ name, before, key, requirement, after string }{
		{"empty file", "", "pdf", "^1 acme/pdf", "[skills]\npdf = \"^1 github.com/acme/pdf//\"\n"},
		{"after the last of the table", "[skills]\na = '*' # why\n\n# trust\n[trust]\n", "b", "^1", "[skills]\na = '*' # why\nb = \"^1\"\n\n# trust\n[trust]\n"},
		{"in place, comment kept", "[skills]\n a  =  '*'  # why\nb = '*'\n", "a", "^2", "[skills]\n a  =  \"^2\"  # why\nb = '*'\n"},
		{"no line end at the end", "[skills]\na = '*'", "b", "^1", "[skills]\na = '*'\nb = \"^1\""},
		{"table missing", "[trust]\nsources = []\n", "b", "^1", "[trust]\nsources = []\n\n[skills]\nb = \"^1\"\n"},
		{"CRLF and mark", "\ufeff[skills]\r\na = '*'\r\n", "b", "^1", "\ufeff[skills]\r\na = '*'\r\nb = \"^1\"\r\n"},
		{"table form", "[skills]\na = { source = 'x/y', use = 'optional', version = '1' } # why\n", "a", "^2 x/z", ""},
		{"table form to version", "[skills]\na = { source = \"x/y\", version = \"1\", use = \"optional\" }\n", "a", "^2 x/y", "[skills]\na = { source = \"github.com/x/y//\", version = \"^2\", use = \"optional\" }\n"},
		{"ref instead of version", "[skills]\na = { version = \"1\", source = \"github.com/x/y//\", use = \"optional\" }\n", "a", "x/y ref:main", "[skills]\na = { source = \"github.com/x/y//\", use = \"optional\", ref = \"main\" }\n"},
		{"sub-table", "[skills]\n\n[skills.a]\nsource = \"x/y\" # here\nversion = \"1\"\n\n[trust]\n", "a", "x/y ref:main", "[skills]\n\n[skills.a]\nsource = \"github.com/x/y//\" # here\nref = \"main\"\n\n[trust]\n"},
		{"beside sub-tables only", "# our own\n[skills.a]\nsource = 'x/y'\n", "b", "^1", "[skills]\nb = \"^1\"\n\n# our own\n[skills.a]\nsource = 'x/y'\n"},
		{"dotted keys", "skills.a = '*'\n[trust]\n", "b", "^1", "skills.a = '*'\nskills.b = \"^1\"\n[trust]\n"},
		{"dotted deeper", "skills.a.source = 'x/y'\n", "b", "^1", "skills.a.source = 'x/y'\nskills.b = \"^1\"\n"},
		{"dotted in the table", "[skills]\na.source = 'github.com/x/y//'\n", "a", "^1 x/y", "[skills]\na.source = 'github.com/x/y//'\na.version = \"^1\"\n"},
		{"inline table", "skills = { a = '*' }\n", "b", "^1", "skills = { a = '*', b = \"^1\" }\n"},
		{"empty inline table", "skills = {}\n", "b", "^1", "skills = { b = \"^1\" }\n"},
		{"key with a dot", "[skills]\n", "a.b", "^1", "[skills]\n\"a.b\" = \"^1\"\n"},
		{"ssh is kept", "[skills]\n", "a", "git@git.example:acme/skills//a", "[skills]\na = \"git@git.example:acme/skills//a\"\n"},
		{"path", "[skills]\n", "a", "./tools/a", "[skills]\na = \"./tools/a\"\n"},
		{"path above", "[skills]\n", "a", "../a", "[skills]\na = \"../a\"\n"},
		{"any version", "[skills]\n", "a", "latest", "[skills]\na = \"*\"\n"},
		{"multi-line array follows", "[install]\nagents = [\n  'codex',\n]\n[skills]\n", "a", "*", "[install]\nagents = [\n  'codex',\n]\n[skills]\na = \"*\"\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := mustRequirement(t, tt.requirement)
			got, err := set(tt.before, skill.Key(tt.key), r)
			if err != nil {
				t.Fatal(err)
			}
			if tt.after != "" {
				if diff := cmp.Diff(tt.after, string(got)); diff != "" {
					t.Error(diff)
				}
			}
			m, err := Parse(FileName, got, nil)
			if err != nil {
				t.Fatalf("%v\n%s", err, got)
			}
			if s := m.Get(tt.key); s == nil || s.Requirement.String() != r.String() {
				t.Errorf("reads back as %+v", s)
			}
			again, err := set(string(got), skill.Key(tt.key), r)
			if err != nil || string(again) != string(got) {
				t.Errorf("a second time changes it: %v\n%s", err, again)
			}
		})
	}
}

func TestRemove(t *testing.T) {
	tests := []struct{ name, before, key, after string }{
		{"line", "[skills]\n# of a\na = '*' # why\nb = '*'\n", "a", "[skills]\nb = '*'\n"},
		{"last without line end", "[skills]\r\nb = '*'\r\na = '*'", "a", "[skills]\r\nb = '*'\r\n"},
		{"sub-table", "[skills.a]\nsource = 'x/y'\n\n[skills.b]\nsource = 'x/z'\n", "a", "[skills.b]\nsource = 'x/z'\n"},
		{"dotted", "skills.a.source = 'x/y'\nskills.a.ref = 'main'\nskills.b = '*'\n", "a", "skills.b = '*'\n"},
		{"inline first", "skills = { a = '*', b = '*' }\n", "a", "skills = { b = '*' }\n"},
		{"inline last", "skills = { b = '*', a = '*' }\n", "a", "skills = { b = '*' }\n"},
		{"inline only", "skills = { a = '*' }\n", "a", "skills = {}\n"},
		{"value of several lines", "[skills]\na = \"\"\"\n^1\"\"\"\nb = '*'\n", "a", "[skills]\nb = '*'\n"},
		{"absent", "[skills]\nb = '*'\n[overrides]\na = '*'\n", "a", "[skills]\nb = '*'\n[overrides]\na = '*'\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, found, err := remove(tt.before, skill.Key(tt.key))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.after, string(got)); diff != "" {
				t.Error(diff)
			}
			if found != (tt.before != tt.after) {
				t.Errorf("found = %v", found)
			}
		})
	}
}

func TestSetUse(t *testing.T) {
	tests := []struct{ name, before, use, after string }{
		{"string", "[skills]\na = \"^1 x/y\"\n", "optional", "[skills]\na = { source = \"github.com/x/y//\", version = \"^1\", use = \"optional\" }\n"},
		{"table", "[skills]\na = { version = '1' }\n", "required", "[skills]\na = { version = '1', use = \"required\" }\n"},
		{"away", "[skills]\na = { version = '1', use = \"required\" }\n", "", "[skills]\na = { version = '1' }\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := edited(tt.before, func(e *Edit) error { return e.SetUse("a", tt.use) })
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.after, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := edited("[skills]\n", func(e *Edit) error { return e.SetUse("a", "optional") }); err == nil {
		t.Error("set the use of a skill that is not there")
	}
}

func TestSetKeepsHold(t *testing.T) {
	for _, before := range []string{
		"[skills]\na = { source = \"x/y\", version = \"^1\", hold = true } # why\n",
		"[skills.a]\nversion = '1'\nhold = true\n",
		"[skills]\na = { hold = true, version = '1' }\n",
	} {
		got, err := set(before, "a", mustRequirement(t, "^2 x/z"))
		if err != nil {
			t.Fatal(err)
		}
		m, err := Parse(FileName, got, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !m.Get("a").Hold {
			t.Errorf("a new requirement changes hold\n%s", got)
		}
	}
}

func TestSettings(t *testing.T) {
	tests := []struct {
		name, before, after string
		edit                func(*Edit) error
	}{
		{"agents", "[skills]\n", "[skills]\n\n[install]\nagents = [\"codex\", \"claude-code\"]\n",
			func(e *Edit) error { return e.SetAgents([]string{"codex", "claude-code"}) }},
		{"agents, comments kept", "[install]\nagents = [\n  'a', # the first\n  'b', # the second\n  # of c\n  'c',\n]\n", "[install]\nagents = [\n  'a', # the first\n  # of c\n  'c',\n  \"d\",\n]\n",
			func(e *Edit) error { return e.SetAgents([]string{"a", "c", "d"}) }},
		{"source, before the rules", "# who\n[[trust.rules]]\nmatch = 'x'\n", "[trust]\nsources = [\"a\"]\n\n# who\n[[trust.rules]]\nmatch = 'x'\n",
			func(e *Edit) error { return e.AddTrustSource("a") }},
		{"source, one line", "[trust]\nsources = [\"a\"]\n", "[trust]\nsources = [\"a\", \"b\"]\n",
			func(e *Edit) error { return e.AddTrustSource("b") }},
		{"source, a line each", "[trust]\nsources = [\n  \"a\", # why\n]\n", "[trust]\nsources = [\n  \"a\", # why\n  \"b\",\n]\n",
			func(e *Edit) error { return e.AddTrustSource("b") }},
		{"source, there already", "[trust]\nsources = ['b']\n", "[trust]\nsources = ['b']\n",
			func(e *Edit) error { return e.AddTrustSource("b") }},
		{"source, empty list", "[trust]\nsources = [ ]\n", "[trust]\nsources = [\"b\"]\n",
			func(e *Edit) error { return e.AddTrustSource("b") }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := edited(tt.before, tt.edit)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.after, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTemplate(t *testing.T) {
	for _, agents := range [][]string{nil, {"claude-code"}} {
		m, err := Parse(FileName, Template(agents, []string{"tools/skills"}), nil)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Join(m.Install.Agents, " ") != strings.Join(agents, " ") {
			t.Errorf("agents %v", m.Install.Agents)
		}
	}
}
