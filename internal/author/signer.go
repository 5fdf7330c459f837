package author

import (
	"bytes"
	"context"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/regular"
	"github.com/skillpm/skillpm/signing"
)

// maxKeyFile bounds key and certificate files, far above any real one.
const maxKeyFile = 1 << 20

func readKeyFile(name string) ([]byte, error) {
	data, err := regular.Read(name, maxKeyFile)
	if err != nil {
		return nil, diag.New(diag.Usage, "the file cannot be read").At(name, 0, 0).WithCause(err)
	}
	return data, nil
}

// LoadSigner reads a private key and, if certFile is not empty, its certificate
// chain. passphrase is asked only for an encrypted key.
func LoadSigner(keyFile, certFile string, passphrase func() ([]byte, error)) (*signing.Signer, error) {
	key, err := readKeyFile(keyFile)
	if err != nil {
		return nil, err
	}
	var secret, certs []byte
	if signing.KeyNeedsPassphrase(key) {
		if secret, err = passphrase(); err != nil {
			return nil, err
		}
	}
	if certFile != "" {
		if certs, err = readKeyFile(certFile); err != nil {
			return nil, err
		}
	}
	return signing.NewSigner(keyFile, key, secret, certFile, certs)
}

// Checker checks signatures without a private key, for CI.
type Checker struct {
	set *signing.Set // nil: any signer, but the content must be what it signed
}

// NewChecker demands the signer of a public key file, or one that a CA file
// vouches for, or with neither only that the content is what was signed.
func NewChecker(keyFile, caFile string) (*Checker, error) {
	var signer signing.SignerRule
	switch {
	case keyFile != "" && caFile != "":
		return nil, diag.New(diag.Usage, "a signature is checked with a public key or with a CA, not both")
	case keyFile != "":
		signer.Key = &signing.KeyRule{File: keyFile}
	case caFile != "":
		signer.X509 = &signing.X509Rule{Roots: caFile}
	default:
		return &Checker{}, nil
	}
	set, err := signing.NewSet(signing.SetOptions{ReadFile: readKeyFile}, signing.RequireSigner(signer))
	return &Checker{set}, err
}

// IsPrivateKey reports whether the file holds a private key, by its PEM label.
func IsPrivateKey(name string) bool {
	data, err := readKeyFile(name)
	return err == nil && bytes.Contains(data, []byte("PRIVATE KEY-----"))
}

// Check verifies the signature beside the skill.
func (c *Checker) Check(ctx context.Context, s *Skill, now time.Time) (signing.Verdict, error) {
	if s.Bundle == nil {
		return signing.Verdict{}, diag.New(diag.SignatureMissing, "`%s` is not signed", s.Name).At(s.Label, 0, 0)
	}
	v := signing.Verify(ctx, signing.Input{Name: s.Name, Tree: s.Tree, Bundle: s.Bundle, Policies: c.set, Now: now})
	return v, s.name(v.Err())
}

// CheckContent verifies that the signature, whoever made it, is over what is
// there.
func (s *Skill) CheckContent(ctx context.Context, now time.Time) error {
	_, err := (&Checker{}).Check(ctx, s, now)
	return err
}

// name puts the skill into findings about it.
func (s *Skill) name(err error) error {
	for _, e := range diag.All(forAuthors(err)) {
		e.Message = "`" + s.Name + "`: " + e.Message
		if e.File == "" {
			e.At(s.Label, 0, 0) // a line there is one of the rule that Check made
		}
	}
	return err
}
