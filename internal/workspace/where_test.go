package workspace

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Files of other users are faked: tests do not run as root.
func TestSearchStopsBeforeOthers(t *testing.T) {
	const self, other = 1000, 1001
	base := t.TempDir()
	sub := filepath.Join(base, "shared", "mine", "src")
	if err := os.MkdirAll(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	shared, mine := filepath.Join(base, "shared"), filepath.Join(base, "shared", "mine")
	file := filepath.Join(shared, "skills.toml")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	search := func(safe []string, foreign ...string) Found {
		owner := func(info fs.FileInfo) (int, bool) {
			for _, f := range foreign {
				if theirs, err := os.Stat(f); err == nil && os.SameFile(theirs, info) {
					return other, true
				}
			}
			return self, true
		}
		return RootSearch{Home: base, Safe: safe, Owner: owner, Self: self}.From(sub)
	}
	for name, test := range map[string]struct {
		safe, foreign []string
		want          string
	}{
		"all mine":                    {nil, nil, shared},
		"their directory":             {nil, []string{shared}, ""},
		"their file in my directory":  {nil, []string{file}, ""},
		"their directory on the way":  {nil, []string{mine}, ""},
		"where I am is my word":       {nil, []string{sub}, shared},
		"named as safe":               {[]string{shared}, []string{shared, file}, shared},
		"another is named as safe":    {[]string{mine}, []string{shared}, ""},
		"everything is named as safe": {[]string{"*"}, []string{shared, mine}, shared},
	} {
		if got := search(test.safe, test.foreign...); got.Dir != test.want {
			t.Errorf("%s: found %q, want %q", name, got.Dir, test.want)
		} else if got.Dir == "" && got.Passed != shared {
			t.Errorf("%s: the project that was not used is %q", name, got.Passed)
		}
	}
}
