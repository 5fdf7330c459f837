package cli

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/author"
	"github.com/skillpm/skillpm/internal/diag"
)

// signedSkill is one skill of a sign run.
type signedSkill struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	Digest string `json:"digest"`
	// Status is signed, unchanged, ok or bad.
	Status string `json:"status"`
	Signer string `json:"signer,omitempty"`
}

type signResult struct {
	Skills []signedSkill `json:"skills"`
	check  bool
}

// Text prints one line a skill.
func (r signResult) Text(s *ui.Streams) {
	rows := make([][]string, len(r.Skills))
	for i, k := range r.Skills {
		role := ui.Good
		if k.Status == "bad" {
			role = ui.Bad
		}
		rows[i] = []string{s.Paint(role, k.Status), diag.Escape(k.Path), diag.Escape(k.Name), diag.Escape(k.Signer)}
	}
	if r.check {
		s.Printf("%s", ui.Table(nil, rows, s.Width))
		return
	}
	s.Infof("%s", ui.Table(nil, rows, s.Width))
}

type keyResult struct {
	Private string `json:"private"`
	Public  string `json:"public"`
}

// Text says where the halves are and what each is for.
func (r keyResult) Text(s *ui.Streams) {
	s.Infof("wrote %s (private: keep it secret and backed up) and %s (public: what others put into their trust rules)\n", r.Private, r.Public)
}

// signerFlags are the flags that name a signing key.
type signerFlags struct{ key, cert string }

func (f *signerFlags) add(app *App, cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.key, "key", app.env("SKILLPM_SIGNING_KEY"), "sign with the private key in `FILE` (PKCS#8; ECDSA, Ed25519 or RSA)")
	cmd.Flags().StringVar(&f.cert, "cert", app.env("SKILLPM_SIGNING_CERT"), "the key's certificate in `FILE`, leaf first, of a private CA")
}

// path makes a flag's file absolute, from the directory the command works in.
func (app *App) path(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(app.dir(), name)
}

// passphrase reads the environment, else asks without echo.
func (app *App) passphrase(question string) ([]byte, error) {
	if secret := app.env("SKILLPM_KEY_PASSPHRASE"); secret != "" {
		return []byte(secret), nil
	}
	in, ok := app.UI.In.(*os.File)
	if !ok || !app.UI.CanAsk() {
		return nil, usageError("the key is encrypted and nobody is there to ask").WithHint("set SKILLPM_KEY_PASSPHRASE")
	}
	app.UI.Infof("%s: ", question)
	secret, err := term.ReadPassword(int(in.Fd()))
	app.UI.Infof("\n")
	return secret, err
}

func newSignCmd(app *App) *cobra.Command {
	var flags signerFlags
	var all, check bool
	var generate string
	cmd := &cobra.Command{
		Use:   "sign [DIR…]",
		Short: "Sign skills, or check their signatures",
		Long: `Sign each skill: write skill.oms.sig beside its SKILL.md. It binds every file's
content, name and mode and the skill's name, in the OpenSSF Model Signing format.
A signature that holds already is left as it is.

  skillpm sign --generate-key acme.key       write acme.key and acme.key.pub
  skillpm sign skills/deploy --key acme.key
  skillpm sign --all --key acme.key --cert chain.pem
  skillpm sign --all --check --key acme.key.pub      for CI: needs no secret

An encrypted key's passphrase is asked for, or taken from SKILLPM_KEY_PASSPHRASE.`,
	}
	flags.add(app, cmd)
	cmd.Flags().BoolVar(&all, "all", false, "every skill below the directory")
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; say whether each signature holds (--key: public or private key, --cert: CA certificates)")
	cmd.Flags().StringVar(&generate, "generate-key", "", "make a key: `FILE` and FILE.pub")
	return app.command(cmd, "sign", func(ctx context.Context, args []string) (Result, error) {
		flags.key, flags.cert = app.path(flags.key), app.path(flags.cert)
		if generate != "" {
			return app.generateKey(ctx, app.path(generate))
		}
		if len(args) == 0 {
			args = []string{"."}
		}
		skills, err := app.skillsToSign(ctx, args, all)
		if err != nil {
			return nil, err
		}
		if check {
			return app.checkAll(ctx, skills, flags)
		}
		return app.signAll(ctx, skills, flags)
	})
}

