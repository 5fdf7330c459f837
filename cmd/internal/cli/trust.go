package cli

import (
	"github.com/skillpm/skillpm/internal/world"

	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/author"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/regular"
	"github.com/skillpm/skillpm/signing"
	"github.com/skillpm/skillpm/skill"
)

func newTrustCmd(app *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "Say whose signatures count, and ask what the rules decide",
		Long: `Say whose signatures count. Rules stand in /etc/skillpm/trust.toml, in your own
trust.toml and in [trust] of skills.toml. Each file's first rule that matches a
source decides for that file, and all files must pass.`,
	}
	cmd.AddCommand(newTrustListCmd(app), newTrustAddCmd(app), newTrustRemoveCmd(app), newTrustTestCmd(app),
		newTrustStatusCmd(app), newTrustInspectCmd(app), newTrustRevokeCmd(app))
	return cmd
}

// policies opens the rules that hold here, with or without a project.
func (app *App) policies(f func(*signing.Set) (Result, error)) (Result, error) {
	return app.with(world.OpenDir, scope{}, nil, func(p *world.World) (Result, error) { return f(p.Policies) })
}

type trustRule struct {
	File    string   `json:"file"`
	Line    int      `json:"line"`
	Match   string   `json:"match"`
	Mode    string   `json:"mode"`
	Signers []string `json:"signers,omitempty"`
}

type trustList struct {
	Rules   []trustRule `json:"rules"`
	Denied  []string    `json:"denied,omitempty"`
	Sources []string    `json:"sources,omitempty"`
}

// Text prints a line a rule.
func (r trustList) Text(s *ui.Streams) {
	var rows [][]string
	for _, x := range r.Rules {
		rows = append(rows, []string{ui.Place(&diag.Error{File: x.File, Line: x.Line}), x.Mode, diag.Escape(x.Match), orDash(diag.Escape(strings.Join(x.Signers, " or ")))})
	}
	s.Printf("%s", ui.Table(nil, rows, s.Width))
	for _, d := range r.Denied {
		s.Printf("denied: %s\n", diag.Escape(d))
	}
	if len(rows) == 0 {
		s.Infof("no rules: signatures are shown, nobody's counts; `skillpm trust add` makes the first\n")
	}
}

func newTrustListCmd(app *App) *cobra.Command {
	return app.command(&cobra.Command{Use: "list", Short: "List the rules, file by file", Args: cobra.NoArgs}, "trust-list",
		func(context.Context, []string) (Result, error) {
			return app.policies(func(set *signing.Set) (Result, error) {
				r := trustList{Rules: []trustRule{}}
				for _, p := range set.Policies() {
					for _, rule := range p.Rules {
						r.Rules = append(r.Rules, trustRule{app.display(p.File), rule.Line, rule.Match, string(rule.Mode), signerTexts(rule)})
					}
					r.Sources = append(r.Sources, p.Sources...)
					r.Denied = append(append(r.Denied, p.Deny.Identities...), p.Deny.Keys...)
					for _, d := range p.Deny.Digests {
						r.Denied = append(r.Denied, string(d))
					}
				}
				return r, nil
			})
		})
}

func signerTexts(rule signing.Rule) []string {
	texts := make([]string, len(rule.AnyOf))
	for i, s := range rule.AnyOf {
		texts[i] = s.String()
	}
	return texts
}

// display returns a path as the user would write it.
func (app *App) display(path string) string {
	if rel, err := filepath.Rel(app.dir(), path); err == nil && filepath.IsAbs(path) && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}

type trustTest struct {
	Source  string           `json:"source"`
	Rules   []trustRule      `json:"rules"`
	Verdict *signing.Verdict `json:"verdict,omitempty"`
}

