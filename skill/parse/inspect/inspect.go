// Package inspect makes the normalized contract of a skill that training tools,
// registries and runtimes read: what its files declare, which files there are,
// with their hashes, and what validation says. The result is plain data whose
// JSON has sorted keys and no absolute path, so that it can be hashed itself.
//
// It reads the skill's directory, and through the given loader its content as an
// installer would get it. It grants nothing: what a skill declares stands under
// "declares".
package inspect

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/derive"
	"github.com/skillpm/skillpm/skill/parse"
)

// Inspection is the contract of one skill. Every field but parents is there in
// every document.
type Inspection struct {
	Chain       *Chain            `json:"chain"` // null if the skill orders no others
	Contract    *Contract         `json:"contract"`
	Diagnostics []Diagnostic      `json:"diagnostics"`
	Digest      skill.Digest      `json:"digest"` // empty if an install would refuse the content
	Files       []File            `json:"files"`
	Parents     []Parent          `json:"parents,omitempty"` // with a lock only
	Requires    map[string]string `json:"requires"`
	Resources   []Resource        `json:"resources"`
	Size        Size              `json:"size"`
	Tokens      Tokens            `json:"tokens"`
	Training    *Training         `json:"training"`

	// State says what Digest and hashes are of, in a few words: it is about this
	// copy of the skill, so the document does not hold it.
	State string `json:"-"`
}

