package views

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/skillpm/skillpm/internal/accept"
	"github.com/skillpm/skillpm/internal/apply"
	"github.com/skillpm/skillpm/internal/decide"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/gitrules"
	"github.com/skillpm/skillpm/internal/install"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
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
func Verify(ctx context.Context, p *world.Local, opt VerifyOptions) (*VerifyResult, error) {
	if p.Lock == nil {
		return nil, p.NoLock()
	}
	report, err := install.Verify(ctx, p.Layout(), p.InstallOptions(), apply.Desired(p.Project, nil, p.Lock, false))
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
			p.Opt.Report(e)
			continue
		}
		if attributes := filepath.Join(p.Layout().Root, filepath.FromSlash(f.Place), gitrules.AttributesFile); f.Code == diag.VerifyChanged && workspace.IsFile(attributes) {
			e.WithDetail("a checkout may have done it: git obeys the %s that is part of the skill", gitrules.AttributesFile)
		}
		list = append(list, e)
		bad[string(f.Key)] = true
	}
	if opt.Strict {
		strangers, err := strangers(ctx, p.Project)
		if err != nil {
			return nil, err
		}
		list = append(list, strangers...)
	}
	for _, e := range p.Lock.Skills {
		v, err := verifyEntry(ctx, p, e, report, bad[e.Key])
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			list = append(list, diag.All(err)...)
			v.OK = false
		}
		result.Skills = append(result.Skills, v)
	}
	p.ReportRetractions(p.Lock)
	list = append(list, result.markContradictions(append(decide.SelfCheck(p.Project, diag.VerifyChanged), decide.StrangeSources(p.Project)...))...)
	list = append(list, decide.StaleChains(p.Project)...)
	return result, list.Err()
}

// strangers are the skills in directories of this project, or of the user's own
// with -g, that some agent reads beside the targets: no lock names them, and an
// agent obeys them all the same. Links to locked skills are none.
func strangers(ctx context.Context, p *workspace.Project) (diag.List, error) {
	layers, err := Layers(ctx, p, LayersOptions{})
	if err != nil {
		return nil, err
	}
	var list diag.List
	for _, dir := range layers.Layers {
		if dir.Target || dir.scope != ownScope(p) {
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

func verifyEntry(ctx context.Context, p *world.Local, e *lockfile.Entry, report *install.Report, bad bool) (Verified, error) {
	v := Verified{Key: e.Key, Version: e.Version, Digest: e.Digest, Place: p.Place(p.Lock, e), OK: !bad}
	if e.Source.Type == lockfile.TypePath {
		v.Signature = "local"
		return v, nil
	}
	if bad {
		return v, nil
	}
	c, bundle, err := hashed(ctx, p, v.Place, report)
	if err != nil {
		return v, err
	}
	if field, err := describes(c, e); err != nil || field != "" {
		if err != nil {
			return v, err
		}
		return v, diag.New(diag.VerifyChanged, "`%s`: the lock's %s is not what the locked content says", e.Key, field).
			At(p.Display(p.LockPath()), 0, 0).WithHint("someone edited the lock by hand; `skillpm lock` writes it anew")
	}
	verdict, err := judgeWith(ctx, p, e, c.Tree, bundle)
	if err != nil {
		return v, err
	}
	v.Signature, v.State = verdict.Summary(), string(verdict.State)
	accept.ReportVerdict(p.Project, e.Key, verdict)
	if err := verdict.Err(); err != nil {
		v.OK = false
		return v, world.Named(world.Request{Key: skill.Key(e.Key), Src: workspace.MustSource(e)}, err)
	}
	return v, nil
}

// hashed returns what Verify has just hashed at a place, without hashing it
// again: the tree, and the signature file if the hash of its bytes is the one
// that was found.
func hashed(ctx context.Context, p *world.Local, place string, report *install.Report) (world.Content, []byte, error) {
	tree, ok := report.Trees[place]
	if !ok {
		return p.Installed(ctx, place)
	}
	want := report.Bundles[place]
	if want == "" {
		return world.OnDisk(p.Project, tree, place), nil, nil
	}
	bundle, err := workspace.ReadBounded(filepath.Join(p.Layout().Root, filepath.FromSlash(place), skill.SignatureFile))
	if err != nil || skill.DigestOf(bundle) != want {
		return p.Installed(ctx, place)
	}
	return world.OnDisk(p.Project, tree, place), bundle, nil
}

// describes names the first field of a lock entry that its content contradicts.
func describes(c world.Content, e *lockfile.Entry) (string, error) {
	s, _, err := c.Parsed(workspace.MustSource(e))
	if err != nil {
		return "", err
	}
	copied := *e
	if err := c.Describe(&copied, s); err != nil {
		return "", err
	}
	return decide.Contradicted(e, &copied, s), nil
}

// judgeWith verifies a signature over an installed tree, with the lock as it is.
func judgeWith(ctx context.Context, p *world.Local, e *lockfile.Entry, tree *skill.Tree, bundle []byte) (signing.Verdict, error) {
	src := workspace.MustSource(e)
	if err := p.Policies.CheckSource(src); err != nil {
		return signing.Verdict{}, err
	}
	if want := e.Signature; want != nil && bundle != nil && skill.DigestOf(bundle) != want.Bundle {
		return signing.Verdict{}, diag.New(diag.VerifyChanged, "`%s`: %s is not the locked signature", e.Key, skill.SignatureFile).
			WithDetail("locked %s, found %s", want.Bundle, skill.DigestOf(bundle))
	}
	return accept.Verdict(ctx, p, signing.Input{
		Key: skill.Key(e.Key), Name: e.Name(), Source: src, Tree: tree, Bundle: bundle, Policies: p.Policies, Now: p.Opt.Now(),
		Locked: &signing.Locked{Digest: e.Digest, Signature: workspace.FactsOf(e.Signature)},
	}), nil
}

// Summary counts for people.
func (r *VerifyResult) Summary() string {
	return fmt.Sprintf("%d skills, %d files, %d bytes", len(r.Skills), r.Files, r.Bytes)
}

// markContradictions takes the OK from skills whose entries contradict themselves.
func (r *VerifyResult) markContradictions(lies []decide.Contradiction) diag.List {
	var list diag.List
	for _, l := range lies {
		list = append(list, l.Finding)
		for i := range r.Skills {
			if r.Skills[i].Key == l.Key {
				r.Skills[i].OK = false
			}
		}
	}
	return list
}
