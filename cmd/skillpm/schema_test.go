package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemas are the published ones, by the name that the script command takes.
var schemas = map[string]string{"output": "output.schema.json", "lock": "skills.lock.schema.json"}

// cmdSchema checks files against docs/schema: schema output|lock FILE…
func cmdSchema(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || schemas[args[0]] == "" {
		ts.Fatalf("usage: schema output|lock FILE…")
	}
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(ts.Getenv("TESTDATA"), "..", "docs", "schema", schemas[args[0]]))
	ts.Check(err)
	for _, name := range args[1:] {
		if err := validate(schema, ts.ReadFile(name)); err != nil {
			ts.Fatalf("%s: %v", name, err)
		}
	}
}

// cmdEnvelope runs skillpm with --json and demands an exit status, one envelope
// on stdout that the schema accepts, and that its schema and exit say the same:
// envelope STATUS NAME ARG…
func cmdEnvelope(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: envelope STATUS NAME ARG…")
	}
	cmdStatus(ts, false, append([]string{args[0], "skillpm", "--json"}, args[2:]...))
	out := ts.ReadFile("stdout")
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(ts.Getenv("TESTDATA"), "..", "docs", "schema", schemas["output"]))
	ts.Check(err)
	if err := validate(schema, out); err != nil {
		ts.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{`"schema": "skillpm/` + args[1] + `/1"`, `"exit": ` + args[0] + ","} {
		if !strings.Contains(out, want) {
			ts.Fatalf("stdout lacks %s:\n%s", want, out)
		}
	}
}

func validate(schema *jsonschema.Schema, text string) error {
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

// commandName is the canonical name that App.command is given.
var commandName = regexp.MustCompile(`"([a-z][a-z-]*)",\s*(?:func\((?:ctx |_ )?context\.Context|use\(|run\))`)

// Every command and sub-command stands in the script of envelopes, so that a new
// one is checked against the schema too.
func TestEnvelopesOfAllCommands(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(filepath.Join("testdata", "script", "json.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join("..", "internal", "cli", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, m := range commandName.FindAllSubmatch(src, -1) {
			checked++
			if !bytes.Contains(script, []byte(" "+string(m[1])+" ")) {
				t.Errorf("%s makes skillpm/%s/1, which json.txtar does not check", name, m[1])
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d commands were found", checked)
	}
}