// Text says which rule of each file decides, and what it asks for.
func (r trustTest) Text(s *ui.Streams) {
	for _, x := range r.Rules {
		s.Printf("%s: `%s` matches first, mode %s\n", ui.Place(&diag.Error{File: x.File, Line: x.Line}), diag.Escape(x.Match), x.Mode)
		for _, signer := range x.Signers {
			s.Printf("  accepts %s\n", diag.Escape(signer))
		}
	}
	if r.Verdict != nil {
		s.Printf("%s (%s)\n", r.Verdict.Summary(), r.Verdict.State)
	}
}

func newTrustTestCmd(app *App) *cobra.Command {
	return app.command(&cobra.Command{
		Use: "test SOURCE [DIR]", Short: "Say which rules decide about a source, and judge a skill in DIR by them",
		Args: cobra.RangeArgs(1, 2),
	}, "trust-test", func(ctx context.Context, args []string) (Result, error) {
		src, err := skill.ParseSource(args[0])
		if err != nil {
			return nil, err
		}
		return app.policies(func(set *signing.Set) (Result, error) {
			r := trustTest{Source: src.Identity(), Rules: app.matching(set, src)}
			err := set.CheckSource(src)
			if len(r.Rules) == 0 && err == nil {
				err = diag.New(diag.PolicyNoMatch, "no rule matches `%s`: signed or not, it is accepted, and no signer counts", src.Identity()).
					WithHint("`skillpm trust add %s …` writes one", src.Repository())
			}
			if len(args) == 2 && (err == nil || diag.CodeOf(err) == diag.PolicyNoMatch) {
				s, readErr := author.Read(ctx, app.dir(), args[1])
				if readErr != nil {
					return r, readErr
				}
				v := signing.Verify(ctx, signing.Input{Key: skill.Key(s.Name), Name: s.Name, Source: src, Tree: s.Tree, Bundle: s.Bundle, Policies: set, Now: time.Now()})
				r.Verdict = &v
				err = append(diag.All(err), diag.All(v.Err())...).Err()
			}
			return r, err
		})
	})
}

// matching returns each file's deciding rule with its signers.
func (app *App) matching(set *signing.Set, src skill.Source) []trustRule {
	rules := []trustRule{}
	for _, m := range set.Match(src) {
		for _, p := range set.Policies() {
			for _, rule := range p.Rules {
				if p.File == m.File && rule.Line == m.Line {
					rules = append(rules, trustRule{app.display(m.File), m.Line, m.Match, string(m.Mode), signerTexts(rule)})
				}
			}
		}
	}
	return rules
}

type trustStatus struct {
	Files []trustFile  `json:"files"`
	Roots []trustRoots `json:"roots"`
}

type trustFile struct {
	File  string `json:"file"`
	Scope string `json:"scope"`
	Rules int    `json:"rules"`
}

type trustRoots struct {
	signing.RootInfo
	Age string `json:"age"`
}

// Text prints the files and the trusted roots with their age.
func (r trustStatus) Text(s *ui.Streams) {
	for _, f := range r.Files {
		s.Printf("%s (%s): %s\n", diag.Escape(f.File), f.Scope, plural(f.Rules, "rule"))
	}
	if len(r.Files) == 0 {
		s.Printf("no trust files\n")
	}
	for _, x := range r.Roots {
		s.Printf("trusted root %s: %s, %s, %s; %s\n", diag.Escape(x.Origin), plural(x.Logs, "log"), plural(x.CAs, "CA"), plural(x.Stamps, "timestamp authority"), x.Age)
	}
}

