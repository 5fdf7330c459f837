package signing

import (
	"crypto/x509/pkix"
	"fmt"

	"github.com/skillpm/skillpm/internal/diag"
)

// stage is a step of verification. The first that fails decides the code, except
// that a failed anchor waits for signature, statement and content.
type stage int

const (
	stagePolicy stage = iota
	stageParse
	stageMethod
	stageLogKnown
	stageLog
	stageTime
	stageCertificate
	stageSCT
	stageSignature
	stageStatement
	stageIdentity
	stageRevoked
	stageContent
	stageLock
)

var stageNames = [...]string{"policy", "parse", "method", "log known", "log", "trusted time", "certificate", "certificate log",
	"signature", "statement", "identity", "revocation", "content", "lock"}

func (s stage) String() string { return stageNames[s] }

// fault is why a stage failed.
type fault struct {
	stage   stage
	code    diag.Code
	message string
	details []string
	advice  string
	// anchor marks a failure that says only that nothing configured vouches for
	// the signer.
	anchor    bool
	file      string // where it lies, if not in the bundle
	line, col int
}

func newFault(s stage, code diag.Code, format string, args ...any) *fault {
	return &fault{stage: s, code: code, message: fmt.Sprintf(format, args...)}
}

func (f *fault) hint(format string, args ...any) *fault {
	f.advice = fmt.Sprintf(format, args...)
	return f
}

func (f *fault) asAnchor() *fault {
	f.anchor = true
	return f
}

// at sets the file, if none is set yet.
func (f *fault) at(file string) *fault {
	if f.file == "" {
		f.file = file
	}
	return f
}

// quote makes text from a bundle, tree or certificate safe to print.
func quote(s string) string {
	const most = 300
	if len(s) > most {
		s = s[:most] + "…"
	}
	return diag.Escape(s)
}

// distinguished is a certificate name for people and for the lock: the common
// name, the whole name where there is none.
func distinguished(n pkix.Name) string {
	if n.CommonName != "" {
		return n.CommonName
	}
	return n.String()
}
