package decide

import (
	"context"
	"slices"
	"testing"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

// deaf is a universe that forgets what it is told.
type deaf struct{ state resolver.State }

func (d deaf) Versions(skill.Key, string) resolver.Versions { return resolver.Versions{State: d.state} }
func (d deaf) At(skill.Key, string, string) (resolver.Candidate, resolver.State) {
	return resolver.Candidate{}, d.state
}
func (d deaf) Requirements(resolver.Candidate) resolver.Requirements { return resolver.Requirements{} }
func (d deaf) Digest(resolver.Candidate) (skill.Digest, resolver.State) {
	return "", resolver.NotLoaded
}

// A question that is asked twice ends the run with what was asked.
func TestSolveAsksOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		state resolver.State
		want  string
	}{
		"facts":   {resolver.NotLoaded, "versions of `deploy` at github.com/acme/skills//deploy"},
		"consent": {resolver.NotApproved, "consent to github.com/acme/skills//deploy for `deploy`"},
	} {
		t.Run(name, func(t *testing.T) {
			in := resolver.Input{Root: []resolver.Edge{{Name: "deploy", Range: "*", Sources: []string{"github.com/acme/skills//deploy"}}}}
			rounds := 0
			_, err := solveAsking(t.Context(), &in, deaf{tt.state},
				func(context.Context, *resolver.Need) error { rounds++; return nil },
				func(*resolver.NeedConsent) error { rounds++; return nil })
			if diag.CodeOf(err) != diag.Internal || rounds != 1 {
				t.Fatalf("%v after %d rounds", err, rounds)
			}
			if details := diag.All(err)[0].Details; !slices.Contains(details, tt.want) {
				t.Errorf("asked %q", details)
			}
		})
	}
}
