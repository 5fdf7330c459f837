package deptest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// featureRows are the rows of docs/features.md, by document.
var featureRows = []struct {
	document string
	rows     int
}{{"VANT", 36}, {"CHOCK", 44}, {"AGENTLY", 71}, {"CLEVER", 33}, {"RFC4", 32}}

// docs/features.md has every row once and in order, says of each what covers it,
// and names only tests and scripts that exist. A row without a test is the
// runtime's part or background.
func TestFeaturesPage(t *testing.T) {
	var want []string
	for _, d := range featureRows {
		for i := range d.rows {
			want = append(want, fmt.Sprintf("%s-%02d", d.document, i+1))
		}
	}
	row := regexp.MustCompile(`(?m)^\| ([A-Z0-9]+-\d\d) \| (.+) \| (.+) \| (.*) \|$`)
	rows := row.FindAllStringSubmatch(readFile(t, "docs/features.md"), -1)
	for i, m := range rows {
		if i >= len(want) || m[1] != want[i] {
			t.Fatalf("row %d is %s; want %v", i+1, m[1], want[min(i, len(want)-1)])
		}
		references := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(m[4], -1)
		if len(references) == 0 && !strings.HasPrefix(m[3], "The runtime's part") && !strings.HasPrefix(m[3], "Background") {
			t.Errorf("%s names no test and is neither the runtime's part nor background", m[1])
		}
		for _, r := range references {
			if err := referenced(r[1]); err != nil {
				t.Errorf("%s: %v", m[1], err)
			}
		}
	}
	if len(rows) != len(want) {
		t.Errorf("%d rows; want %d", len(rows), len(want))
	}
}

// referenced reports why a reference leads nowhere: `script NAME` or
// `package/dir.TestName`.
func referenced(reference string) error {
	if name, ok := strings.CutPrefix(reference, "script "); ok {
		found, err := filepath.Glob(filepath.Join(root, "cmd", "skillpm", "testdata", "*", name+".txtar"))
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("no script %s", name)
		}
		return err
	}
	dot := strings.LastIndexByte(reference, '.')
	if dot < 0 {
		return fmt.Errorf("%q is neither a script nor a test", reference)
	}
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(reference[:dot]), "*_test.go"))
	if err != nil {
		return err
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if strings.Contains(string(data), "\nfunc "+reference[dot+1:]+"(") {
			return nil
		}
	}
	return fmt.Errorf("no test %s", reference)
}
