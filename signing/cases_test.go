package signing

import (
	"crypto"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// signingCase is one entry of cases/signing/cases.json; see the README there.
type signingCase struct {
	ID              string
	Expect          []string
	Mode            string // blob, oms or oms-cert
	Dir             string
	Bundle          string
	Artifact        string
	Digest          string
	DigestAlgorithm string `json:"digest_algorithm"`
	TrustedRoot     string `json:"trusted_root"`
	Key             string
	CA              string
	Issuer          string
	Identity        string
	IdentityPattern string `json:"identity_pattern"`
	Now             string
	Tolerate        []string
	NoLog           bool `json:"no_log"`
	RequireRFC3161  bool `json:"require_rfc3161"`
	Mutate          []struct{ Op, Path, Content string }
}

// casesDir is the directory with the shared cases: SKILLPM_CASES, else our copy.
func casesDir(t testing.TB) string {
	dir := os.Getenv("SKILLPM_CASES")
	if dir == "" {
		dir = filepath.Join("..", "testdata", "cases")
	}
	abs, err := filepath.Abs(filepath.Join(dir, "signing"))
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// fixtures is our copy of the shared cases, for tests that only need its files.
func fixtures(t testing.TB) string {
	t.Helper()
	abs, err := filepath.Abs(filepath.Join("..", "testdata", "cases", "signing"))
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

func TestSigningCases(t *testing.T) {
	base := casesDir(t)
	data, err := os.ReadFile(filepath.Join(base, "cases.json"))
	if os.IsNotExist(err) {
		t.Skip("no signing cases in SKILLPM_CASES")
	}
	if err != nil {
		t.Fatal(err)
	}
	var cases []signingCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			code, message := c.run(t, base)
			if !slices.Contains(c.Expect, code) {
				t.Errorf("got %s (%s), want one of %v", code, message, c.Expect)
			}
			t.Logf("%s: %s", code, message)
		})
	}
}

// run returns the code of the verdict, "ok" for verified.
func (c *signingCase) run(t *testing.T, base string) (code, message string) {
	dir := filepath.Join(base, filepath.FromSlash(c.Dir))
	if len(c.Mutate) > 0 {
		dir = c.mutated(t, dir)
	}
	policy, err := ParsePolicy(filepath.Join(base, "trust.toml"), []byte(c.policy()), ScopeUser)
	if err != nil {
		return string(diag.CodeOf(err)), err.Error()
	}
	set, err := NewSet(SetOptions{}, policy)
	if err != nil {
		return string(diag.CodeOf(err)), err.Error()
	}
	bundle, err := os.ReadFile(filepath.Join(dir, c.Bundle))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if os.IsNotExist(err) {
		bundle = nil
	}
	if c.Mode == "blob" {
		return c.runBlob(t, dir, set, bundle)
	}
	v := Verify(t.Context(), Input{Source: mustSource(t, "example.com/cases//"+c.ID), Tree: dirTree(t, dir, c.Bundle), Bundle: bundle, Policies: set, Now: c.now(t)})
	if v.Outcome == Verified {
		return "ok", v.Summary()
	}
	return string(v.Code), v.Stage + ": " + v.Message + " | " + v.Hint
}

// runBlob judges a signed file, by the same stages that judge a skill.
func (c *signingCase) runBlob(t *testing.T, dir string, set *Set, data []byte) (code, message string) {
	if data == nil {
		return string(diag.SignatureMissing), "no bundle"
	}
	b, f := parseBundle(data)
	if f == nil {
		blob := &blobContent{algorithm: c.DigestAlgorithm}
		if c.Artifact != "" {
			blob.data = readFile(t, filepath.Join(dir, c.Artifact))
		} else if blob.sum, _ = hex.DecodeString(c.Digest); len(blob.sum) == 0 {
			t.Fatal("the case has neither artifact nor digest")
		}
		p := set.policies[0]
		root, err := set.rootFor(p)
		if err != nil {
			t.Fatal(err)
		}
		a := &attempt{b: b, content: blob, rule: p.Rules[0].AnyOf[0], root: root, now: c.now(t),
			revoked: func() *fault { return nil }, clock: &clock{}, notes: new([]Note)}
		f = a.run()
	}
	if f != nil {
		return string(f.code), f.stage.String() + ": " + f.message + " | " + f.advice
	}
	return "ok", b.facts.Who()
}

func (c *signingCase) now(t *testing.T) time.Time {
	if c.Now == "" {
		return time.Now()
	}
	now, err := time.Parse(time.RFC3339, c.Now)
	if err != nil {
		t.Fatal(err)
	}
	return now
}

