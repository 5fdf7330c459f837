package project

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/install"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/signing"
	"github.com/skillpm/skillpm/skill"
)

// VerifyOptions tunes Verify.
type VerifyOptions struct {
	// Strict makes a skill that no lock names a finding.
	Strict bool
	// NoManifest takes the lock alone.
	NoManifest bool
}

// Verified is the judgement of one skill by Verify.
type Verified struct {
	Key       string       `json:"key"`
	Version   string       `json:"version,omitempty"`
	Digest    skill.Digest `json:"digest,omitempty"`
	Place     string       `json:"place"`
	OK        bool         `json:"ok"`
	Signature string       `json:"signature,omitempty"`
	State     string       `json:"state,omitempty"`
}

// VerifyResult is what Verify found.
type VerifyResult struct {
	Skills   []Verified        `json:"skills"`
	Findings []install.Finding `json:"findings"`
	Files    int               `json:"files"`
	Bytes    int64             `json:"bytes"`
}

// Verify proves that what is installed is what the lock says, file by file, and
// that the signatures hold under today's rules. It hashes everything, uses no
// network and writes nothing. Findings come back as the error.
func (p *Project) Verify(ctx context.Context, opt VerifyOptions) (*VerifyResult, error) {
	if p.lock == nil {
		return nil, p.noLock()
	}
	report, err := install.Verify(ctx, p.layout(), p.installOptions(), p.desired(nil, p.lock, false))
	if err != nil {
		return nil, err
	}
	result := &VerifyResult{Findings: report.Findings, Files: report.Files, Bytes: report.Bytes}
	if result.Findings == nil {
		result.Findings = []install.Finding{}
	}
	var list diag.List
	bad := map[string]bool{}
	for _, f := range report.Findings {
		e := f.Diag(opt.Strict)
		if e.Severity != diag.SeverityError {
			p.opt.Report(e)
			continue
		}
		list = append(list, e)
		bad[string(f.Key)] = true
	}
	if opt.Strict {
		strangers, err := p.strangers(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, strangers...)
	}
	for _, e := range p.lock.Skills {
		v, err := p.verifyEntry(ctx, e, report, bad[e.Key])
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			list = append(list, diag.All(err)...)
			v.OK = false
		}
		result.Skills = append(result.Skills, v)
	}
	p.reportRetractions(p.lock)
	list = append(list, result.markLies(append(p.selfCheck(diag.VerifyChanged), p.strangeSources()...))...)
	list = append(list, p.staleChains()...)
	return result, list.Err()
}

// strangers are the skills in directories of this project, or of the user's own
// with -g, that some agent reads beside the targets: no lock names them, and an
// agent obeys them all the same. Links to locked skills are none.
func (p *Project) strangers(ctx context.Context) (diag.List, error) {
	layers, err := p.Layers(ctx, LayersOptions{})
	if err != nil {
		return nil, err
	}
	var list diag.List
	for _, dir := range layers.Layers {
		if dir.Target || dir.scope != p.ownScope() {
			continue
		}
		for _, s := range dir.Skills {
			if s.State == StateSame || s.Locked {
				continue
			}
			list = append(list, diag.New(diag.SkillUnlocked, "`%s` is a skill that no lock names, in a directory that agents read", s.Path).
				At(s.Path, 0, 0).WithHint("remove it, or add it to skills.toml as { path = … }"))
		}
	}
	return list, nil
}

func (p *Project) noLock() *diag.Error {
	return diag.New(diag.LockOutdated, "there is no %s", lockfile.FileName).At(p.display(p.lockPath()), 0, 0).
		WithHint("`skillpm lock%s` writes one", p.scopeFlag())
}

// scopeFlag is what a command in a hint needs to work where this run does.
func (p *Project) scopeFlag() string {
	if p.opt.Global {
		return " -g"
	}
	return ""
}

func (p *Project) verifyEntry(ctx context.Context, e *lockfile.Entry, report *install.Report, bad bool) (Verified, error) {
	v := Verified{Key: e.Key, Version: e.Version, Digest: e.Digest, Place: p.place(p.lock, e), OK: !bad}
	if e.Source.Type == lockfile.TypePath {
		v.Signature = "local"
		return v, nil
	}
	if bad {
		return v, nil
	}
	c, bundle, err := p.hashed(ctx, v.Place, report)
	if err != nil {
		return v, err
	}
	if field, err := p.describes(c, e); err != nil || field != "" {
		if err != nil {
			return v, err
		}
		return v, diag.New(diag.VerifyChanged, "`%s`: the lock's %s is not what the locked content says", e.Key, field).
			At(p.display(p.lockPath()), 0, 0).WithHint("someone edited the lock by hand; `skillpm lock` writes it anew")
	}
	verdict, err := p.judgeWith(ctx, e, c.tree, bundle)
	if err != nil {
		return v, err
	}
	v.Signature, v.State = verdict.Summary(), string(verdict.State)
	p.reportVerdict(e.Key, verdict)
	if err := verdict.Err(); err != nil {
		v.OK = false
		return v, named(order{key: skill.Key(e.Key), src: mustSource(e)}, err)
	}
	return v, nil
}

// hashed returns what Verify has just hashed at a place, without hashing it
// again: the tree, and the signature file if the hash of its bytes is the one
// that was found.
func (p *Project) hashed(ctx context.Context, place string, report *install.Report) (content, []byte, error) {
	tree, ok := report.Trees[place]
	if !ok {
		return p.installed(ctx, place)
	}
	want := report.Bundles[place]
	if want == "" {
		return p.onDisk(tree, place), nil, nil
	}
	bundle, err := readBounded(filepath.Join(p.layout().Root, filepath.FromSlash(place), skill.SignatureFile))
	if err != nil || skill.DigestOf(bundle) != want {
		return p.installed(ctx, place)
	}
	return p.onDisk(tree, place), bundle, nil
}

func mustSource(e *lockfile.Entry) skill.Source {
	src, _ := entrySource(e)
	return src
}

// describes names the first field of a lock entry that its content contradicts.
func (p *Project) describes(c content, e *lockfile.Entry) (string, error) {
	s, _, err := c.parsed(mustSource(e))
	if err != nil {
		return "", err
	}
	copied := *e
	if err := c.describe(&copied, s); err != nil {
		return "", err
	}
	return contradicted(e, &copied, s), nil
}

// judgeWith verifies a signature over an installed tree, with the lock as it is.
func (p *Project) judgeWith(ctx context.Context, e *lockfile.Entry, tree *skill.Tree, bundle []byte) (signing.Verdict, error) {
	src := mustSource(e)
	if err := p.policies.CheckSource(src); err != nil {
		return signing.Verdict{}, err
	}
	if want := e.Signature; want != nil && bundle != nil && skill.DigestOf(bundle) != want.Bundle {
		return signing.Verdict{}, diag.New(diag.VerifyChanged, "`%s`: %s is not the locked signature", e.Key, skill.SignatureFile).
			WithDetail("locked %s, found %s", want.Bundle, skill.DigestOf(bundle))
	}
	return p.verdict(ctx, signing.Input{
		Key: skill.Key(e.Key), Name: e.Name(), Source: src, Tree: tree, Bundle: bundle, Policies: p.policies, Now: p.opt.Now(),
		Locked: &signing.Locked{Digest: e.Digest, Signature: factsOf(e.Signature)},
	}), nil
}

// Summary counts for people.
func (r *VerifyResult) Summary() string {
	return fmt.Sprintf("%d skills, %d files, %d bytes", len(r.Skills), r.Files, r.Bytes)
}
