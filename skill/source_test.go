package skill

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Every spelling of a source, with its identity and the address the lock records.
func TestParseSource(t *testing.T) {
	tests := []struct{ spelling, identity, url string }{
		{"owner/repo", "github.com/owner/repo//", "https://github.com/owner/repo"},
		{"owner/repo//skills/pdf", "github.com/owner/repo//skills/pdf", "https://github.com/owner/repo"},
		{"Owner/Repo//Skills/PDF", "github.com/owner/repo//Skills/PDF", "https://github.com/Owner/Repo"},
		{"owner/repo//", "github.com/owner/repo//", "https://github.com/owner/repo"},
		{"owner/repo.git/", "github.com/owner/repo//", "https://github.com/owner/repo.git"},
		{"gitlab.com/group/sub/repo//x", "gitlab.com/group/sub/repo//x", "https://gitlab.com/group/sub/repo"},
		{"git.example/Acme/X//y", "git.example/Acme/X//y", "https://git.example/Acme/X"},
		{"https://GitHub.com:443/Acme/X.git//y/", "github.com/acme/x//y", "https://github.com/Acme/X.git"},
		{"https://github.com./acme/x", "github.com/acme/x//", "https://github.com/acme/x"},
		{"git+https://git.example/x/y", "git.example/x/y//", "https://git.example/x/y"},
		{"HTTPS://git.example/x/y", "git.example/x/y//", "https://git.example/x/y"},
		{"ssh://git@github.com/acme/x//y", "github.com/acme/x//y", "ssh://git@github.com/acme/x"},
		{"git+ssh://git@git.example:22/x", "git.example/x//", "ssh://git@git.example/x"},
		{"ssh://git@git.example:2222/x", "git.example:2222/x//", "ssh://git@git.example:2222/x"},
		{"git@github.com:Acme/X.git//y", "github.com/acme/x//y", "git@github.com:Acme/X.git"},
		{"git@git.example:/srv/x", "git.example/srv/x//", "git@git.example:/srv/x"},
		{"me@[::1]:x/y", "[::1]/x/y//", "me@[::1]:x/y"},
		{"http://git.example:80/x", "http://git.example/x//", "http://git.example/x"},
		{"git://git.example:9418/x", "git://git.example/x//", "git://git.example/x"},
		{"https://git.example:08443/x", "git.example:8443/x//", "https://git.example:8443/x"},
		{"localhost:8080/x//y", "localhost:8080/x//y", "https://localhost:8080/x"},
		{"localhost/x", "localhost/x//", "https://localhost/x"},
		{"[2001:DB8::0001]:8443/x", "[2001:db8::1]:8443/x//", "https://[2001:db8::1]:8443/x"},
		{"https://[::1]/x", "[::1]/x//", "https://[::1]/x"},
		{"https://gitserver/x/y", "https://gitserver/x/y//", "https://gitserver/x/y"},
		{"git@gitserver:x/y", "https://gitserver/x/y//", "git@gitserver:x/y"},
		{"gitserver:8443/x", "gitserver:8443/x//", "https://gitserver:8443/x"},
		{"file:///srv/git/x.git//y", "file:///srv/git/x//y", "file:///srv/git/x.git"},
		{"file:///srv/x/.git", "file:///srv/x/.git//", "file:///srv/x/.git"},
		{"file://localhost/srv/x", "file:///srv/x//", "file:///srv/x"},
		{"https://user:secret@git.example/x", "git.example/x//", "https://git.example/x"},
		{"https://token@git.example/x", "git.example/x//", "https://git.example/x"},
		{"acme/a%20b//c%2525d", "github.com/acme/a%20b//c%2525d", "https://github.com/acme/a%20b"},
		{"acme/x//a%2Fb", "github.com/acme/x//a/b", "https://github.com/acme/x"},
		{"acme/x//a/./b///c", "github.com/acme/x//a/b/c", "https://github.com/acme/x"},
		{"https://skills.example", "https://skills.example", "https://skills.example"},
		{"https://skills.example/", "https://skills.example", "https://skills.example"},
		{"index:https://skills.example/Team.git", "index:https://skills.example/Team.git", "https://skills.example/Team.git"},
		{"index:skills.example/a", "index:https://skills.example/a", "https://skills.example/a"},
		{"index:http://localhost:1234", "http://localhost:1234", "http://localhost:1234"},
		{"./skills/house/", "path:skills/house", ""},
		{"../house", "path:../house", ""},
		{".", "path:.", ""},
		{"path:skills/house", "path:skills/house", ""},
		{"path:./a/../b", "path:b", ""},
		{`.\skills\house`, "path:skills/house", ""},
		{`C:\skills\house`, "path:C:/skills/house", ""},
		{"C:/skills", "path:C:/skills", ""},
		{"/srv/skills", "path:/srv/skills", ""},
	}
	for _, tt := range tests {
		t.Run(tt.spelling, func(t *testing.T) {
			src, err := ParseSource(tt.spelling)
			if err != nil {
				t.Fatal(err)
			}
			if got := src.Identity(); got != tt.identity {
				t.Errorf("identity %s, want %s", got, tt.identity)
			}
			if got := src.URL(); got != tt.url {
				t.Errorf("url %s, want %s", got, tt.url)
			}
			checkRoundTrips(t, src)
		})
	}
}

