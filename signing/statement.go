package signing

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// The statement's types: in-toto Statement v1 and OpenSSF Model Signing v1.0.
const (
	payloadType   = "application/vnd.in-toto+json"
	statementType = "https://in-toto.io/Statement/v1"
	predicateType = "https://model_signing/signature/v1.0"
	// treeDigestName is our own subject digest: the skill tree's, which binds
	// names and modes as well as bytes.
	treeDigestName = "skillpm-tree-v1"
)

// statement is a Model Signing statement about a directory. The JSON fields are
// in the order that Model Signing writes.
type statement struct {
	Type          string    `json:"_type"`
	Subject       []subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     oms       `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

type oms struct {
	Serialization serialization `json:"serialization"`
	Resources     []resource    `json:"resources"`
}

type serialization struct {
	Method        string   `json:"method"`
	HashType      string   `json:"hash_type"`
	AllowSymlinks bool     `json:"allow_symlinks"`
	IgnorePaths   []string `json:"ignore_paths"`
}

type resource struct {
	Name      string `json:"name"`
	Algorithm string `json:"algorithm"`
	Digest    string `json:"digest"`
}

func statementFault(code diag.Code, format string, args ...any) *fault {
	return newFault(stageStatement, code, format, args...)
}

// parseStatement reads the envelope's payload and checks that it speaks of a
// directory in the one form that can be compared with a tree.
func parseStatement(b *bundle) (*statement, *fault) {
	if b.message != nil {
		return nil, statementFault(diag.SignatureStatementType, "the bundle signs one file, not the statement about a directory that a skill needs")
	}
	if b.payloadType != payloadType {
		return nil, statementFault(diag.SignatureStatementType, "the signed payload is `%s`, expected `%s`", quote(b.payloadType), payloadType)
	}
	if err := scanJSON(b.payload); err != nil {
		return nil, statementFault(diag.SignatureMalformed, "the statement is no strict JSON: %s", err)
	}
	var head struct {
		Type          string `json:"_type"`
		PredicateType string `json:"predicateType"`
	}
	if err := json.Unmarshal(b.payload, &head); err != nil {
		return nil, statementFault(diag.SignatureMalformed, "the statement: %s", err)
	}
	if head.Type != statementType || head.PredicateType != predicateType {
		return nil, statementFault(diag.SignatureStatementType, "the statement is `%s` with predicate `%s`, expected `%s` with `%s`",
			quote(head.Type), quote(head.PredicateType), statementType, predicateType)
	}
	s := &statement{}
	if err := json.Unmarshal(b.payload, s); err != nil {
		return nil, statementFault(diag.SignatureMalformed, "the statement: %s", err)
	}
	return s, s.check()
}

func (s *statement) check() *fault {
	if len(s.Subject) != 1 {
		return statementFault(diag.SignatureStatementType, "the statement has %d subjects; a signed directory has one", len(s.Subject))
	}
	how := s.Predicate.Serialization
	if how.Method != "files" || how.HashType != "sha256" {
		return statementFault(diag.SignatureUnsupported, "the directory was hashed as `%s` with `%s`; only whole files with sha256 can be compared",
			quote(how.Method), quote(how.HashType))
	}
	if len(s.Predicate.Resources) == 0 {
		return statementFault(diag.SignatureMalformed, "the statement lists no file: it signs nothing")
	}
	all := sha256.New()
	names := make(map[string]bool, len(s.Predicate.Resources))
	for _, r := range s.Predicate.Resources {
		sum, err := hex.DecodeString(r.Digest)
		switch {
		case r.Algorithm != "sha256":
			return statementFault(diag.SignatureUnsupported, "`%s` is hashed with `%s`; only sha256 can be compared", quote(r.Name), quote(r.Algorithm))
		case err != nil || len(sum) != sha256.Size:
			return statementFault(diag.SignatureMalformed, "the digest of `%s` is not 64 hex digits", quote(r.Name))
		case names[r.Name]:
			return statementFault(diag.SignatureMalformed, "the statement lists `%s` twice", quote(r.Name))
		case skill.CheckPath(r.Name) != nil:
			return statementFault(diag.SignatureMalformed, "the statement lists `%s`, which no skill may hold", quote(r.Name))
		}
		names[r.Name] = true
		all.Write(sum)
	}
	if got, want := s.Subject[0].Digest["sha256"], hex.EncodeToString(all.Sum(nil)); !strings.EqualFold(got, want) {
		return statementFault(diag.SignatureDigestMismatch, "the statement contradicts itself: its subject is sha256 `%s`, the files it lists make `%s`", quote(got), want)
	}
	return nil
}

// newStatement is the statement we sign about tree.
func newStatement(name string, tree *skill.Tree) *statement {
	s := &statement{Type: statementType, PredicateType: predicateType, Predicate: oms{
		Serialization: serialization{Method: "files", HashType: "sha256", IgnorePaths: []string{}},
	}}
	all := sha256.New()
	for _, f := range tree.Files() {
		s.Predicate.Resources = append(s.Predicate.Resources, resource{f.Path, "sha256", hex.EncodeToString(f.SHA256[:])})
		all.Write(f.SHA256[:])
	}
	s.Subject = []subject{{Name: name, Digest: map[string]string{
		"sha256": hex.EncodeToString(all.Sum(nil)), treeDigestName: tree.Digest().Hex(),
	}}}
	return s
}

// checkName compares our binding of the skill's name; other signers put the name
// of whatever directory they signed there.
func (s *statement) checkName(name string) *fault {
	_, ours := s.Subject[0].Digest[treeDigestName]
	if signed := s.Subject[0].Name; ours && name != "" && signed != name {
		return statementFault(diag.SignatureNameMismatch, "the signature is for the skill `%s`, this one is `%s`", quote(signed), quote(name)).
			hint("the signature was copied from another skill, or the skill was renamed after it was signed")
	}
	return nil
}

// gitFiles are the only root entries that a signer may leave out of a statement:
// what git and its hosts keep there is not read by an agent.
var gitFiles = []string{".git", ".github", ".gitignore", ".gitattributes"}

// tolerated reports whether an unlisted file may stand in the tree: a root git
// file that the statement names, or one that the rule tolerates.
func (s *statement) tolerated(path string, rule []glob) bool {
	top, _, _ := strings.Cut(path, "/")
	if slices.Contains(gitFiles, top) && slices.Contains(s.Predicate.Serialization.IgnorePaths, top) {
		return true
	}
	return slices.ContainsFunc(rule, func(g glob) bool { return g.match(path) })
}

// maxNamed bounds how many files of one kind a message names.
const maxNamed = 5

// compare checks the tree against the statement: every listed file is there and
// equal, and nothing else is there but what may be.
func (s *statement) compare(tree *skill.Tree, rule []glob) *fault {
	listed := make(map[string]bool, len(s.Predicate.Resources))
	var missing, changed, unsigned []string
	for _, r := range s.Predicate.Resources {
		listed[r.Name] = true
		f, ok := tree.File(r.Name)
		switch {
		case !ok:
			missing = append(missing, r.Name)
		case !strings.EqualFold(hex.EncodeToString(f.SHA256[:]), r.Digest):
			changed = append(changed, r.Name)
		}
	}
	var signed []skill.File
	for _, f := range tree.Files() {
		if listed[f.Path] {
			signed = append(signed, f)
		} else if !s.tolerated(f.Path, rule) {
			unsigned = append(unsigned, f.Path)
		}
	}
	if f := contentFault(missing, changed, unsigned); f != nil {
		return f
	}
	return s.compareTree(signed)
}

// contentFault takes the code of the gravest difference and names all of them.
func contentFault(missing, changed, unsigned []string) *fault {
	var f *fault
	for _, kind := range []struct {
		paths []string
		code  diag.Code
		what  string
	}{
		{changed, diag.SignatureContentChanged, "was changed after it was signed"},
		{missing, diag.SignatureContentMissing, "is signed, but not there"},
		{unsigned, diag.SignatureContentUnsigned, "is there, but not signed"},
	} {
		if len(kind.paths) == 0 {
			continue
		}
		if f == nil {
			f = newFault(stageContent, kind.code, "`%s` %s", quote(kind.paths[0]), kind.what)
			if n := len(missing) + len(changed) + len(unsigned); n > 1 {
				f.message += fmt.Sprintf("; %d files differ in all", n)
			}
			f.advice = "the publisher must sign this content anew; `--allow-untrusted SKILL` installs it as it is"
		}
		slices.Sort(kind.paths)
		for i, p := range kind.paths {
			if i == maxNamed {
				f.details = append(f.details, fmt.Sprintf("and %d more", len(kind.paths)-i))
				break
			}
			f.details = append(f.details, fmt.Sprintf("%s %s", quote(p), kind.what))
		}
	}
	if f != nil && len(f.details) == 1 { // the message says it
		f.details = nil
	}
	return f
}

// compareTree checks our own digest over the signed files, whose bytes and names
// are right by now: what is left is a mode.
func (s *statement) compareTree(signed []skill.File) *fault {
	want, ours := s.Subject[0].Digest[treeDigestName]
	if !ours {
		return nil
	}
	tree, err := skill.NewTree(signed, unlimited)
	if err != nil {
		return statementFault(diag.SignatureMalformed, "the signed files make no tree: %s", err)
	}
	if tree.Digest().Hex() == want {
		return nil
	}
	f := newFault(stageContent, diag.SignatureDigestMismatch, "the signed tree is %s `%s`, this one is `%s`: the mode of a file differs", treeDigestName, quote(want), tree.Digest().Hex())
	if name := flippedMode(signed, want); name != "" {
		f.message = fmt.Sprintf("the executable bit of `%s` is not as it was signed", quote(name))
	}
	return f
}

var unlimited = skill.Limits{Files: 1 << 30, Bytes: 1 << 62, FileBytes: 1 << 62}

// flippedMode finds the one file whose other mode would give the signed digest,
// so that the message can name it. Each try hashes the manifest, hence the bound.
func flippedMode(signed []skill.File, want string) string {
	const tries = 200
	for i := range signed[:min(len(signed), tries)] {
		other := slices.Clone(signed)
		other[i].Exec = !other[i].Exec
		if t, err := skill.NewTree(other, unlimited); err == nil && t.Digest().Hex() == want {
			return signed[i].Path
		}
	}
	return ""
}
