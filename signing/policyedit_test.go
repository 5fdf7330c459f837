package signing

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const editable = `# our rules
[trust]
min_age = "3d" # three days

# acme signs with a key
[[trust.rules]]
match = "github.com/acme/**"
mode = "required"
any_of = [ { key = { file = "a.pub" } } ]

# everybody else
[[trust.rules]]
match = "**"

[other]
x = 1
`

func TestAddAndRemoveRule(t *testing.T) {
	text := FormatRule("github.com/new/skills", ModeRequired, FormatSigner(KindX509, "roots", "ca.pem", "subject", ""))
	last, err := AddRule("skills.toml", []byte(editable), ScopeProject, text, false)
	if err != nil {
		t.Fatal(err)
	}
	if want := editable + "\n" + text; string(last) != want {
		t.Error(cmp.Diff(want, string(last)))
	}
	first, err := AddRule("skills.toml", []byte(editable), ScopeProject, text, true)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(editable, "# acme signs", text+"\n# acme signs", 1); string(first) != want {
		t.Error(cmp.Diff(want, string(first)))
	}
	p := mustPolicy(t, string(first), ScopeProject)
	if p.Rules[0].Match != "github.com/new/skills" || p.Rules[0].AnyOf[0].X509 == nil {
		t.Errorf("got %+v", p.Rules[0])
	}
	out, n, err := RemoveRule("skills.toml", []byte(editable), ScopeProject, "github.com/acme/**")
	if err != nil || n != 1 {
		t.Fatal(n, err)
	}
	want := `# our rules
[trust]
min_age = "3d" # three days

# everybody else
[[trust.rules]]
match = "**"

[other]
x = 1
`
	if string(out) != want {
		t.Error(cmp.Diff(want, string(out)))
	}
	if out, n, err := RemoveRule("skills.toml", []byte(editable), ScopeProject, "nobody"); err != nil || n != 0 || string(out) != editable {
		t.Error(n, err)
	}
	inline := "[trust]\nrules = [ { match = \"**\" }, { match = \"a\" } ]\n"
	out, _, err = RemoveRule("skills.toml", []byte(inline), ScopeProject, "**")
	if want := "[trust]\nrules = [ { match = \"a\" } ]\n"; err != nil || string(out) != want {
		t.Errorf("got %q, %v", out, err)
	}
	if _, err := AddRule("skills.toml", []byte(inline), ScopeProject, text, true); err == nil {
		t.Error("a table was added to an array that is written in one value")
	}
}

// Whatever an edit adds has the line ends of the file.
func TestEditKeepsLineEnds(t *testing.T) {
	crlf := strings.ReplaceAll(editable, "\n", "\r\n")
	edits := map[string]func() ([]byte, error){
		"add": func() ([]byte, error) {
			return AddRule("t", []byte(crlf), ScopeProject, FormatRule("x/**", ModeOptional, ""), true)
		},
		"add last": func() ([]byte, error) {
			return AddRule("t", []byte(crlf), ScopeProject, FormatRule("x/**", ModeOptional, ""), false)
		},
		"remove": func() ([]byte, error) {
			out, _, err := RemoveRule("t", []byte(crlf), ScopeProject, "**")
			return out, err
		},
		"deny": func() ([]byte, error) {
			return AddDeny("t", []byte(crlf), ScopeProject, DenyKey, "sha256:0000000000000000000000000000000000000000000000000000000000000007")
		},
	}
	for name, edit := range edits {
		out, err := edit()
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(out), "\n"); n != strings.Count(string(out), "\r\n") || string(out) == crlf {
			t.Errorf("%s: %q", name, out)
		}
	}
}

func TestAddDeny(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":        "",
		"a trust table":  "[trust]\nmin_age = \"1d\"\n",
		"no newline":     "[trust]\nmin_age = \"1d\"",
		"a deny table":   "[trust.deny] # bad\ndigests = []\n\n[other]\nx = 1\n",
		"an inline deny": "[trust]\ndeny = { digests = [] }\n",
		"empty inline":   "[trust]\ndeny = {}\n",
		"the list":       "[trust]\ndeny = { identities = [ \"a/b\", # no\n\"c\" ], digests = [] }\n",
		"an empty list":  "[trust.deny]\nidentities = []\n",
		"dotted":         "trust.deny.identities = ['x/y']\n",
	} {
		t.Run(name, func(t *testing.T) {
			out, err := AddDeny("skills.toml", []byte(text), ScopeProject, DenyIdentity, "https://evil.example/\"x\"/**")
			if err != nil {
				t.Fatal(err)
			}
			p := mustPolicy(t, string(out), ScopeProject)
			if !p.Deny.has(DenyIdentity, "https://evil.example/\"x\"/**") {
				t.Errorf("got %s", out)
			}
			if again, err := AddDeny("skills.toml", out, ScopeProject, DenyIdentity, "https://evil.example/\"x\"/**"); err != nil || string(again) != string(out) {
				t.Errorf("adding twice: %s, %v", again, err)
			}
		})
	}
	if _, err := AddDeny("trust.toml", nil, ScopeUser, DenyDigest, "sha256:1"); err == nil {
		t.Error("a malformed digest was added")
	}
}

// Whatever order rules are added and removed in, the file stays a policy that
// holds exactly them.
func TestEditProperty(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		data, want := []byte(editable), []string{"github.com/acme/**", "**"}
		for range rapid.IntRange(1, 8).Draw(r, "steps") {
			match := rapid.SampledFrom([]string{"a.b/c", "d.e/**", "**"}).Draw(r, "match")
			var err error
			switch rapid.IntRange(0, 2).Draw(r, "step") {
			case 0:
				data, err = AddRule("skills.toml", data, ScopeProject, FormatRule(match, ModeOptional, ""), false)
				want = append(want, match)
			case 1:
				data, err = AddRule("skills.toml", data, ScopeProject, FormatRule(match, ModeOptional, ""), true)
				want = append([]string{match}, want...)
			default:
				data, _, err = RemoveRule("skills.toml", data, ScopeProject, match)
				var left []string
				for _, m := range want {
					if m != match {
						left = append(left, m)
					}
				}
				want = left
			}
			if err != nil {
				r.Fatal(err)
			}
		}
		p, err := ParsePolicy("skills.toml", data, ScopeProject)
		if err != nil {
			r.Fatal(err)
		}
		var got []string
		for _, rule := range p.Rules {
			got = append(got, rule.Match)
		}
		if !cmp.Equal(got, want) || !strings.Contains(string(data), "# our rules") || !strings.Contains(string(data), "x = 1") {
			r.Fatalf("got %v, want %v in\n%s", got, want, data)
		}
	})
}
