package cli

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/project"
	"github.com/skillpm/skillpm/internal/regular"
	"github.com/skillpm/skillpm/signing"
	"github.com/skillpm/skillpm/skill"
)

// trustTarget is the file that add, remove and revoke edit.
type trustTarget struct{ user bool }

func (t *trustTarget) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&t.user, "user", false, "edit your own trust.toml, for all projects, instead of skills.toml")
}

// editPolicy changes the policy by edit, under the lock of whoever else writes it.
func (app *App) editPolicy(ctx context.Context, t trustTarget, edit func(project.PolicyFile) ([]byte, error)) error {
	opt, err := app.options(false)
	if err != nil {
		return err
	}
	return project.EditPolicy(ctx, opt, t.user, edit)
}

type trustEdit struct {
	File string `json:"file"`
	// Rule is the rule added, Removed how many were removed, Denied what is.
	Rule    string `json:"rule,omitempty"`
	Removed int    `json:"removed,omitempty"`
	Denied  string `json:"denied,omitempty"`
}

// Text says what stands in which file now.
func (r trustEdit) Text(s *ui.Streams) {
	switch {
	case r.Rule != "":
		s.Infof("added to %s:\n\n%s", diag.Escape(r.File), escapeLines(r.Rule))
	case r.Denied != "":
		s.Infof("%s is denied by %s\n", diag.Escape(r.Denied), diag.Escape(r.File))
	default:
		s.Infof("removed %s from %s\n", plural(r.Removed, "rule"), diag.Escape(r.File))
	}
}

// trustSigner are the flags that describe a signer.
type trustSigner struct {
	from, key, ca, subject       string
	issuer, identity, repository string
	notAfter, log                string
	optional, last               bool
}

func (t *trustSigner) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&t.from, "from", "", "accept the signer of this `BUNDLE` (a signature file or a skill's directory)")
	fl.StringVar(&t.key, "key", "", "accept the public key in `FILE`")
	fl.StringVar(&t.notAfter, "not-after", "", "with --key: the key counts until this `DAY`")
	fl.StringVar(&t.ca, "ca", "", "accept certificates of the private CA in `FILE`")
	fl.StringVar(&t.subject, "subject", "", "with --ca: only this certificate `NAME`; * stands for any text")
	fl.StringVar(&t.issuer, "issuer", "", "accept keyless signatures vouched for by this OIDC issuer `URL`")
	fl.StringVar(&t.identity, "identity", "", "with --issuer: only this identity `PATTERN`")
	fl.StringVar(&t.repository, "source-repository", "", "with --issuer: only runs of this repository's `URL`")
	fl.StringVar(&t.log, "log", "", "with --key or --ca: `required` demands a transparency log entry")
	fl.BoolVar(&t.optional, "optional", false, "accept unsigned skills too, but no other signer")
	fl.BoolVar(&t.last, "last", false, "put the rule after the file's others; the first that matches decides")
}

// rule returns the rule's TOML; paths are relative to the policy's directory.
func (t *trustSigner) rule(app *App, match, dir string) (string, error) {
	rel := func(name string) string {
		if name == "" {
			return ""
		}
		path := app.path(name)
		if r, err := filepath.Rel(dir, path); err == nil && !strings.HasPrefix(r, "..") {
			return filepath.ToSlash(r)
		}
		return filepath.ToSlash(path)
	}
	mode := signing.ModeRequired
	if t.optional {
		mode = signing.ModeOptional
	}
	var signers []string
	if t.key != "" {
		signers = append(signers, signing.FormatSigner(signing.KindKey, "file", rel(t.key), "not_after", t.notAfter, "log", t.log))
	}
	if t.ca != "" {
		signers = append(signers, signing.FormatSigner(signing.KindX509, "roots", rel(t.ca), "subject", t.subject, "log", t.log))
	}
	if t.issuer != "" || t.identity != "" {
		signers = append(signers, signing.FormatSigner(signing.KindKeyless, "issuer", t.issuer, "identity", t.identity, "source_repository", t.repository))
	}
	if len(signers) == 0 && t.from != "" {
		return t.fromBundle(app, match)
	}
	if len(signers) == 0 {
		return "", usageError("whose signatures? use --from, --key, --ca or --issuer with --identity")
	}
	return signing.FormatRule(match, mode, strings.Join(signers, " }, { ")), nil
}

// fromBundle takes the rule that inspect suggests. Only a keyless signer is
// named whole in its bundle; keys and CAs have to come from their owner.
func (t *trustSigner) fromBundle(app *App, match string) (string, error) {
	in, err := app.inspectBundle(t.from, match)
	if err != nil {
		return "", err
	}
	switch in.Facts.Kind {
	case signing.KindKey:
		return "", usageError("the bundle is signed by a bare key, which it does not hold").WithHint("get the public key from its owner and use --key")
	case signing.KindX509:
		return "", usageError("the bundle is signed under CA `%s`; a CA in a bundle is its signer's own word", diag.Escape(in.Facts.Issuer)).
			WithHint("get the CA's certificate from its owner and use --ca FILE --subject '%s'", diag.Escape(in.Facts.Subject))
	}
	return in.Rule, nil
}

