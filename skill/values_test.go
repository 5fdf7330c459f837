package skill

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseRequirement(t *testing.T) {
	digest := "sha256:" + strings.Repeat("ab", 32)
	tests := []struct{ text, want string }{
		{"", "*"}, {"*", "*"}, {"latest", "*"}, {"  ^1.2 ", "^1.2"}, {">=1   <2", ">=1 <2"}, {"1 || 2", "1 || 2"},
		{"acme/x//y", "* github.com/acme/x//y"},
		{"acme/x//y ^1 " + digest, "^1 github.com/acme/x//y " + digest},
		{digest, "* " + digest},
		{"ref:main acme/x", "github.com/acme/x// ref:main"},
		{"ref:" + strings.Repeat("0", 40), "ref:" + strings.Repeat("0", 40)},
		{"./house", "* path:house"},
		{"^1\tgit@git.example:x/y\n", "^1 git.example/x/y//"},
		{"delegate:agent ^1", "^1 delegate:agent"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			r, err := ParseRequirement(tt.text, nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.String() != tt.want {
				t.Errorf("got %q, want %q", r, tt.want)
			}
			again, err := ParseRequirement(r.String(), nil)
			if err != nil || again.String() != r.String() {
				t.Errorf("reads back as %q, %v", again, err)
			}
		})
	}
}

func TestParseRequirementRefuses(t *testing.T) {
	digest := "sha256:" + strings.Repeat("ab", 32)
	noRange := func(s string) error {
		if strings.Contains(s, "bad") {
			return errors.New("improper constraint")
		}
		return nil
	}
	tests := []struct{ text, want string }{
		{"^1 acme/x acme/y", "syntax at 10"},
		{"ref:a ref:b", "syntax at 6"},
		{"ref:main ^1", "syntax at 9"},
		{"^1 ref:main", "syntax at 3"},
		{digest + " " + digest, "syntax at 72"},
		{"^1 sha256:12", "digest at 3"},
		{"sha256:" + strings.Repeat("AB", 32), "digest at 0"},
		{"acme/x bad", "range at 7"},
		{"^1 x://y", "syntax at 3"},
		{"^1 acme/x?y", "syntax at 9"},
		{"delegate:", "syntax at 0"},
		{"ref:", "syntax at 0"}, {"ref:a..b", "syntax at 0"}, {"ref:-x", "syntax at 0"}, {"ref:a/", "syntax at 0"}, {"ref:x.lock", "syntax at 0"}, {"ref:@{1}", "syntax at 0"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			_, err := ParseRequirement(tt.text, noRange)
			e, ok := errors.AsType[*RequirementError](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if got := fmt.Sprintf("%s at %d", e.Part, e.Offset); got != tt.want {
				t.Errorf("%s, want %s: %v", got, tt.want, err)
			}
			if CodeOf(err) != "requirement_syntax" {
				t.Errorf("code %s", CodeOf(err))
			}
		})
	}
}

func FuzzParseRequirement(f *testing.F) {
	for _, s := range []string{"^1 acme/x//y sha256:" + strings.Repeat("ab", 32), "ref:main ./x", "latest", ">=1 <2 || 3", "delegate:a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRequirement(s, nil)
		if err != nil {
			return
		}
		again, err := ParseRequirement(r.String(), nil)
		if err != nil || again.String() != r.String() {
			t.Fatalf("%q is %q, reads back as %q, %v", s, r, again, err)
		}
	})
}