// MarshalJSON writes every object's keys in the order of their bytes, nested
// ones too, and no HTML escapes.
func (in *Inspection) MarshalJSON() ([]byte, error) {
	type plain Inspection
	text, err := encode((*plain)(in))
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var sorted any // maps, which encoding/json sorts
	if err := decoder.Decode(&sorted); err != nil {
		return nil, err
	}
	return encode(sorted)
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// Contract is what SKILL.md says; null if it cannot be read.
type Contract struct {
	Compatibility string         `json:"compatibility"`
	Declares      Declares       `json:"declares"`
	Description   string         `json:"description"`
	License       string         `json:"license"`
	Metadata      map[string]any `json:"metadata"` // scalars as their source text
	Name          string         `json:"name"`
	Version       string         `json:"version"` // what the file says of itself; tags decide
}

// Declares is what the skill asks for. None of it is granted by being there.
type Declares struct {
	AllowedTools string   `json:"allowed_tools"`
	Other        []string `json:"other"` // top-level fields outside the specification
}

// File is one file of the directory. A link has its target instead of a hash.
type File struct {
	Link   string `json:"link,omitempty"`
	Mode   string `json:"mode"` // 0644 or 0755
	Path   string `json:"path"`
	SHA256 string `json:"sha256,omitempty"`
	Size   int64  `json:"size"`
}

// Resource is a file beside SKILL.md as an install makes it.
type Resource struct {
	Kind   derive.Kind `json:"kind"`
	Media  string      `json:"media"`
	Path   string      `json:"path"`
	SHA256 string      `json:"sha256"`
	Size   int64       `json:"size"`
}

// Size is in bytes, as in the lock.
type Size struct {
	Body      int   `json:"body"`
	Files     int   `json:"files"`
	Resources int64 `json:"resources"`
}

// Tokens are estimates of what a prompt costs.
type Tokens struct {
	Body    int `json:"body"`
	Catalog int `json:"catalog"` // name and description
}

// Chain is an ordered list of skills with its options, defaults filled in.
type Chain struct {
	Mode           string       `json:"mode"`
	Policy         parse.Policy `json:"policy"`
	Steps          []string     `json:"steps"`
	ValidateOnLoad bool         `json:"validate_on_load"`
}

// Parent is a resolved dependency.
type Parent struct {
	Digest skill.Digest `json:"digest"`
	Name   string       `json:"name"`
}

// Training is a valid training.zon.
type Training struct {
	Adapter string           `json:"adapter"`
	Mode    string           `json:"mode"`
	Schema  string           `json:"schema"`
	SHA256  string           `json:"sha256"`
	Skill   string           `json:"skill"`
	Suites  map[string]Suite `json:"suites"`
	Version int              `json:"version"`
}

// Suite is one file of examples.
type Suite struct {
	HeldOut bool   `json:"held_out"`
	Path    string `json:"path"`
	SHA256  string `json:"sha256"`
}

// Diagnostic is one finding of validation. Path is relative to the skill.
type Diagnostic struct {
	Code    diag.Code     `json:"code"`
	Line    int           `json:"line,omitempty"`
	Message string        `json:"message"`
	Path    string        `json:"path"`
	Verdict parse.Verdict `json:"verdict"`
}

// Skill inspects the skill that target names, as parse.Examine does; opt.Load is
// needed for all that depends on content. The report
// is the validation's, its findings naming files relative to the skill; the
// inspection is nil if target names no single skill.
func Skill(ctx context.Context, target string, opt parse.ValidateOptions) (*Inspection, *parse.Report, error) {
	if opt.Tokens == nil {
		opt.Tokens = derive.Tokens
	}
	x, err := parse.Examine(ctx, target, opt)
	if err != nil {
		return nil, nil, err
	}
	if x.Dir == "" {
		return nil, x.Report, nil
	}
	in := &Inspection{
		Diagnostics: diagnostics(x), Files: []File{}, Requires: map[string]string{}, Resources: []Resource{},
	}
	sums, err := hashFiles(ctx, x)
	if err != nil {
		return nil, nil, err
	}
	in.State = x.Loaded.State
	in.files(x, sums)
	in.declared(x)
	in.training(x)
	return in, x.Report, nil
}

// hashFiles returns the SHA-256 of every regular file by its path.
func hashFiles(ctx context.Context, x *parse.Examination) (map[string][sha256.Size]byte, error) {
	root, err := os.OpenRoot(x.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	sums := make([][sha256.Size]byte, len(x.Files))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, f := range x.Files {
		if f.Link != "" || f.Size > skill.DefaultLimits.FileBytes {
			continue
		}
		group.Go(func() (err error) {
			if err := ctx.Err(); err != nil {
				return err
			}
			sums[i], err = hashFile(root, f.Path)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	byPath := make(map[string][sha256.Size]byte, len(sums))
	for i, f := range x.Files {
		byPath[f.Path] = sums[i]
	}
	return byPath, nil
}

func hashFile(root *os.Root, path string) (sum [sha256.Size]byte, err error) {
	info, err := root.Lstat(filepath.FromSlash(path))
	if err != nil || !info.Mode().IsRegular() { // opening a pipe would hang
		return sum, err
	}
	f, err := root.Open(filepath.FromSlash(path))
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return sum, err
	}
	h.Sum(sum[:0])
	return sum, nil
}

// files fills in the files, the digest, the resources and the size. What the
// loaded tree has counts: the directory may hold more, or other line ends.
func (in *Inspection) files(x *parse.Examination, sums map[string][sha256.Size]byte) {
	loaded := treeFiles(x.Loaded.Tree)
	for _, f := range x.Files {
		if f.Path == skill.SignatureFile {
			continue // no part of the tree
		}
		file := File{Path: f.Path, Mode: modeText(f.Exec), Size: f.Size, Link: f.Link}
		if f.Link == "" {
			file.SHA256 = hexSum(sums[f.Path])
		}
		if is, ok := loaded[f.Path]; ok && f.Link == "" {
			file.Mode, file.Size, file.SHA256 = modeText(is.Exec), is.Size, hexSum(is.SHA256)
		} else if f.Link == "" && x.Loaded.Tree != nil {
			continue // git ignores it
		}
		in.Files = append(in.Files, file)
	}
	if x.Loaded.Tree == nil {
		return
	}
	in.Digest, in.Size.Files = x.Loaded.Tree.Digest(), len(loaded)
	for _, f := range x.Loaded.Tree.Files() {
		if f.Path == parse.FileName {
			continue
		}
		in.Size.Resources += f.Size
		if f.Path != parse.TrainingFile {
			in.Resources = append(in.Resources, Resource{
				Kind: derive.KindOf(f.Path), Media: derive.MediaType(f.Path), Path: f.Path, SHA256: hexSum(f.SHA256), Size: f.Size,
			})
		}
	}
}

func treeFiles(t *skill.Tree) map[string]skill.File {
	files := map[string]skill.File{}
	if t != nil {
		for _, f := range t.Files() {
			files[f.Path] = f
		}
	}
	return files
}

func modeText(exec bool) string {
	if exec {
		return "0755"
	}
	return "0644"
}

func hexSum(sum [sha256.Size]byte) string { return hex.EncodeToString(sum[:]) }

// declared fills in what SKILL.md says.
func (in *Inspection) declared(x *parse.Examination) {
	s := x.Skill
	if s == nil {
		return
	}
	c := &Contract{
		Name: s.Name, Description: s.Description, License: s.License, Compatibility: s.Compatibility,
		Metadata: map[string]any{}, Version: s.DeclaredVersion,
		Declares: Declares{AllowedTools: s.AllowedTools, Other: []string{}},
	}
	for _, p := range s.Metadata {
		c.Metadata[p.Key] = p.Data
	}
	for _, p := range s.Unknown {
		c.Declares.Other = append(c.Declares.Other, p.Key)
	}
	in.Contract = c
	for _, d := range s.Requires {
		in.Requires[string(d.Name)] = d.Requirement.String()
	}
	if s.Chain != nil {
		in.Chain = &Chain{Mode: s.Chain.Mode(), Policy: s.Chain.Policy, Steps: []string{}, ValidateOnLoad: s.Chain.ValidateOnLoad}
		for _, step := range s.Chain.Steps {
			in.Chain.Steps = append(in.Chain.Steps, step.Path)
		}
	}
	in.Size.Body = s.BodySize
	in.Tokens = Tokens{Body: derive.Tokens(x.Data[s.BodyOffset:]), Catalog: derive.Tokens([]byte(s.Name + ": " + s.Description))}
}

func (in *Inspection) training(x *parse.Examination) {
	t := x.Training
	if t == nil {
		return
	}
	loaded := treeFiles(x.Loaded.Tree)
	in.Training = &Training{
		Adapter: t.Adapter, Mode: t.Mode, Schema: t.Schema, SHA256: t.SHA256.Hex(), Skill: t.Skill, Version: t.Version,
		Suites: map[string]Suite{},
	}
	for _, s := range t.Suites {
		in.Training.Suites[s.Name] = Suite{HeldOut: s.HeldOut, Path: s.Path, SHA256: hexSum(loaded[s.Path].SHA256)}
	}
}

// diagnostics are the report's findings. In both their files become paths inside
// the skill, wherever that lies.
func diagnostics(x *parse.Examination) []Diagnostic {
	list := []Diagnostic{}
	for _, l := range x.Report.Lines {
		if l.Finding == nil {
			list = append(list, Diagnostic{Verdict: l.Verdict, Code: l.Code(), Path: "."})
			continue
		}
		if rel, err := filepath.Rel(filepath.FromSlash(x.Label), filepath.FromSlash(l.Finding.File)); err == nil {
			l.Finding.File = filepath.ToSlash(rel)
		}
		list = append(list, Diagnostic{
			Verdict: l.Verdict, Code: l.Code(), Path: l.Finding.File, Line: l.Finding.Line, Message: l.Finding.Error(),
		})
	}
	return list
}
