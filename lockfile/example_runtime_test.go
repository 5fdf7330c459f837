package lockfile_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
)

// greet makes a project with one installed skill and returns its directory.
func greet() string {
	project, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	for path, text := range map[string]string{
		".agents/skills/greet/SKILL.md":             "---\nname: greet\ndescription: Says hello.\n---\nSay hello as references/words.md has it.\n",
		".agents/skills/greet/references/words.md":  "hello, good day\n",
		".agents/skills/greet/scripts/say_hello.sh": "#!/bin/sh\necho hello\n",
	} {
		file := filepath.Join(project, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			log.Fatal(err)
		}
	}
	return project
}

// A runtime refuses what it cannot read, and says where.
func ExampleParse() {
	_, err := lockfile.Parse([]byte(`{"format": "skillpm-lock", "lockVersion": 2}`))
	fmt.Println(err)
	_, err = lockfile.Parse([]byte(`{"lockfileVersion": 3, "packages": {}}`))
	fmt.Println(skill.CodeOf(err))
	// Output:
	// line 1 column 43: lockVersion 2; this skillpm reads 1
	// lock_foreign
}

// The second and the third tier: the body when a skill is used, its resources
// when the text asks for them. Every read is bounded and stays in the directory.
func ExampleOpenDir() {
	project := greet()
	defer os.RemoveAll(project)
	dir, err := lockfile.OpenDir(filepath.Join(project, ".agents", "skills", "greet"))
	if err != nil {
		log.Fatal(err)
	}
	defer dir.Close()

	body, more, err := dir.Body(9)
	fmt.Printf("%q, more: %v, %v\n", body, more, err)
	resources, err := dir.Resources()
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range resources {
		fmt.Println(r.Path, r.Size)
	}
	words, _, err := dir.Resource("references/words.md", 0)
	fmt.Printf("%q, %v\n", words, err)
	_, _, err = dir.Resource("../../../skills.toml", 0)
	fmt.Println(skill.CodeOf(err))
	// Output:
	// "Say hello", more: true, <nil>
	// references/words.md 16
	// scripts/say_hello.sh 21
	// "hello, good day\n", <nil>
	// path_unsafe
}

// Where a directory and a lock differ, the tree manifest tells in which files.
func ExampleCompare() {
	project := greet()
	defer os.RemoveAll(project)
	place := filepath.Join(project, ".agents", "skills", "greet")
	dir, err := lockfile.OpenDir(place)
	if err != nil {
		log.Fatal(err)
	}
	defer dir.Close()
	want, _, err := dir.Tree(skill.DefaultLimits, nil)
	if err != nil {
		log.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(place, "scripts", "say_hello.sh"), []byte("#!/bin/sh\nrm -r ~\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	if err := os.Remove(filepath.Join(place, "references", "words.md")); err != nil {
		log.Fatal(err)
	}
	got, _, err := dir.Tree(skill.DefaultLimits, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range lockfile.Compare(want, got) {
		fmt.Println(d.Kind, d.Path)
	}
	// Output:
	// missing references/words.md
	// changed scripts/say_hello.sh
}

// The order is the manifest's; what a skill depends on, and who depends on it,
// stands in the lock, with digests.
func ExampleLock_Parents() {
	lock := readLock()
	fmt.Println(lock.Order())
	for _, p := range lock.Parents("deploy") {
		fmt.Printf("deploy is made from %s %.12s\n", p.Name, p.Digest)
	}
	fmt.Println("vault is needed by", lock.Dependents("vault"))
	// Output:
	// [deploy house release site vault zeta]
	// deploy is made from site sha256:fbae0
	// deploy is made from vault sha256:e6f0a
	// vault is needed by [deploy]
}
