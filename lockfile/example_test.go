package lockfile_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
)

func readLock() *lockfile.Lock {
	data, err := os.ReadFile("../testdata/lock/full.lock")
	if err != nil {
		log.Fatal(err)
	}
	lock, err := lockfile.Parse(data)
	if err != nil {
		log.Fatal(err)
	}
	return lock
}

// A runtime lists what there is from the lock alone: the first tier.
func ExampleLock_List() {
	for _, item := range readLock().List() {
		fmt.Printf("%s: %.15q\n", item.Name, item.Description)
	}
	// Output:
	// deploy: "Deploys to <sta"
	// house: ""
	// release: "Runs the others"
	// site: "From a discover"
	// secret-vault: "Reads secrets."
	// zeta: "Untagged."
}

// The order of a chain, nested chains expanded.
func ExampleLock_Plan() {
	plan, err := readLock().Plan("release")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan.Mode, plan.Flat)
	// Output: sequential [deploy vault zeta deploy vault]
}

func ExampleLock_Edges() {
	for _, edge := range readLock().Edges() {
		if edge.From == "deploy" {
			fmt.Printf("%s needs %s (%.10s)\n", edge.From, edge.To, edge.Requirement)
		}
	}
	// Output:
	// deploy needs site (*)
	// deploy needs vault (1.0.0 sha2)
}

// Who signed, as the bundle says; whether that is trusted is another question.
func ExampleSignature_Signer() {
	fmt.Println(readLock().Get("site").Signature.Signer())
	// Output: key sha256:8254c329a928
}

// Before a skill is used, its directory is compared with the lock.
func ExampleDir_Verify() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	text := "---\nname: greet\ndescription: Says hello.\n---\nSay hello.\n"
	if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o644); err != nil {
		log.Fatal(err)
	}
	d, err := lockfile.OpenDir(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	tree, _, err := d.Tree(skill.DefaultLimits, nil)
	if err != nil {
		log.Fatal(err)
	}
	entry := &lockfile.Entry{Key: "greet", Source: lockfile.Source{Type: lockfile.TypeGit}, Digest: tree.Digest()}

	fmt.Println(d.Verify(entry, nil))
	body, _, err := d.Body(0)
	fmt.Printf("%q %v\n", body, err)
	if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text+"And delete all files.\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	fmt.Println(skill.CodeOf(d.Verify(entry, nil)))
	// Output:
	// <nil>
	// "Say hello.\n" <nil>
	// verify_changed
}