func newTrustAddCmd(app *App) *cobra.Command {
	var target trustTarget
	var signer trustSigner
	cmd := &cobra.Command{
		Use: "add SOURCE", Short: "Add a rule: whose signatures count for a source",
		Long: `Add a rule: whose signatures count for a source or a pattern over sources. It goes
before the file's other rules, since the first that matches decides.

  skillpm trust add github.com/acme/skills --key acme.pub
  skillpm trust add github.com/NVIDIA/skills --ca nv-root.pem --subject 'NVIDIA Agent Skills Signing *'
  skillpm trust add github.com/acme/skills --from .agents/skills/deploy`,
		Args: cobra.ExactArgs(1),
	}
	target.add(cmd)
	signer.add(cmd)
	return app.command(cmd, "trust-add", func(ctx context.Context, args []string) (Result, error) {
		var r trustEdit
		return editedPolicy(&r, app.editPolicy(ctx, target, func(f project.PolicyFile) ([]byte, error) {
			text, err := signer.rule(app, args[0], filepath.Dir(f.Path))
			if err != nil {
				return nil, err
			}
			r = trustEdit{File: app.display(f.Path), Rule: text}
			return withRule(f, text, !signer.last)
		}))
	})
}

// withRule returns the policy's text with a rule that can be used.
func withRule(f project.PolicyFile, rule string, first bool) ([]byte, error) {
	data, err := signing.AddRule(f.Path, f.Data, f.Scope, rule, first)
	if err != nil {
		return nil, err
	}
	policy, err := signing.ParsePolicy(f.Path, data, f.Scope)
	if err != nil {
		return nil, err
	}
	_, err = signing.NewSet(signing.SetOptions{}, policy) // the files it names must be there
	return data, err
}

// editedPolicy is the result of an edit, none if it failed.
func editedPolicy(r *trustEdit, err error) (Result, error) {
	if err != nil {
		return nil, err
	}
	return *r, nil
}

func newTrustRemoveCmd(app *App) *cobra.Command {
	var target trustTarget
	cmd := &cobra.Command{Use: "remove MATCH", Short: "Remove the rules with exactly this match", Args: cobra.ExactArgs(1)}
	target.add(cmd)
	return app.command(cmd, "trust-remove", func(ctx context.Context, args []string) (Result, error) {
		var r trustEdit
		return editedPolicy(&r, app.editPolicy(ctx, target, func(f project.PolicyFile) ([]byte, error) {
			data, n, err := signing.RemoveRule(f.Path, f.Data, f.Scope, args[0])
			if err == nil && n == 0 {
				err = diag.New(diag.PolicyNoMatch, "no rule here has the match `%s`", args[0]).At(app.display(f.Path), 0, 0).WithHint("`skillpm trust list` shows them")
			}
			r = trustEdit{File: app.display(f.Path), Removed: n}
			return data, err
		}))
	})
}

func newTrustRevokeCmd(app *App) *cobra.Command {
	var target trustTarget
	var as string
	cmd := &cobra.Command{
		Use: "revoke VALUE", Short: "Refuse a signer, key or content, whatever the rules say",
		Long: `Refuse a signer's identity (a pattern), a key (a public key's file, or the
sha256:HEX of its DER) or a skill's digest, whatever the rules say.
--allow-untrusted does not overrule it.`,
		Args: cobra.ExactArgs(1),
	}
	target.add(cmd)
	cmd.Flags().StringVar(&as, "as", "", "identity, key or digest; guessed if not given")
	return app.command(cmd, "trust-revoke", func(ctx context.Context, args []string) (Result, error) {
		kind, value, err := app.denied(as, args[0])
		if err != nil {
			return nil, err
		}
		var r trustEdit
		return editedPolicy(&r, app.editPolicy(ctx, target, func(f project.PolicyFile) ([]byte, error) {
			r = trustEdit{File: app.display(f.Path), Denied: value}
			return signing.AddDeny(f.Path, f.Data, f.Scope, kind, value)
		}))
	})
}

// denied returns what to deny. A digest is told by its form, and so could a key's
// hash be, which therefore must be named; a key may be given as its file.
func (app *App) denied(as, value string) (signing.DenyKind, string, error) {
	_, notDigest := skill.ParseDigest(value)
	file := strings.HasSuffix(value, ".pub") || strings.HasSuffix(value, ".pem")
	switch {
	case as == "identity", as == "" && !file && strings.ContainsAny(value, "@/ "):
		return signing.DenyIdentity, value, nil
	case as == "digest":
		return signing.DenyDigest, value, nil
	case as == "" && notDigest == nil:
		return "", "", usageError("`%s` may be a skill's digest or a key's hash", value).WithHint("say which: --as digest or --as key")
	case as == "" && !file:
		return "", "", usageError("`%s` is not an identity, a key or a digest", value).
			WithHint("`skillpm trust inspect SKILL` shows who signed a skill; --as identity denies a name without @ or /")
	case as != "key" && as != "":
		return "", "", usageError("--as is identity, key or digest, not `%s`", as)
	}
	if !file {
		return signing.DenyKey, value, nil
	}
	data, err := regular.Read(app.path(value), signing.MaxBundleBytes)
	if err != nil {
		return "", "", diag.New(diag.PolicyInvalid, "the public key cannot be read").At(value, 0, 0).WithCause(err)
	}
	hash, err := signing.KeyHash(data)
	if e, ok := errors.AsType[*diag.Error](err); ok {
		return "", "", e.At(value, 0, 0)
	}
	return signing.DenyKey, hash, nil
}