func TestVersionOrder(t *testing.T) {
	// The example of semver.org 11, and the numbers around it.
	order := []string{"0.0.0-0.20260102030405-abcdefabcdef", "0.9.9", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.10.0", "2.0.0"}
	for i, a := range order {
		for j, b := range order {
			v, w := mustVersion(t, a), mustVersion(t, b)
			if got, want := v.Compare(w), cmpInt(i, j); got != want {
				t.Errorf("%s against %s: %d, want %d", a, b, got, want)
			}
		}
	}
	if mustVersion(t, "1.0.0+a").Compare(mustVersion(t, "1.0.0+b")) != 0 {
		t.Error("build metadata counts")
	}
}

func cmpInt(a, b int) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func mustVersion(t *testing.T, s string) Version {
	t.Helper()
	v, err := ParseVersion(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestParseVersionRefuses(t *testing.T) {
	for _, s := range []string{"", "1", "1.2", "v1.2.3", "1.2.3.4", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "1.2.3-a..b", "1.2.3 ", "1.2.x", "-1.2.3", "1.2.3-ä", "999999999999999999999.0.0", "1.2.3-" + strings.Repeat("a", 300)} {
		if v, err := ParseVersion(s); err == nil || CodeOf(err) != "requirement_syntax" {
			t.Errorf("%q reads as %s, %v", s, v, err)
		}
	}
}

func TestPseudoVersion(t *testing.T) {
	zone := time.FixedZone("", 2*3600)
	v := PseudoVersion(time.Date(2026, 1, 2, 5, 4, 5, 0, zone), strings.Repeat("0123456789abcdef", 3)[:40])
	if v.String() != "0.0.0-0.20260102030405-0123456789ab" || !v.IsPseudo() {
		t.Errorf("%s, pseudo %v", v, v.IsPseudo())
	}
	for _, s := range []string{"1.0.0", "0.0.0-0.20260102030405-0123456789AB", "0.0.0-0.2026010203040-0123456789ab", "0.0.0-0.20260102030405-0123456789abc"} {
		if mustVersion(t, s).IsPseudo() {
			t.Errorf("%s counts as pseudo", s)
		}
	}
}

func FuzzParseVersion(f *testing.F) {
	for _, s := range []string{"1.2.3", "1.2.3-a.1+b", "0.0.0-0.20260102030405-0123456789ab", "1.2", "v1.0.0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := ParseVersion(s)
		if err != nil {
			return
		}
		if v.String() != s || v.Compare(v) != 0 {
			t.Fatalf("%q reads as %q", s, v)
		}
	})
}

func TestNames(t *testing.T) {
	for s, want := range map[string]string{
		"pdf": "", "a-b-3": "", "": "name_empty", "  ": "name_empty", strings.Repeat("a", 65): "name_too_long", "pdf-ü": "name_not_ascii",
		"Pdf": "name_charset", "a_b": "name_charset", "-a": "name_hyphen_edge", "a-": "name_hyphen_edge", "a--b": "name_hyphen_double",
	} {
		if _, err := ParseName(s); CodeOf(err) != want {
			t.Errorf("%q: %v, want %q", s, err, want)
		}
	}
	for s, ok := range map[string]bool{
		"pdf": true, "Pdf_2.x": true, "0": true, strings.Repeat("a", 64): true,
		"": false, ".": false, "..": false, "-a": false, "_a": false, "a/b": false, "a b": false, "ü": false, "nul": false, "Com1.x": false, strings.Repeat("a", 65): false,
	} {
		if _, err := ParseKey(s); (err == nil) != ok || err != nil && CodeOf(err) != "name_needed" {
			t.Errorf("key %q: %v", s, err)
		}
	}
}

func TestDigest(t *testing.T) {
	good := "sha256:" + strings.Repeat("0a", 32)
	d, err := ParseDigest(good)
	if err != nil || string(d) != good || d.Hex() != good[7:] || d.Short() != good[:19] {
		t.Errorf("%v %v %v", d, err, d.Short())
	}
	for _, s := range []string{"", "sha256:", good[:70], good + "0", "sha512:" + good[7:], strings.ToUpper(good), "sha256:" + strings.Repeat("0g", 32)} {
		if _, err := ParseDigest(s); CodeOf(err) != "dependency_digest" {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestCheckPath(t *testing.T) {
	good := []string{"SKILL.md", "a/b/c", ".gitignore", "a..b/c...", "com10", "ü/ß", "a b", ".github/x", "gitx"}
	bad := []string{
		"", "/a", "a//b", "a/", "./a", "a/../b", "..", `a\b`, "a\nb", "a\x00", "a\x7f", "a\u0085b", "a\u2028b", "\xff",
		".git", ".GIT/config", "a/.Git", ".git ", ".git.", ".git::$INDEX_ALLOCATION", "git~1", "GIT~1/x", ".g\u200cit", "\ufeff.git",
		"con", "a/NUL.txt", "Com1", "lpt\u00b2.md", "aux .x", "conin$", strings.Repeat("a/", 2048) + "a",
	}
	for _, p := range good {
		if err := CheckPath(p); err != nil {
			t.Error(err)
		}
	}
	for _, p := range bad {
		if err := CheckPath(p); CodeOf(err) != "path_unsafe" {
			t.Errorf("%q passes: %v", p, err)
		}
	}
}

func TestFoldPath(t *testing.T) {
	same := [][2]string{{"README", "readme"}, {"Straße", "STRASSE"}, {"e\u0301", "é"}, {"É", "e\u0301"}, {"ΜΆΪΟΣ", "μάϊος"}, {"Ꭰ", "ꭰ"}, {"Ᏸ", "ᏸ"}, {"ǅ", "ǆ"}, {"ſ", "s"}, {"K", "k"}}
	for _, pair := range same {
		if FoldPath(pair[0]) != FoldPath(pair[1]) {
			t.Errorf("%q and %q are told apart", pair[0], pair[1])
		}
	}
	if FoldPath("a") == FoldPath("b") {
		t.Error("a is b")
	}
	for r := rune(1); r <= unicode.MaxRune; r++ {
		p := string(r)
		once := FoldPath(p)
		if FoldPath(once) != once {
			t.Errorf("folding %q twice gives another path", p)
		}
		// Letters that exist in two cases are twins, but for the dotted and dotless i.
		if lower := unicode.ToLower(r); lower != r && unicode.ToUpper(lower) == r && FoldPath(string(lower)) != once {
			t.Errorf("%q and %q are told apart", r, lower)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.String().Draw(t, "path")
		if once := FoldPath(p); FoldPath(once) != once {
			t.Fatalf("folding %q twice gives another path", p)
		}
	})
}

func TestCredentialsStayInside(t *testing.T) {
	src, err := ParseSource("https://me:secret@git.example/x//y")
	if err != nil {
		t.Fatal(err)
	}
	user, password := src.Credentials()
	if user != "me" || password != "secret" {
		t.Errorf("credentials %q, %q", user, password)
	}
	for _, text := range []string{src.String(), src.URL(), src.Spelling(), src.Identity(), Requirement{Range: "*", Source: src}.String()} {
		if strings.Contains(text, "secret") {
			t.Error(text)
		}
	}
	if got := RedactURL("https://me:secret@h/x"); got != "https://h/x" {
		t.Error(got)
	}
	if diff := cmp.Diff("other", src.WithSubpath("other").Subpath()); diff != "" {
		t.Error(diff)
	}
}

// The tables of docs/formats.md are true.
func TestFormatsPage(t *testing.T) {
	data, err := os.ReadFile("../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for name, canonical := range map[string]func(string) (string, error){
		"| spelling | identity |": func(s string) (string, error) {
			src, err := ParseSource(s)
			return src.Identity(), err
		},
		"| written | canonical |": func(s string) (string, error) {
			r, err := ParseRequirement(strings.Trim(s, `"`), nil)
			return r.String(), err
		},
	} {
		_, table, ok := strings.Cut(string(data), "\n"+name+"\n")
		if !ok {
			t.Fatalf("no table %s", name)
		}
		table, _, _ = strings.Cut(table, "\n\n")
		for row := range strings.Lines(table) {
			cells := strings.Split(row, "|")
			if len(cells) != 4 || strings.HasPrefix(row, "|--") {
				continue
			}
			want := strings.Trim(strings.TrimSpace(cells[2]), "`")
			for _, spelling := range strings.Split(cells[1], ",") {
				checked++
				got, err := canonical(strings.Trim(strings.TrimSpace(spelling), "`"))
				if err != nil || got != want {
					t.Errorf("%s: %s, %v; the page says %s", spelling, got, err, want)
				}
			}
		}
	}
	if checked < 10 {
		t.Errorf("only %d rows found", checked)
	}
}
