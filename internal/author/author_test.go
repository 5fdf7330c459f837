package author

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/signing"
)

// newRepository makes a git repository with the skills deploy and vault.
func newRepository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+who+"_NAME", "Ann")
		t.Setenv("GIT_"+who+"_EMAIL", "ann@example.com")
	}
	write(t, dir, "skills/deploy/SKILL.md", "---\nname: deploy\ndescription: Deploys to staging. Use when asked to deploy.\n---\nRun it.\n")
	write(t, dir, "skills/deploy/scripts/run.sh", "#!/bin/sh\n")
	write(t, dir, "skills/vault/SKILL.md", "---\nname: vault\ndescription: Reads secrets. Use when asked for one.\n---\nAsk.\n")
	write(t, dir, ".gitignore", "*.log\n")
	runGit(t, dir, "init", "-q", "-b", "main")
	runGit(t, dir, "add", ".")
	runGit(t, dir, "commit", "-qm", "first")
	return dir
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func runGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func newSigner(t *testing.T) *signing.Signer {
	t.Helper()
	private, _, err := signing.GenerateKey(rand.Reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := signing.NewSigner("key.pem", private, nil, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSignAndCheck(t *testing.T) {
	dir, signer, now := newRepository(t), newSigner(t), time.Now()
	read := func() *Skill {
		t.Helper()
		s, err := Read(t.Context(), dir, "skills/deploy")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := read()
	if s.Name != "deploy" || len(s.Tree.Files()) != 2 || s.Label != "skills/deploy" {
		t.Errorf("got %+v", s)
	}
	if err := s.Check(signer, now); diag.CodeOf(err) != diag.SignatureMissing {
		t.Errorf("unsigned: %v", err)
	}
	if status, err := s.Sign(signer, now); err != nil || status != Signed {
		t.Fatal(status, err)
	}
	s = read()
	if err := s.Check(signer, now); err != nil {
		t.Error(err)
	}
	if status, err := s.Sign(signer, now); err != nil || status != Unchanged {
		t.Errorf("signing twice: %s, %v", status, err)
	}
	if err := s.Check(newSigner(t), now); diag.CodeOf(err) != diag.SignatureKeyUnknown {
		t.Errorf("another key: %v", err)
	}
	write(t, dir, "skills/deploy/scripts/run.sh", "#!/bin/sh\nid\n")
	err := read().Check(signer, now)
	if diag.CodeOf(err) != diag.SignatureContentChanged || !strings.Contains(err.Error(), "scripts/run.sh") {
		t.Errorf("changed: %v", err)
	}
	write(t, dir, "skills/deploy/debug.log", "x")
	if err := read().CheckIgnored(t.Context()); diag.CodeOf(err) != diag.WorktreeDirty {
		t.Errorf("ignored file: %v", err)
	}
	labels, err := Find(t.Context(), dir, ".")
	if err != nil || strings.Join(labels, " ") != "skills/deploy skills/vault" {
		t.Error(labels, err)
	}
}

func TestReadRefusals(t *testing.T) {
	dir := newRepository(t)
	write(t, dir, "broken/SKILL.md", "no frontmatter")
	for target, want := range map[string]diag.Code{
		"gone": diag.PathMissing, "broken": diag.FrontmatterMissing, "skills": diag.NoSkillFound,
	} {
		if _, err := Read(t.Context(), dir, target); diag.CodeOf(err) != want {
			t.Errorf("%s: got %v, want %s", target, err, want)
		}
	}
}

func TestGenerateKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "acme.key")
	if err := GenerateKey(t.Context(), rand.Reader, file, []byte("secret")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := GenerateKey(t.Context(), rand.Reader, file, nil); diag.CodeOf(err) != diag.Usage {
		t.Errorf("a key was overwritten: %v", err)
	}
	data, err := os.ReadFile(file)
	if err != nil || !signing.KeyNeedsPassphrase(data) {
		t.Errorf("not encrypted: %s, %v", data, err)
	}
}

func TestTag(t *testing.T) {
	dir, signer := newRepository(t), newSigner(t)
	opt := TagOptions{Base: filepath.Join(dir, "skills"), Now: time.Now()}
	dry := opt
	dry.DryRun = true
	if _, err := Tag(t.Context(), "deploy", "1.0.0", dry); err != nil {
		t.Fatal(err)
	}
	if got := runGit(t, dir, "tag"); got != "" {
		t.Errorf("a dry run made %s", got)
	}
	got, err := Tag(t.Context(), "deploy", "1.0.0", opt)
	if err != nil || got.Tag != "skills/deploy/v1.0.0" || got.Signed {
		t.Fatalf("got %+v, %v", got, err)
	}
	if kind := runGit(t, dir, "cat-file", "-t", "skills/deploy/v1.0.0"); kind != "tag" {
		t.Errorf("a %s, want an annotated tag", kind)
	}
	opt.Signer = signer
	got, err = Tag(t.Context(), "deploy", "1.1.0", opt)
	if err != nil || !got.Signed || got.Commit == "" {
		t.Fatalf("got %+v, %v", got, err)
	}
	if !strings.Contains(runGit(t, dir, "ls-tree", "-r", "--name-only", "skills/deploy/v1.1.0"), "skills/deploy/skill.oms.sig") {
		t.Error("the tag does not hold the signature")
	}
	if got, err = Tag(t.Context(), "deploy", "1.2.0", opt); err != nil || got.Commit != "" {
		t.Errorf("an unchanged signature was committed again: %+v, %v", got, err)
	}
	for _, tt := range []struct {
		name, skill, version string
		prepare              func()
		want                 diag.Code
	}{
		{"tag exists", "deploy", "1.1.0", func() {}, diag.TagExists},
		{"no version", "deploy", "1.1", func() {}, diag.Usage},
		{"a v in front", "deploy", "v1.3.0", func() {}, diag.Usage},
		{"no such skill", "deplox", "1.0.0", func() {}, diag.SkillNotFound},
		{"ignored file", "vault", "1.0.0", func() { write(t, dir, "skills/vault/a.log", "x") }, diag.WorktreeDirty},
		{"new file", "deploy", "2.0.0", func() { write(t, dir, "skills/deploy/new.md", "x") }, diag.WorktreeDirty},
		{"two of a name", "vault", "1.0.0", func() {
			write(t, dir, "more/vault/SKILL.md", "---\nname: vault\ndescription: Reads secrets. Use when asked.\n---\nAsk.\n")
		}, diag.AmbiguousSkill},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.prepare()
			if got, err := Tag(t.Context(), tt.skill, tt.version, opt); diag.CodeOf(err) != tt.want {
				t.Errorf("got %+v, %v, want %s", got, err, tt.want)
			}
		})
	}
	if _, err := Tag(t.Context(), "deploy", "1.0.0", TagOptions{Base: t.TempDir()}); diag.CodeOf(err) != diag.GitFailed {
		t.Errorf("outside a repository: %v", err)
	}
}

// Two skills of one name are told apart by their paths.
func TestTagByPath(t *testing.T) {
	dir := newRepository(t)
	write(t, dir, "old/deploy/SKILL.md", "---\nname: deploy\ndescription: Deploys as before. Use when told so.\n---\nRun it.\n")
	runGit(t, dir, "add", ".")
	runGit(t, dir, "commit", "-qm", "second")
	opt := TagOptions{Base: dir, Now: time.Now()}
	if _, err := Tag(t.Context(), "deploy", "1.0.0", opt); diag.CodeOf(err) != diag.AmbiguousSkill {
		t.Errorf("the name alone: %v", err)
	}
	got, err := Tag(t.Context(), "skills/deploy", "1.0.0", opt)
	if err != nil || got.Tag != "skills/deploy/v1.0.0" || got.Name != "deploy" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestTagPush(t *testing.T) {
	dir := newRepository(t)
	bare := t.TempDir()
	runGit(t, bare, "init", "-q", "--bare")
	runGit(t, dir, "remote", "add", "origin", bare)
	got, err := Tag(t.Context(), "vault", "0.1.0", TagOptions{Base: dir, Push: true, Now: time.Now()})
	if err != nil || !got.Pushed || runGit(t, bare, "tag") != "skills/vault/v0.1.0" {
		t.Errorf("got %+v, %v, %s", got, err, runGit(t, bare, "tag"))
	}
}
