package lockfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/skillpm/skillpm/skill"
)

var (
	genKey     = rapid.StringMatching(`[a-z][a-z0-9]{0,3}(-[a-z0-9]{1,3})?`)
	genHex40   = rapid.StringMatching(`[0-9a-f]{40}`)
	genHex64   = rapid.StringMatching(`[0-9a-f]{64}`)
	genText    = rapid.StringN(0, 20, -1)
	genFilled  = rapid.StringN(1, 20, -1)
	genVersion = rapid.StringMatching(`(0|[1-9][0-9]?)\.(0|[1-9])\.(0|[1-9])(-rc\.[1-9])?`)
)

func genDigest(t *rapid.T, label string) skill.Digest {
	return skill.Digest("sha256:" + genHex64.Draw(t, label))
}

func genMap(t *rapid.T, label string) map[string]string {
	m := map[string]string{}
	for range rapid.IntRange(0, 3).Draw(t, label+" size") {
		m[genKey.Draw(t, label)] = rapid.SampledFrom([]string{"*", "^1.0", "* github.com/a/b//c", "github.com/a/b// ref:main"}).Draw(t, label+" requirement")
	}
	if len(m) == 0 {
		return nil
	}
	return m
}

func genUnknown(t *rapid.T) Unknown {
	if !rapid.Bool().Draw(t, "unknown") {
		return nil
	}
	raw := rapid.SampledFrom([]string{`1.0`, `"x"`, `null`, `[]`, `{"a":[1,{"b":true}],"z":{}}`, `12345678901234567890`}).Draw(t, "value")
	return Unknown{"x" + rapid.StringN(0, 5, -1).Draw(t, "unknown name"): json.RawMessage(raw)}
}

func genEntry(t *rapid.T, key string) *Entry {
	e := &Entry{Key: key, Version: genVersion.Draw(t, "version"), Requires: genMap(t, "requires"), Dependencies: rapid.SliceOfN(genKey, 0, 3).Draw(t, "dependencies"), Unknown: genUnknown(t)}
	e.Use = rapid.SampledFrom([]string{"", "required", "optional"}).Draw(t, "use")
	if rapid.Bool().Draw(t, "chain") {
		p := DefaultPolicy()
		p.Timeout, p.RaceMode, p.Unknown = rapid.Int64Range(0, 1<<40).Draw(t, "timeout"), rapid.Bool().Draw(t, "race"), genUnknown(t)
		e.Chain = &Chain{Mode: ModeParallel, Steps: rapid.SliceOfN(genKey, 0, 3).Draw(t, "steps"), Unresolved: rapid.SliceOfN(genFilled, 0, 2).Draw(t, "unresolved"), Depth: 1, Policy: p, Unknown: genUnknown(t)}
	}
	if rapid.Bool().Draw(t, "path") {
		e.Source = Source{Type: TypePath, Path: "../" + key, Unknown: genUnknown(t)}
		return e
	}
	e.Description, e.AllowedTools, e.Retracted = genText.Draw(t, "description"), genText.Draw(t, "tools"), genText.Draw(t, "retracted")
	e.DeclaredName, e.Digest = genText.Draw(t, "name"), genDigest(t, "digest")
	e.Source = Source{Type: TypeGit, URL: "https://github.com/Acme/x.git", Path: rapid.SampledFrom([]string{"", "a/b"}).Draw(t, "path"), Tag: "v1", Commit: genHex40.Draw(t, "commit"), Tree: genHex64.Draw(t, "tree"), Unknown: genUnknown(t)}
	e.Size = Size{Body: rapid.Int64Range(0, 1<<50).Draw(t, "body"), Files: 1, Unknown: genUnknown(t)}
	if rapid.Bool().Draw(t, "signed") {
		e.Signature = &Signature{Kind: SignatureKeyless, Issuer: genFilled.Draw(t, "issuer"), Identity: genFilled.Draw(t, "identity"), Bundle: genDigest(t, "bundle"), Unknown: genUnknown(t)}
	}
	if rapid.Bool().Draw(t, "training") {
		s := Suite{Path: "a/b", SHA256: genHex64.Draw(t, "suite")}
		e.Training = &Training{Mode: "trainable", SHA256: genHex64.Draw(t, "training"), Suites: &Suites{Train: s, Validation: s, Test: s, Unknown: genUnknown(t)}}
	}
	return e
}