// policy writes what the case demands as a trust file.
func (c *signingCase) policy() string {
	var b strings.Builder
	b.WriteString("[trust]\n")
	if c.TrustedRoot != "" {
		fmt.Fprintf(&b, "trusted_root = %q\n", c.TrustedRoot)
	}
	fmt.Fprintf(&b, "[[trust.rules]]\nmatch = \"**\"\nmode = \"required\"\n")
	if len(c.Tolerate) > 0 {
		list, _ := json.Marshal(c.Tolerate)
		fmt.Fprintf(&b, "tolerate = %s\n", list)
	}
	log := "required"
	if c.NoLog {
		log = "none"
	}
	switch {
	case c.CA != "":
		fmt.Fprintf(&b, "any_of = [ { x509 = { roots = %q", c.CA)
		if c.Identity != "" {
			fmt.Fprintf(&b, ", subject = %q", c.Identity)
		}
	case c.Key != "":
		fmt.Fprintf(&b, "any_of = [ { key = { file = %q, log = %q", c.Key, log)
	default:
		fmt.Fprintf(&b, "any_of = [ { keyless = { issuer = %q", c.Issuer)
		if c.IdentityPattern != "" {
			fmt.Fprintf(&b, ", identity_regexp = '%s'", c.IdentityPattern)
		} else {
			fmt.Fprintf(&b, ", identity = %q", c.Identity)
		}
		if c.RequireRFC3161 {
			b.WriteString(`, timestamp = "required"`)
		}
	}
	b.WriteString(" } } ]\n")
	return b.String()
}

// mutated applies the case's changes to a copy of dir.
func (c *signingCase) mutated(t *testing.T, dir string) string {
	tmp := t.TempDir()
	if err := os.CopyFS(tmp, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	for _, m := range c.Mutate {
		path := filepath.Join(tmp, filepath.FromSlash(m.Path))
		var err error
		switch m.Op {
		case "append":
			err = os.WriteFile(path, append(readFile(t, path), m.Content...), 0o644)
		case "replace":
			before, after, _ := strings.Cut(m.Content, "=>")
			err = os.WriteFile(path, []byte(strings.ReplaceAll(string(readFile(t, path)), before, after)), 0o644)
		case "write":
			if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
				err = os.WriteFile(path, []byte(m.Content), 0o644)
			}
		case "delete":
			err = os.Remove(path)
		case "symlink":
			err = os.Symlink(m.Content, path)
		case "rename":
			err = os.Rename(path, filepath.Join(tmp, filepath.FromSlash(m.Content)))
		case "chmod":
			err = os.Chmod(path, 0o755)
		default:
			t.Fatalf("unknown mutation %s", m.Op)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return tmp
}

// blobContent is one signed file, known whole or by its digest.
type blobContent struct {
	data      []byte
	algorithm string
	sum       []byte
}

func (c *blobContent) signature(b *bundle, key *publicKey) bool {
	switch {
	case b.message == nil:
		return key.verify(pae(b.payloadType, b.payload), b.sig)
	case c.data != nil:
		return key.verify(c.data, b.sig)
	}
	return key.verifySum(c.sum, b.sig)
}

func (c *blobContent) statement(b *bundle) *fault {
	if b.message != nil {
		return nil
	}
	var s struct{ Subject []subject }
	if err := json.Unmarshal(b.payload, &s); err != nil {
		return statementFault(diag.SignatureMalformed, "%s", err)
	}
	algorithm, sum := c.algorithm, c.sum
	if c.data != nil {
		h := crypto.SHA256.New()
		h.Write(c.data)
		algorithm, sum = "sha256", h.Sum(nil)
	}
	for _, subject := range s.Subject {
		if subject.Digest[algorithm] == hex.EncodeToString(sum) {
			return nil
		}
	}
	return statementFault(diag.SignatureDigestMismatch, "no subject is the artifact")
}

func (c *blobContent) compare([]glob) *fault { return nil }

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func mustSource(t testing.TB, s string) skill.Source {
	t.Helper()
	src, err := skill.ParseSource(s)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// dirTree is the tree of a directory, links followed, without the bundle.
func dirTree(t testing.TB, dir, bundle string) *skill.Tree {
	t.Helper()
	var files []skill.File
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		if err != nil || d.IsDir() || rel == bundle {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		files = append(files, newFile(filepath.ToSlash(rel), string(data), info.Mode()&0o100 != 0))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	tree, err := skill.NewTree(files, skill.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
