package lockfile

import (
	"fmt"
	"path"
	"strings"

	"github.com/skillpm/skillpm/skill"
)

// notInPath are the fields that a path entry has not: editing a local skill
// must not make the lock stale.
var notInPath = []string{"description", "digest", "allowedTools", "size", "signature", "retracted", "training"}

func (o *object) entry(key string) *Entry {
	e := &Entry{Key: key, DeclaredName: o.str("declaredName", false, nil)}
	if s := o.child("source", true); s != nil {
		e.Source = s.source()
	}
	isPath := e.Source.Type == TypePath
	e.Version = o.str("version", e.Source.Type == TypeGit, checkVersion) // an index knows no versions
	e.Requires = o.requirements("requires", false)
	e.Dependencies = o.strings("dependencies", false, checkKey)
	e.Use = o.str("use", false, oneOf("required", "optional"))
	if c := o.child("chain", false); c != nil {
		e.Chain = c.chain()
	}
	if isPath {
		o.what = "the path entry `" + key + "`"
		o.forbid(notInPath...)
		e.Unknown = o.rest()
		return e
	}
	e.Description = o.str("description", false, nil)
	e.Digest = skill.Digest(o.str("digest", true, checkDigest))
	e.AllowedTools = o.str("allowedTools", false, nil)
	e.Retracted = o.str("retracted", false, nil)
	if s := o.child("size", false); s != nil {
		e.Size = Size{Body: s.number("body", true), Resources: s.number("resources", true), Files: s.number("files", true)}
		e.Size.Unknown = s.rest()
	}
	if s := o.child("signature", false); s != nil {
		e.Signature = s.signature()
	}
	if t := o.child("training", false); t != nil {
		e.Training = t.training()
	}
	e.Unknown = o.rest()
	return e
}

func (o *object) source() Source {
	s := Source{Type: o.str("type", true, oneOf(TypeGit, TypeIndex, TypePath))}
	switch s.Type {
	case TypeGit:
		s.URL = o.str("url", true, checkGitURL)
		s.Path = o.str("path", false, checkSubpath)
		s.Tag = o.str("tag", false, skill.CheckRef)
		s.Ref = o.str("ref", false, checkFullRef)
		s.Commit = o.str("commit", true, checkObjectID)
		s.Tree = o.str("tree", false, checkObjectID)
		o.forbid("artifact", "sha256")
	case TypeIndex:
		s.URL = o.str("url", true, checkIndexURL)
		s.Artifact = o.str("artifact", true, nil)
		s.SHA256 = o.str("sha256", true, checkSHA256)
		o.forbid("path", "tag", "ref", "commit", "tree")
	case TypePath:
		s.Path = o.str("path", true, relativePath)
		o.forbid("url", "tag", "ref", "commit", "tree", "artifact", "sha256")
	}
	s.Unknown = o.rest()
	return s
}

func (o *object) signature() *Signature {
	s := &Signature{Kind: o.str("kind", true, oneOf(SignatureKeyless, SignatureX509, SignatureKey))}
	switch s.Kind {
	case SignatureKeyless:
		s.Issuer, s.Identity = o.str("issuer", true, nil), o.str("identity", true, nil)
		o.forbid("subject", "hint", "key")
	case SignatureX509:
		s.Issuer, s.Subject = o.str("issuer", false, nil), o.str("subject", true, nil)
		s.Key = o.str("key", false, checkDigest)
		o.forbid("identity", "hint")
	case SignatureKey:
		s.Hint, s.Key = o.str("hint", false, nil), o.str("key", false, checkDigest)
		o.forbid("issuer", "identity", "subject")
	}
	s.Bundle = skill.Digest(o.str("bundle", true, checkDigest))
	s.Unknown = o.rest()
	return s
}