func genLock(t *rapid.T) *Lock {
	l := &Lock{Root: Root{Requires: genMap(t, "root"), Overrides: genMap(t, "overrides"), Unknown: genUnknown(t)}, Unknown: genUnknown(t)}
	for _, key := range rapid.SliceOfNDistinct(genKey, 0, 4, rapid.ID[string]).Draw(t, "keys") {
		l.Skills = append(l.Skills, genEntry(t, key))
	}
	l.Targets = rapid.SliceOfN(rapid.SampledFrom([]string{".agents/skills", "~/.claude/skills"}), 0, 2).Draw(t, "targets")
	return l
}

// sameLock leaves out what the file does not carry: the order of dependencies
// and the difference between an empty and an absent map.
var sameLock = cmp.Options{
	cmpopts.EquateEmpty(),
	cmp.Transformer("set", func(e Entry) Entry {
		e.Dependencies = sortedSet(e.Dependencies)
		return e
	}),
}

// What is written reads back, what is read back is written the same, and the
// JSON Schema accepts it.
func TestRoundTrip(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../docs/schema/skills.lock.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		l := genLock(t)
		data := l.Bytes()
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("%v:\n%s", err, data)
		}
		if err := schema.Validate(v); err != nil {
			t.Fatalf("%v:\n%s", err, data)
		}
		again, err := Parse(data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		for _, e := range l.Skills {
			if diff := cmp.Diff(*e, *again.Get(e.Key), sameLock...); diff != "" {
				t.Fatal(diff)
			}
		}
		if diff := cmp.Diff(l.Root, again.Root, sameLock...); diff != "" {
			t.Fatal(diff)
		}
		if !bytes.Equal(again.Bytes(), data) || !IsCanonical(data) {
			t.Fatalf("not canonical:\n%s", data)
		}
	})
}

// Bytes depend on what a lock says, not on how its maps and lists were built.
func TestCanonical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := genLock(t)
		want := l.Bytes()
		l.Skills = rapid.Permutation(l.Skills).Draw(t, "skills")
		for _, e := range l.Skills {
			e.Dependencies = rapid.Permutation(e.Dependencies).Draw(t, "order")
			if len(e.Requires) == 0 {
				e.Requires = map[string]string{}
			}
		}
		if !bytes.Equal(l.Bytes(), want) {
			t.Fatalf("order of building shows:\n%s", want)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, want); err != nil {
			t.Fatal(err)
		}
		again, err := Parse(compact.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again.Bytes(), want) {
			t.Fatalf("layout shows:\n%s", again.Bytes())
		}
		if IsCanonical(compact.Bytes()) {
			t.Fatal("compact JSON counts as canonical")
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(fullLock().Bytes())
	f.Add([]byte(minimal(gitEntry("a", `,"x":{"y":[1e5]}`), `".agents/skills"`)))
	f.Add([]byte("version = 1\n[[skills]]\nskillRef = 'a'\n"))
	f.Add([]byte("{\n<<<<<<< a\n=======\n>>>>>>> b\n}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		ours, theirs, _ := Conflicted(data)
		_, _ = ours, theirs
		l, err := Parse(data)
		if err != nil {
			return
		}
		out := l.Bytes()
		again, err := Parse(out)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if !bytes.Equal(again.Bytes(), out) {
			t.Fatalf("not stable:\n%s", out)
		}
		l.Cycle()
		l.Unreachable()
		for _, key := range l.Order() {
			l.Plan(key)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	l := &Lock{Root: Root{Requires: map[string]string{}}, Targets: []string{".agents/skills"}}
	for i := range 2000 {
		e := *fullLock().Get("deploy")
		e.Key, e.Requires, e.Dependencies, e.Chain = fmt.Sprintf("skill-%d", i), nil, nil, nil
		l.Skills = append(l.Skills, &e)
	}
	data := l.Bytes()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := Parse(data); err != nil {
			b.Fatal(err)
		}
	}
}
