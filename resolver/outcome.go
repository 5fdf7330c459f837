package resolver

import (
	"fmt"

	"github.com/skillpm/skillpm/internal/diag"
)

func (n *Need) Error() string {
	return fmt.Sprintf("%d facts are not loaded", len(n.Versions)+len(n.At)+len(n.Requirements)+len(n.Digests))
}

func (n *NeedConsent) Error() string {
	return fmt.Sprintf("%d repositories are not approved", len(n.List))
}

func (f *Failure) Error() string { return f.Headline }

// Diag returns the failure as the finding that commands print: headline, proof
// and why lines as details, hint, reason, and FailureData for --json.
func (f *Failure) Diag() *diag.Error { return diag.New(f.Code, "%s", f.Headline) }
