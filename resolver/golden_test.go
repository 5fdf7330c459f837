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
	files, err := filepath.Glob(filepath.Join("..", "testdata", "resolver", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatal(err, "no files")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			problem, want, ok := strings.Cut(string(data), "-- report --\n")
			if !ok {
				t.Fatal("no report in the file")
			}
			in, w := parseProblem(t, problem)
			_, err = solveLoading(t, in, w)
			f, ok := errors.AsType[*resolver.Failure](err)
			if !ok {
				t.Fatalf("not a failure: %v", err)
			}
			if f.Hint == "" && len(f.Refusals) == 0 {
				t.Error("no hint")
			}
			got := f.String()
			if *update {
				if err := os.WriteFile(file, []byte(problem+"-- report --\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
}
