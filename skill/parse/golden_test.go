package parse_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill/parse"
)

var update = flag.Bool("update", false, "write what testdata/validate now gives")

// Each archive in testdata/validate is a directory and the report it gets. The
// comment says what it is about; its lines may also say
//
//	target: PATH         what is validated; several, in order (default ".")
//	link: PATH -> TARGET a symbolic link
//	strict, agently, chock, unicode, ignore CODE   options
//
// The file `want` is the report as text.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/validate/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no archives", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { runGolden(t, file) })
	}
}

func runGolden(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	base := t.TempDir()
	want := -1
	for i, f := range archive.Files {
		if f.Name == "want" {
			want = i
			continue
		}
		writeCaseFile(t, base, caseFile{Path: f.Name, Text: unescape(string(f.Data))})
	}
	targets, opt := directives(t, base, string(archive.Comment))
	opt.Base = base
	report, err := parse.Validate(t.Context(), targets, opt)
	if err != nil {
		t.Fatal(err)
	}
	got := report.Text()
	if *update {
		archive.Files[want].Data = []byte(got)
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(archive.Files[want].Data), got); diff != "" {
		t.Errorf("report differs (-want +got):\n%s", diff)
	}
}

// unescape lets an archive hold what a text file should not: CR, NUL, a BOM and
// a last line without its end.
func unescape(s string) string {
	return strings.NewReplacer("␍", "\r", "␀", "\x00", "␏", "\ufeff", "␉", "\t", "␄\n", "", "¶", "\u200b", "⇆", "\u202e").Replace(s)
}

func directives(t *testing.T, base, comment string) (targets []string, opt parse.ValidateOptions) {
	t.Helper()
	for line := range strings.Lines(comment) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "target:":
			targets = append(targets, rest)
		case "link:":
			from, to, _ := strings.Cut(rest, " -> ")
			writeCaseFile(t, base, caseFile{Path: from, Symlink: to})
		case "strict":
			opt.StrictSpec = true
		case "agently", "chock":
			opt.Profile = word
		case "unicode":
			opt.AllowUnicodeNames = true
		case "ignore":
			opt.Ignore = append(opt.Ignore, diag.Code(rest))
		}
	}
	if targets == nil {
		targets = []string{"."}
	}
	return targets, opt
}
