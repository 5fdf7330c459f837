package signing

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The threat table of the documentation names tests that are there.
func TestSecurityModelNamesRealTests(t *testing.T) {
	doc := string(readFile(t, filepath.Join("..", "docs", "security-model.md")))
	var code strings.Builder
	for _, dir := range []string{".", filepath.Join("..", "internal", "author")} {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(data)
		}
	}
	names := regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)(/[a-z_A-Z0-9-]+)?`").FindAllStringSubmatch(doc, -1)
	if len(names) < 30 {
		t.Errorf("only %d tests are named", len(names))
	}
	for _, n := range names {
		if !strings.Contains(code.String(), "func "+n[1]+"(") {
			t.Errorf("%s is named and not there", n[1])
		}
		sub := strings.ReplaceAll(strings.TrimPrefix(n[2], "/"), "_", " ")
		if n[1] != "TestSigningCases" && sub != "" && !strings.Contains(code.String(), `"`+sub+`"`) {
			t.Errorf("%s has no case %q", n[1], sub)
		}
	}
}
