package decide

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/resolver"
)

// solveAsking solves in until nothing is missing: load brings facts, consent asks
// for repositories. Each round must ask for something new; one that does not
// would go on for ever, so it is a fault of this program.
func solveAsking(ctx context.Context, in *resolver.Input, u resolver.Universe, load func(context.Context, *resolver.Need) error, consent func(*resolver.NeedConsent) error) (*resolver.Solution, error) {
	asked := map[string]bool{}
	for {
		deadline := time.Now().Add(solveTime)
		in.Expired = func() bool { return time.Now().After(deadline) }
		solution, err := resolver.Solve(ctx, *in, u)
		need, isNeed := errors.AsType[*resolver.Need](err)
		unapproved, isConsent := errors.AsType[*resolver.NeedConsent](err)
		switch {
		case isNeed:
			if err = askOnce(asked, needed(need)); err == nil {
				err = load(ctx, need)
			}
		case isConsent:
			if err = askOnce(asked, consents(unapproved)); err == nil {
				err = consent(unapproved)
			}
		default:
			return solution, err
		}
		if err != nil {
			return nil, err
		}
	}
}

// askOnce refuses a round whose every question was asked before.
func askOnce(asked map[string]bool, questions []string) error {
	if !slices.ContainsFunc(questions, func(q string) bool { return !asked[q] }) {
		e := diag.New(diag.Internal, "the resolver asked again for what it had been given")
		e.Details = questions
		return e
	}
	for _, q := range questions {
		asked[q] = true
	}
	return nil
}

// needed names every fact that a solve lacks.
func needed(n *resolver.Need) []string {
	var list []string
	for _, w := range n.Versions {
		list = append(list, fmt.Sprintf("versions of `%s` at %s", w.Name, w.Source))
	}
	for _, w := range n.At {
		list = append(list, fmt.Sprintf("`%s` at %s, ref %s", w.Name, w.Source, w.Ref))
	}
	for _, w := range n.Requirements {
		list = append(list, "requirements of "+candidateText(w.Candidate))
	}
	for _, w := range n.Digests {
		list = append(list, "digest of "+candidateText(w.Candidate))
	}
	return list
}

func candidateText(c resolver.Candidate) string {
	return fmt.Sprintf("`%s` %s from %s, commit %s", c.Name, c.Version, c.Source, c.Commit)
}

func consents(n *resolver.NeedConsent) []string {
	list := make([]string, len(n.List))
	for i, u := range n.List {
		list[i] = fmt.Sprintf("consent to %s for `%s`", u.Source, u.Name)
	}
	return list
}
