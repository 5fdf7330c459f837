package parse_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill/parse"
)

// validateCase is one entry of validate.json; the file says how to read it.
type validateCase struct {
	ID     string
	Title  string
	Target string
	Tree   []caseFile
	Expect struct {
		Exit  int
		Lines []caseLine
	}
	Strict *struct {
		Exit int
		Code string
	} `json:"expect_strict_spec"`
}

type caseFile struct {
	Path, Text, Base64, Symlink string
}

type caseLine struct {
	Verdict, Path, Code string
}

// casesFile returns the path of a case file: below SKILLPM_CASES if that is
// set, where a file that is not there skips.
func casesFile(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("SKILLPM_CASES")
	if dir == "" {
		return filepath.Join("..", "..", "testdata", "cases", name)
	}
	file := filepath.Join(dir, name)
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("%s is not there", file)
	}
	return file
}

func TestValidateCases(t *testing.T) {
	data, err := os.ReadFile(casesFile(t, "validate.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []validateCase }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	for _, c := range file.Cases {
		t.Run(c.ID, func(t *testing.T) { runCase(t, c) })
	}
}

func runCase(t *testing.T, c validateCase) {
	base := t.TempDir()
	for _, f := range c.Tree {
		writeCaseFile(t, base, f)
	}
	report := validate(t, base, c.Target, parse.ValidateOptions{})
	if exit := diag.Exit(report.Err()); exit != c.Expect.Exit {
		t.Errorf("%s: exit %d, want %d", c.Title, exit, c.Expect.Exit)
	}
	if diff := cmp.Diff(sortedLines(c.Expect.Lines), comparable(report, c.Expect.Lines)); diff != "" {
		t.Errorf("%s: lines differ (-want +got):\n%s\n%s", c.Title, diff, report.Text())
	}
	if c.Strict == nil {
		return
	}
	strict := validate(t, base, c.Target, parse.ValidateOptions{StrictSpec: true})
	if exit := diag.Exit(strict.Err()); exit != c.Strict.Exit {
		t.Errorf("%s: --strict-spec exits %d, want %d", c.Title, exit, c.Strict.Exit)
	}
	if !slices.ContainsFunc(strict.Lines, func(l parse.Line) bool {
		return l.Verdict == parse.Problem && string(l.Code()) == c.Strict.Code
	}) {
		t.Errorf("%s: --strict-spec gives no problem %s:\n%s", c.Title, c.Strict.Code, strict.Text())
	}
}

func validate(t *testing.T, base, target string, opt parse.ValidateOptions) *parse.Report {
	t.Helper()
	opt.Base = base
	report, err := parse.Validate(t.Context(), []string{target}, opt)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func writeCaseFile(t *testing.T, base string, f caseFile) {
	t.Helper()
	name := filepath.Join(base, filepath.FromSlash(f.Path))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if f.Symlink != "" {
		if err := os.Symlink(f.Symlink, name); err != nil {
			t.Fatal(err)
		}
		return
	}
	content := []byte(f.Text)
	if f.Base64 != "" {
		var err error
		if content, err = base64.StdEncoding.DecodeString(f.Base64); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(name, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// comparable returns the lines that the expectation speaks of: all but the
// notes that it leaves open, those of a path with a problem.
func comparable(r *parse.Report, want []caseLine) []caseLine {
	failed := map[string]bool{}
	for _, l := range r.Lines {
		failed[l.Path] = failed[l.Path] || l.Verdict == parse.Problem
	}
	var got []caseLine
	for _, l := range r.Lines {
		line := caseLine{string(l.Verdict), l.Path, string(l.Code())}
		if l.Verdict == parse.Note && failed[l.Path] && !slices.Contains(want, line) {
			continue
		}
		got = append(got, line)
	}
	return sortedLines(got)
}

func sortedLines(lines []caseLine) []caseLine {
	lines = slices.Clone(lines)
	slices.SortFunc(lines, func(a, b caseLine) int {
		return slices.Compare([]string{a.Path, a.Verdict, a.Code}, []string{b.Path, b.Verdict, b.Code})
	})
	return slices.Compact(lines)
}
