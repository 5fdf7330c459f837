package parse_test

import (
	"fmt"

	"github.com/skillpm/skillpm/skill/parse"
)

// A runtime that finds a skill no lock describes reads its SKILL.md as install
// does: what can be read is read, the rest is told.
func ExampleRead() {
	s, findings := parse.Read([]byte("---\nname: Greet\ndescription: Says hello.\ntags: x\n---\nSay hello.\n"), parse.Options{Dir: "greet"})
	fmt.Println(s.Name, "-", s.Description)
	for _, f := range findings {
		fmt.Printf("%s at line %d\n", f.Code, f.Line)
	}
	// Output:
	// Greet - Says hello.
	// name_charset at line 2
	// field_unknown at line 4
}