func newTrustStatusCmd(app *App) *cobra.Command {
	return app.command(&cobra.Command{Use: "status", Short: "Say which trust files and Sigstore roots hold here, and their age", Args: cobra.NoArgs}, "trust-status",
		func(context.Context, []string) (Result, error) {
			return app.policies(func(set *signing.Set) (Result, error) {
				r := trustStatus{Files: []trustFile{}}
				files := []string{""}
				for _, p := range set.Policies() {
					if p.Scope == signing.ScopeProject && len(p.Rules)+len(p.Sources) == 0 && p.TrustedRoot == "" {
						continue
					}
					r.Files = append(r.Files, trustFile{app.display(p.File), p.Scope.String(), len(p.Rules)})
					if p.TrustedRoot != "" {
						files = append(files, p.File)
					}
				}
				now := time.Now()
				for _, file := range files {
					info, err := set.Root(file)
					if err != nil {
						return r, err
					}
					if info.Stale(now) {
						app.report(diag.Note(diag.TrustRootStale, "the trusted root (%s) is %s; a signature by a newer log or authority would not verify", info.Origin, info.Age(now)).
							WithHint("the public-good Sigstore changes rarely: this is harmless until such a signature turns up"))
					}
					r.Roots = append(r.Roots, trustRoots{info, info.Age(now)})
				}
				return r, nil
			})
		})
}

type trustInspect struct{ *signing.Inspection }

// Text prints what the bundle claims, then the rule that it would take.
func (r trustInspect) Text(s *ui.Streams) {
	row := func(name, value string) {
		if value != "" {
			s.Printf("%-12s %s\n", name, diag.Escape(value))
		}
	}
	day := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	row("kind", string(r.Facts.Kind))
	row("issuer", r.Facts.Issuer)
	row("identity", r.Facts.Identity)
	row("subject", r.Facts.Subject)
	row("hint", r.Facts.Hint)
	row("algorithm", r.Algorithm)
	row("key", r.KeyFingerprint)
	row("bundle", string(r.Facts.Bundle))
	if !r.NotAfter.IsZero() {
		row("certificate", day(r.NotBefore)+" to "+day(r.NotAfter))
	}
	for i, c := range r.Chain {
		row([]string{"chain", ""}[min(i, 1)], c)
	}
	for _, x := range r.Extensions {
		row(x.Name, x.Value)
	}
	for _, l := range r.Log {
		text := l.Kind + " in log " + l.LogID
		if !l.Time.IsZero() {
			text += " at " + day(l.Time)
		}
		row("log", text)
	}
	for _, at := range r.Times {
		row("timestamp", day(at))
	}
	row("signs", r.Name)
	row("files", plural(r.Files, "file"))
	row("note", r.Statement)
	s.Printf("\nThese are claims, nothing was verified. A rule that would accept this signer:\n\n%s", escapeLines(r.Rule))
}

func newTrustInspectCmd(app *App) *cobra.Command {
	var source string
	cmd := &cobra.Command{
		Use: "inspect BUNDLE", Short: "Print what a signature claims, and the rule that would accept it",
		Long: `Print what a signature claims: signer, certificate, extensions, log and times, and
a rule that would accept its signer. BUNDLE is a signature file or a skill's
directory. Nothing is verified and nothing is added.`,
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&source, "source", "", "write the rule for `SOURCE`")
	return app.command(cmd, "trust-inspect", func(_ context.Context, args []string) (Result, error) {
		in, err := app.inspectBundle(args[0], source)
		if err != nil {
			return nil, err
		}
		return trustInspect{in}, nil
	})
}

func (app *App) inspectBundle(name, source string) (*signing.Inspection, error) {
	var src skill.Source
	if source != "" {
		var err error
		if src, err = skill.ParseSource(source); err != nil {
			return nil, err
		}
	}
	file := app.path(name)
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		file = filepath.Join(file, skill.SignatureFile)
	}
	data, err := regular.Read(file, signing.MaxBundleBytes+1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, diag.New(diag.SignatureMissing, "no signature here").At(app.display(file), 0, 0)
	}
	if err != nil {
		return nil, diag.New(diag.PermissionDenied, "the signature cannot be read").At(app.display(file), 0, 0).WithCause(err)
	}
	in, err := signing.Inspect(data, src)
	for _, e := range diag.All(err) {
		e.File = app.display(file)
	}
	return in, err
}
