package skill_test

import (
	"crypto/sha256"
	"fmt"

	"github.com/skillpm/skillpm/skill"
)

// A tree is every file of a skill by path, mode, size and hash; its digest is the
// skill's identity wherever it lies.
func ExampleNewTree() {
	text := []byte("---\nname: greet\ndescription: Says hello.\n---\nSay hello.\n")
	tree, err := skill.NewTree([]skill.File{
		{Path: "SKILL.md", Size: int64(len(text)), SHA256: sha256.Sum256(text)},
	}, skill.DefaultLimits)
	if err != nil {
		fmt.Println(err)
		return
	}
	again, err := skill.ParseTreeManifest(tree.Manifest(), skill.DefaultLimits)
	fmt.Println(err, again.Digest() == tree.Digest(), again.Size())

	_, err = skill.NewTree([]skill.File{{Path: "../SKILL.md"}}, skill.DefaultLimits)
	fmt.Println(skill.CodeOf(err))
	// Output:
	// <nil> true 56
	// path_unsafe
}

// What stands in skills.toml and in a lock's requires.
func ExampleParseRequirement() {
	r, err := skill.ParseRequirement("  ^2.0   https://github.com/acme/skills//skills/deploy ", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Range, r.Source.Repository(), r.Source.Subpath())
	fmt.Println(r)
	// Output:
	// ^2.0 github.com/acme/skills skills/deploy
	// ^2.0 github.com/acme/skills//skills/deploy
}
