package manifest

import (
	"strings"
	"testing"

	"github.com/skillpm/skillpm/skill"
)

// TestSetMany compares one edit of many keys with an edit for each, over files
// in which the table is absent, dotted, inline, followed by others, or has a key
// already.
func TestSetMany(t *testing.T) {
	files := map[string]string{
		"absent":   "# mine\n",
		"empty":    "[skills]\n",
		"followed": "[skills]\none = \"^1 acme/a//one\" # keep\n\n# trust\n[trust]\nsources = []\n",
		"present":  "[skills]\nb = { source = \"acme/a//b\", version = \"^1\", use = \"optional\" }\n",
		"dotted":   "skills.one = \"^1 acme/a//one\"\n",
		"inline":   "skills = { one = \"^1 acme/a//one\" }\n",
		"crlf":     "[skills]\r\none = \"^1 acme/a//one\"\r\n",
		"no end":   "[skills]\none = \"^1 acme/a//one\"",
	}
	var entries []Skill
	for _, text := range []string{"a ^1.2 acme/a//a", "b ref:main acme/a//b", "c.d * acme/a//c"} {
		key, rest, _ := strings.Cut(text, " ")
		r, err := skill.ParseRequirement(rest, nil)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, Skill{Key: skill.Key(key), Requirement: r})
	}
	for name, file := range files {
		t.Run(name, func(t *testing.T) {
			got, err := edited(file, func(ed *Edit) error {
				for _, e := range entries {
					if err := ed.Set(e.Key, e.Requirement); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			want := []byte(file)
			for _, e := range entries {
				if want, err = set(string(want), e.Key, e.Requirement); err != nil {
					t.Fatal(err)
				}
			}
			if string(got) != string(want) {
				t.Errorf("one edit and many differ\n--- one\n%s\n--- many\n%s", got, want)
			}
		})
	}
}