// checkRoundTrips demands that every written form reads back as the same source.
func checkRoundTrips(t interface {
	Helper()
	Fatalf(string, ...any)
}, src Source) {
	t.Helper()
	for _, text := range []string{src.Identity(), src.Spelling()} {
		again, err := ParseSource(text)
		if err != nil || again.Identity() != src.Identity() {
			t.Fatalf("`%s` reads back as `%s`, %v; want `%s`", text, again.Identity(), err, src.Identity())
		}
		if strings.ContainsAny(text, " \t\n") {
			t.Fatalf("a blank in %q ends the token", text)
		}
	}
	if src.Kind() != SourceGit {
		return
	}
	again, err := ParseSource(src.URL() + "//" + src.Subpath())
	if src.Subpath() == escapePath(src.Subpath()) && (err != nil || again.Identity() != src.Identity() || again.URL() != src.URL()) {
		t.Fatalf("url `%s` reads back as `%s` of `%s`, %v", src.URL(), again.URL(), again.Identity(), err)
	}
	if _, password := again.Credentials(); password != "" {
		t.Fatalf("a password in `%s`", src.URL())
	}
}

func TestParseSourceRefuses(t *testing.T) {
	for _, s := range []string{
		"", "owner", "a b", "owner/", "owner//x", "https://", "https:///x", "https://git.example//x", "git.example//x", "https://git.example/?x",
		"owner/repo#main", "owner/repo?x=1", "C:", "c:x", "x://y/z", "ext::sh -c x", "git+x://y", "git+git+https://git.example/x",
		"host:x/y", "@host:x", "a:b@host:x", "alice@host/x", "alice@host", "git@:x", "git@host:", "git@host:../x", "-oX@host:x/y",
		"git@-oProxyCommand:x", "ssh://-oProxyCommand=x/y", "ssh://-x@host.example/y",
		"owner/../x", "owner/repo//../x", "owner/repo//a/%2e%2e/b", "owner/repo//a%00b", "owner/repo//a%5cb", `owner\repo/x`, "owner/repo//a%zz",
		"owner/repo//a\x00b", "owner/repo\n/x", "owner/\xff", "owner/repo//%ff",
		"https://gіthub.com/x/y", "https://host name/x", "https://git.example:0/x", "https://git.example:65536/x", "https://git.example:x/y",
		"https://[::1/x", "https://::1/x", "https://[fe80::1%25eth0]/x", "https://[1.2.3.4]/x", "https://a..b/x", "https://.a/x",
		"file://host/x", "file://x", "file:////", "~/skills/x", "path:", "./a b", "index:ftp://x", "index:https://x//y", `\\server\share/x`,
	} {
		if src, err := ParseSource(s); err == nil {
			t.Errorf("%q reads as %s", s, src.Identity())
		} else if err != nil && CodeOf(err) != "requirement_syntax" {
			t.Errorf("%q: code %s", s, CodeOf(err))
		}
	}
}

func TestErrorsHoldNoPassword(t *testing.T) {
	for _, s := range []string{
		"https://u:hunter2@bad host/x", "https://u:hunter2@h.example/%zz", "foo://u:hunter2@h/x", "u:hunter2@h:x", "u:hunter2@h.example/x",
		"https://u:hunter2@h.example/x?y", "https://u:hunter2@h.example:x/y", "ssh://u:hunter2@/x", "https//u:hunter2@h/../x",
	} {
		if _, err := ParseSource(s); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// Look-alikes of one host or repository are other sources; other spellings of
// one are not.
func TestSameSource(t *testing.T) {
	groups := [][]string{
		{"acme/x//y", "https://github.com/ACME/X.git//y", "git@github.com:acme/x//y", "ssh://git@github.com/acme/x//y/", "git+https://github.com/acme/x//./y"},
		{"acme/x//Y"},
		{"acme/x-y//y"},
		{"http://github.com/acme/x//y"},
		{"git.example/acme/x//y", "git@git.example:/acme/x.git//y"},
		{"git.example/Acme/x//y"},
		{"git.example:8443/acme/x//y"},
		{"github.com.git.example/acme/x//y"},
	}
	seen := map[string]int{}
	for i, group := range groups {
		for _, s := range group {
			src, err := ParseSource(s)
			if err != nil {
				t.Fatal(err)
			}
			if j, ok := seen[src.Identity()]; ok && j != i {
				t.Errorf("%s is taken for another: %s", s, src.Identity())
			}
			seen[src.Identity()] = i
		}
	}
	if len(seen) != len(groups) {
		t.Errorf("%d identities for %d sources: %v", len(seen), len(groups), seen)
	}
}

func TestIdentityRoundTrips(t *testing.T) {
	element := rapid.StringMatching(`[A-Za-z0-9._~ %@:+äß-]{1,8}`)
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom([]string{"", "git.example/", "https://git.example:8443/", "https://u:p@gitlab.com/", "git@host.example:", "git@host:/", "ssh://me@h/", "http://localhost/", "file:///", "./", "git://x.example/"}).Draw(t, "start")
		s += element.Draw(t, "owner") + "/" + element.Draw(t, "repo")
		if rapid.Bool().Draw(t, "sub") {
			s += "//" + element.Draw(t, "a") + "/" + element.Draw(t, "b")
		}
		if src, err := ParseSource(s); err == nil {
			checkRoundTrips(t, src)
		}
	})
}

func FuzzParseSource(f *testing.F) {
	for _, s := range []string{"acme/x//y", "https://u:p@h.example:1/a%20b//c", "git@[::1]:x", "index:https://x/y", `C:\x`, "file:///x/.git", "git+ssh://a@b/c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if src, err := ParseSource(s); err == nil {
			checkRoundTrips(t, src)
		}
	})
}
