package resolver_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/resolver"
)

var update = flag.Bool("update", false, "rewrite the reports in testdata/resolver")

// TestReports reads the problems in testdata/resolver and compares each report
// with the one written below it. Read each as its user would: does it say what
// to do next?
func TestReports(t *testing.T) {
	golden(t, "*.txt", "report", func(t *testing.T, in resolver.Input, w *world) string {
		_, err := solveLoading(t, in, w)
		f, ok := errors.AsType[*resolver.Failure](err)
		if !ok {
			t.Fatalf("not a failure: %v", err)
		}
		if f.Hint == "" && len(f.Refusals) == 0 {
			t.Error("no hint")
		}
		return f.String()
	})
}

// golden solves each problem of testdata/resolver that pattern matches and
// compares what solve makes of it with what stands below the line "-- what --".
func golden(t *testing.T, pattern, what string, solve func(*testing.T, resolver.Input, *world) string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "testdata", "resolver", filepath.FromSlash(pattern)))
	if err != nil || len(files) == 0 {
		t.Fatal(err, "no files")
	}
	line := "-- " + what + " --\n"
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			problem, want, ok := strings.Cut(string(data), line)
			if !ok {
				t.Fatalf("no %s in the file", what)
			}
			in, w := parseProblem(t, problem)
			got := solve(t, in, w)
			if *update {
				if err := os.WriteFile(file, []byte(problem+line+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		})
	}
}