func (app *App) generateKey(ctx context.Context, file string) (Result, error) {
	var secret []byte
	if app.env("SKILLPM_KEY_PASSPHRASE") != "" || app.UI.CanAsk() {
		var err error
		if secret, err = app.passphrase("passphrase for the new key (empty for none)"); err != nil {
			return nil, err
		}
	}
	if err := author.GenerateKey(ctx, rand.Reader, file, secret); err != nil {
		return nil, err
	}
	return keyResult{file, file + ".pub"}, nil
}

func (app *App) skillsToSign(ctx context.Context, targets []string, all bool) ([]*author.Skill, error) {
	labels := targets
	if all {
		labels = nil
		for _, target := range targets {
			found, err := author.Find(ctx, app.dir(), target)
			if err != nil {
				return nil, err
			}
			labels = append(labels, found...)
		}
	}
	read, err := author.ReadAll(ctx, app.dir(), labels)
	faults := diag.All(err)
	var skills []*author.Skill
	for _, s := range read {
		if err := s.CheckIgnored(ctx); err != nil {
			faults = append(faults, diag.All(err)...)
			continue
		}
		skills = append(skills, s)
	}
	return skills, faults.Err()
}

func (app *App) signAll(_ context.Context, skills []*author.Skill, flags signerFlags) (Result, error) {
	if flags.key == "" {
		return nil, usageError("which key? name it with --key").WithHint("`skillpm sign --generate-key FILE` makes one")
	}
	signer, err := author.LoadSigner(flags.key, flags.cert, func() ([]byte, error) { return app.passphrase("passphrase of " + flags.key) })
	if err != nil {
		return nil, err
	}
	r := signResult{Skills: []signedSkill{}}
	var faults diag.List
	for _, s := range skills {
		status, err := s.Sign(signer, time.Now())
		if err != nil {
			faults, status = append(faults, diag.All(err)...), "bad"
		}
		r.Skills = append(r.Skills, signedSkill{Name: s.Name, Path: s.Label, Digest: string(s.Tree.Digest()), Status: string(status)})
	}
	return r, faults.Err()
}

func (app *App) checkAll(ctx context.Context, skills []*author.Skill, flags signerFlags) (Result, error) {
	judge, err := app.checker(ctx, flags)
	if err != nil {
		return nil, err
	}
	r := signResult{Skills: []signedSkill{}, check: true}
	var faults diag.List
	for _, s := range skills {
		k := signedSkill{Name: s.Name, Path: s.Label, Digest: string(s.Tree.Digest()), Status: "ok"}
		who, err := judge(s)
		if k.Signer = who; err != nil {
			faults, k.Status = append(faults, diag.All(err)...), "bad"
		}
		r.Skills = append(r.Skills, k)
	}
	return r, faults.Err()
}

// checker returns how a skill's signature is checked: with the signer itself
// where the private key is at hand, else with the public key or CA.
func (app *App) checker(ctx context.Context, flags signerFlags) (func(*author.Skill) (string, error), error) {
	if flags.key != "" && author.IsPrivateKey(flags.key) {
		signer, err := author.LoadSigner(flags.key, flags.cert, func() ([]byte, error) { return app.passphrase("passphrase of " + flags.key) })
		return func(s *author.Skill) (string, error) { return "", s.Check(signer, time.Now()) }, err
	}
	c, err := author.NewChecker(flags.key, flags.cert)
	return func(s *author.Skill) (string, error) {
		v, err := c.Check(ctx, s, time.Now())
		if v.Signer == nil {
			return "", err
		}
		return v.Summary(), err
	}, err
}