func (o *object) chain() *Chain {
	c := &Chain{
		Mode:       o.str("mode", true, oneOf(ModeSequential, ModeParallel)),
		Steps:      o.strings("steps", false, checkKey),
		Unresolved: o.strings("unresolved", false, nil),
		Depth:      o.number("depth", true),
	}
	if p := o.child("policy", true); p != nil {
		c.Policy = Policy{
			ContinueOnError:   p.boolean("continue_on_error"),
			Timeout:           p.number("timeout", true),
			MaxDepth:          p.number("max_depth", true),
			ParallelLimit:     p.number("parallel_limit", true),
			CleanupAfter:      p.boolean("cleanup_after"),
			EarlyExitOn:       p.str("early_exit_on", true, oneOf("none", "failure", "success", "critical")),
			ContinueOnSuccess: p.boolean("continue_on_success"),
			PassState:         p.boolean("pass_state"),
			RetryCount:        p.number("retry_count", true),
			RetryUntil:        p.str("retry_until", true, oneOf("none", "stable", "success")),
			RaceMode:          p.boolean("race_mode"),
		}
		c.Policy.Unknown = p.rest()
	}
	c.Unknown = o.rest()
	return c
}

func (o *object) training() *Training {
	t := &Training{
		Mode:   o.str("mode", true, oneOf("runtime", "trainable", "hybrid")),
		SHA256: o.str("sha256", true, checkSHA256),
	}
	if s := o.child("suites", false); s != nil {
		t.Suites = &Suites{Train: s.suite("train"), Validation: s.suite("validation"), Test: s.suite("test")}
		t.Suites.Unknown = s.rest()
	}
	t.Unknown = o.rest()
	return t
}

func (o *object) suite(name string) Suite {
	s := o.child(name, true)
	if s == nil {
		return Suite{}
	}
	out := Suite{Path: s.str("path", true, skill.CheckPath), SHA256: s.str("sha256", true, checkSHA256)}
	out.Unknown = s.rest()
	return out
}

func checkVersion(s string) error {
	_, err := skill.ParseVersion(s)
	return err
}

func checkKey(s string) error {
	_, err := skill.ParseKey(s)
	return err
}

func checkDigest(s string) error {
	_, err := skill.ParseDigest(s)
	return err
}

func checkSHA256(s string) error {
	if len(s) != 64 || !isHex(s) {
		return fmt.Errorf("expected 64 lower-case hex digits, found `%s`", s)
	}
	return nil
}

func checkObjectID(s string) error {
	if !skill.IsObjectID(s) {
		return fmt.Errorf("a git object id has 40 or 64 lower-case hex digits, found `%s`", s)
	}
	return nil
}

func isHex(s string) bool {
	return strings.Trim(s, "0123456789abcdef") == ""
}

func checkFullRef(s string) error {
	if !strings.HasPrefix(s, "refs/") {
		return fmt.Errorf("expected a full name, refs/…, found `%s`", s)
	}
	return skill.CheckRef(s)
}

// checkGitURL accepts what skill.Source.URL returns and nothing else: one of the
// known schemes, never a password, never an option or a remote helper that git
// would run.
func checkGitURL(s string) error {
	src, err := skill.ParseSource(s + "//")
	switch {
	case err != nil:
		return err
	case src.Kind() != skill.SourceGit || src.Subpath() != "" || src.URL() != s:
		return fmt.Errorf("`%s` is no repository's plain address", skill.RedactURL(s))
	}
	return nil
}

func checkIndexURL(s string) error {
	src, err := skill.ParseSource("index:" + s)
	switch {
	case err != nil:
		return err
	case src.URL() != s:
		return fmt.Errorf("`%s` is no index's plain address", skill.RedactURL(s))
	}
	return nil
}

// checkSubpath refuses a directory that climbs out of its repository.
func checkSubpath(s string) error {
	if err := relativePath(s); err != nil {
		return err
	}
	if s == "." || s == ".." || strings.HasPrefix(s, "../") {
		return fmt.Errorf("`%s` is no directory inside the repository", s)
	}
	return nil
}

// relativePath accepts a clean slash path that is not absolute; it may climb.
func relativePath(s string) error {
	if s == "" || path.IsAbs(s) || path.Clean(s) != s || strings.Contains(s, `\`) ||
		strings.ContainsFunc(s, isControl) || len(s) > 1 && s[1] == ':' {
		return fmt.Errorf("expected a clean relative slash path, found %q", s)
	}
	return nil
}

func isControl(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }
