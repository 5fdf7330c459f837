package docs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skillpm/skillpm/docs"
)

func ExampleEntry() {
	text, _ := docs.Entry("interrupted")
	fmt.Print(text)
	// Output:
	// interrupted
	//
	// The run was interrupted.
	//
	// Interrupt, exit 130.
	//
	// ```
	// error[interrupted]: interrupted
	// ```
	//
	// Why: Ctrl-C, or a signal to end. Nothing is left half done: what was begun is finished or undone at the next start.
	//
	// What to do: Run again.
}

// An entry ends where the next heading of any level begins.
func TestEntryEnds(t *testing.T) {
	for _, code := range docs.Codes() {
		text, ok := docs.Entry(code)
		if !ok || strings.Contains(text, "\n#") || strings.Count(text, "What to do: ") != 1 {
			t.Errorf("entry of %s is not one section:\n%s", code, text)
		}
	}
	for _, code := range []string{"", "no_such_code", "`", "name"} {
		if text, ok := docs.Entry(code); ok {
			t.Errorf("Entry(%q) = %q", code, text)
		}
	}
}
