package resolver_test

import (
	"context"
	"fmt"

	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
)

// shelf is a Universe that knows everything there is: two versions of one skill.
type shelf struct{}

func (shelf) Versions(name skill.Key, source string) resolver.Versions {
	v := resolver.Versions{State: resolver.Loaded}
	for _, text := range []string{"2.1.0", "1.4.0"} {
		version, _ := skill.ParseVersion(text)
		v.List = append(v.List, resolver.Candidate{Name: name, Source: source, Version: version})
	}
	return v
}

func (shelf) At(skill.Key, string, string) (resolver.Candidate, resolver.State) {
	return resolver.Candidate{}, resolver.Loaded
}

func (shelf) Requirements(resolver.Candidate) resolver.Requirements {
	return resolver.Requirements{State: resolver.Loaded}
}

func (shelf) Digest(resolver.Candidate) (skill.Digest, resolver.State) {
	return "", resolver.Unavailable
}

func ExampleSolve() {
	solution, err := resolver.Solve(context.Background(), resolver.Input{
		Root: []resolver.Edge{{Name: "deploy", Range: "^1.0", Sources: []string{"github.com/acme/skills//deploy"}}},
	}, shelf{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range solution.Chosen {
		fmt.Println(c.Name, c.Version)
	}
	// Output: deploy 1.4.0
}
