package parse_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill/parse"
)

// patience is far more than any of these needs and far less than what goes wrong
// without a bound: those would not end in this universe.
const patience = 20 * time.Second

func TestHostileFrontmatterIsBounded(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for i := range 30 {
		bomb += fmt.Sprintf("k%d: &k%d [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n", i, i)
	}
	for name, front := range map[string]string{
		"billion laughs":      bomb,
		"deep flow":           "a: " + strings.Repeat("[", 100_000) + "\n",
		"deep flow closed":    "a: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "\n",
		"deep maps":           deepMaps(2000),
		"many keys":           manyLines(60_000, "k%d: v\n"),
		"many duplicates":     strings.Repeat("a: b\n", 40_000),
		"many broken lines":   manyLines(15_000, "k%d: a: b\n"),
		"broken below broken": strings.Repeat("a:\n b:\n  c: x: y\n", 5000),
		"one long line":       "a: " + strings.Repeat("x: ", 80_000) + "\n",
		"open quote":          "a: \"" + strings.Repeat("x\n ", 80_000),
		"long key":            strings.Repeat("k", 200_000) + ": v\n",
		"long range":          "metadata:\n  skillpm.requires.b: \"" + strings.Repeat(">=1.0.0 ", 20_000) + "\"\n",
		"long chain":          "metadata:\n  chain: \"" + strings.Repeat("b, ", 60_000) + "\"\n",
		"over the limit":      strings.Repeat("a", 300<<10),
	} {
		t.Run(name, func(t *testing.T) {
			text := []byte("---\nname: a\ndescription: D.\n" + front + "---\nbody\n")
			start := time.Now()
			parse.Read(text, parse.Options{Dir: "a"})
			base := t.TempDir()
			writeCaseFile(t, base, caseFile{Path: "a/SKILL.md", Text: string(text)})
			validate(t, base, "a", parse.ValidateOptions{})
			if _, _, err := parse.Fixes(t.Context(), []string{"a"}, parse.ValidateOptions{Base: base}); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took > patience {
				t.Errorf("took %s", took)
			}
		})
	}
}

func deepMaps(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
		if b.Len() > 200<<10 {
			break
		}
	}
	return b.String()
}

func manyLines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func TestLargeFileIsRead(t *testing.T) {
	base := t.TempDir()
	writeCaseFile(t, base, caseFile{Path: "a/SKILL.md", Text: "---\nname: a\ndescription: D.\n---\n" + strings.Repeat("[x](y.md) `z-z` text\n", 100_000)})
	report := validate(t, base, "a", parse.ValidateOptions{})
	if diag.Exit(report.Err()) != 0 {
		t.Errorf("a file of 2 MB is a problem:\n%s", report.Text())
	}
	if err := os.Truncate(filepath.Join(base, "a", "SKILL.md"), parse.MaxFileBytes+1); err != nil {
		t.Fatal(err)
	}
	report = validate(t, base, "a", parse.ValidateOptions{})
	if diag.CodeOf(report.Err()) != diag.TreeTooLarge {
		t.Errorf("a file over the limit:\n%s", report.Text())
	}
}

func TestTreeOverTheLimitIsNamed(t *testing.T) {
	base := t.TempDir()
	writeCaseFile(t, base, caseFile{Path: "a/SKILL.md", Text: "---\nname: a\ndescription: D.\n---\nx\n"})
	for i := range 10_001 {
		name := filepath.Join(base, "a", fmt.Sprintf("f%d", i))
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	report := validate(t, base, "a", parse.ValidateOptions{})
	if diag.CodeOf(report.Err()) != diag.TreeTooLarge {
		t.Errorf("10,002 files:\n%s", report.Text())
	}
}

func TestValidateStopsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := parse.Validate(ctx, []string{"testdata"}, parse.ValidateOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

// snapshot lists everything below dir with what a write would change.
func snapshot(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		list = append(list, fmt.Sprint(path, info.Mode(), info.Size(), info.ModTime().UnixNano()))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

func TestNothingIsWritten(t *testing.T) {
	base := t.TempDir()
	home := t.TempDir()
	for _, v := range []string{"HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "TMPDIR"} {
		t.Setenv(v, home)
	}
	writeCaseFile(t, base, caseFile{Path: "a/SKILL.md", Text: "---\nname: a\ndescription: x: y\n---\n"})
	writeCaseFile(t, base, caseFile{Path: "b/SKILL.md", Text: "---\nname: b\ndescription: D.\nmetadata:\n  chain: a\n---\n[x](y)\n"})
	writeCaseFile(t, base, caseFile{Path: "b/link", Symlink: "SKILL.md"})
	before := append(snapshot(t, base), snapshot(t, home)...)
	validate(t, base, ".", parse.ValidateOptions{})
	if _, _, err := parse.Fixes(t.Context(), []string{"."}, parse.ValidateOptions{Base: base}); err != nil {
		t.Fatal(err)
	}
	if _, err := parse.Examine(t.Context(), "b", parse.ValidateOptions{Base: base}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, append(snapshot(t, base), snapshot(t, home)...)); diff != "" {
		t.Errorf("the file system changed (-before +after):\n%s", diff)
	}
}
