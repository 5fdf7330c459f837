package lockfile_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/skillpm/skillpm/lockfile"
)

func lockSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile("../docs/schema/skills.lock.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(t *testing.T, s *jsonschema.Schema, data []byte) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

// The schema accepts what this package writes and, where a schema can say it,
// refuses what this package refuses.
func TestSchema(t *testing.T) {
	s := lockSchema(t)
	golden, err := os.ReadFile("../testdata/lock/full.lock")
	if err != nil {
		t.Fatal(err)
	}
	if err := validate(t, s, golden); err != nil {
		t.Error(err)
	}
	for _, change := range []struct{ name, old, new string }{
		{"format", `"skillpm-lock"`, `"other-lock"`},
		{"version of the lock", `"lockVersion": 1`, `"lockVersion": 2`},
		{"targets missing", `"targets"`, `"target"`},
		{"commit", `"commit": "3f`, `"commit": "3g`},
		{"version", `"version": "2.1.0"`, `"version": "2.1"`},
		{"digest missing", `"digest"`, `"digset"`},
		{"kind of source", `"type": "index"`, `"type": "git"`},
		{"field of another kind", `"hint": "a1b2c3"`, `"identity": "a1b2c3"`},
		{"policy incomplete", `"race_mode": false`, `"race": false`},
		{"key", `"vault": {`, `"../vault": {`},
		{"number as text", `"body": 4812`, `"body": "4812"`},
		{"target", `".claude/skills"`, `"/etc"`},
	} {
		text := strings.Replace(string(golden), change.old, change.new, 1)
		if text == string(golden) {
			t.Fatalf("%s: nothing to change", change.name)
		}
		if validate(t, s, []byte(text)) == nil {
			t.Errorf("%s: the schema accepts it", change.name)
		}
		if _, err := lockfile.Parse([]byte(text)); err == nil {
			t.Errorf("%s: Parse accepts it", change.name)
		}
	}
}

func TestOutputSchema(t *testing.T) {
	s, err := jsonschema.NewCompiler().Compile("../docs/schema/output.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	good := `{"schema":"skillpm/mirror-push/1","exit":2,"result":null,"diagnostics":[{"code":"lock_corrupt","severity":"error","message":"x","file":"skills.lock","line":1,"column":2,"hint":"y"}]}`
	if err := validate(t, s, []byte(good)); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{
		`{"schema":"skillpm/add","exit":0,"result":{},"diagnostics":[]}`,
		`{"schema":"skillpm/add/1","exit":0,"result":{},"diagnostics":null}`,
		`{"schema":"skillpm/add/1","exit":4,"result":{},"diagnostics":[]}`,
		`{"schema":"skillpm/add/1","exit":0,"result":[],"diagnostics":[]}`,
		`{"schema":"skillpm/add/1","exit":0,"result":{},"diagnostics":[{"code":"x","severity":"fatal","message":"m"}]}`,
	} {
		if validate(t, s, []byte(bad)) == nil {
			t.Errorf("accepted %s", bad)
		}
	}
}
