package resolver

import (
	"fmt"
)

func (n *Need) Error() string {
	return fmt.Sprintf("%d facts are not loaded", len(n.Versions)+len(n.At)+len(n.Requirements)+len(n.Digests))
}

func (n *NeedConsent) Error() string {
	return fmt.Sprintf("%d repositories are not approved", len(n.List))
}

func (f *Failure) Error() string { return f.Headline }
