package deptest

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/skillpm/skillpm/docs"
	"github.com/skillpm/skillpm/internal/diag"
)

var update = flag.Bool("update", false, "add new codes to testdata/codes.txt, take scripted ones out of testdata/unscripted.txt")

// cannotBeScripted are the codes that no run of the program can be made to show.
var cannotBeScripted = map[diag.Code]string{
	diag.Internal: "it stands for mistakes of ours that nobody knows of",
}

// The table of codes is well-formed: words, known kinds, and an exit status that
// fits the kind.
func TestCodeTable(t *testing.T) {
	word := regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	exits := map[string][]int{
		"note": {0}, "warning": {0}, "problem": {2}, "refusal": {2}, "finding": {2, 3}, "failure": {1},
		"usage": {64}, "bug": {70}, "interrupt": {130},
	}
	seen := map[diag.Code]bool{}
	for _, info := range diag.Codes() {
		switch {
		case !word.MatchString(string(info.Code)):
			t.Errorf("%q is no snake_case word", info.Code)
		case seen[info.Code]:
			t.Errorf("%s stands twice in the table", info.Code)
		case !slices.Contains(exits[info.Kind], info.Exit):
			t.Errorf("%s is a %s with exit status %d", info.Code, info.Kind, info.Exit)
		}
		seen[info.Code] = true
	}
	for _, m := range regexp.MustCompile(`(?m)^\t\w+\s+Code = "(\w+)"$`).FindAllStringSubmatch(readFile(t, "internal/diag/codes.go"), -1) {
		if !seen[diag.Code(m[1])] {
			t.Errorf("%s is a constant without a row in the table", m[1])
		}
	}
}

// Codes are permanent: programs match on them. One that was ever listed stays,
// with its exit status.
func TestCodesAreNeverRenamed(t *testing.T) {
	const file = "testdata/codes.txt"
	now := map[string]bool{}
	for _, info := range diag.Codes() {
		now[fmt.Sprintf("%s %d", info.Code, info.Exit)] = true
	}
	listed := map[string]bool{}
	for _, line := range listLines(t, file) {
		listed[line] = true
		if !now[line] {
			t.Errorf("%s lists `%s`, which is gone or has another exit status; codes are permanent", file, line)
		}
	}
	if *update {
		maps.Copy(listed, now)
		writeList(t, file, listed)
	}
	for line := range now {
		if !listed[line] {
			t.Errorf("%s lacks `%s`; run go test ./internal/deptest -update", file, line)
		}
	}
}

// Every code has an entry in docs/errors.md with its kind, its status, an
// example that shows the code, the reason and a way out, and no entry is about
// something else.
func TestErrorsPage(t *testing.T) {
	known := map[string]bool{}
	for _, info := range diag.Codes() {
		code := string(info.Code)
		known[code] = true
		text, ok := docs.Entry(code)
		if !ok {
			t.Errorf("docs/errors.md has no section ## `%s`", code)
			continue
		}
		status := fmt.Sprintf("\n%s%s, exit %d.\n", strings.ToUpper(info.Kind[:1]), info.Kind[1:], info.Exit)
		if !strings.Contains(text, status) {
			t.Errorf("the entry of %s lacks the line %q", code, strings.TrimSpace(status))
		}
		_, example, _ := strings.Cut(text, "\n```\n")
		example, _, _ = strings.Cut(example, "\n```\n")
		if !strings.Contains(example, "["+code+"]") && !strings.Contains(example, " "+code+": ") {
			t.Errorf("the entry of %s has no example that shows the code: %q", code, example)
		}
		for _, part := range []string{"\nWhy: ", "\nWhat to do: "} {
			if !strings.Contains(text, part) {
				t.Errorf("the entry of %s lacks %q", code, strings.TrimSpace(part))
			}
		}
	}
	for _, code := range docs.Codes() {
		if !known[code] {
			t.Errorf("docs/errors.md explains `%s`, which is no code", code)
		}
	}
}

// Every code is provoked by a script that runs the real binary. The codes in
// testdata/unscripted.txt wait for theirs; the list only gets shorter.
func TestEveryCodeHasAScript(t *testing.T) {
	const file = "testdata/unscripted.txt"
	scripted := scriptedCodes(t)
	waiting := map[string]bool{}
	for _, code := range listLines(t, file) {
		if !isCode(code) {
			t.Errorf("%s lists `%s`, which is no code", file, code)
		}
		if !scripted[code] {
			waiting[code] = true
		} else if !*update {
			t.Errorf("%s lists `%s`, which a script shows; take it out, or run go test ./internal/deptest -update", file, code)
		}
	}
	if *update {
		writeList(t, file, waiting)
	}
	for _, info := range diag.Codes() {
		code := string(info.Code)
		reason := cannotBeScripted[info.Code]
		switch {
		case reason != "" && scripted[code]:
			t.Errorf("%s is shown by a script, so it can be; take it out of cannotBeScripted", code)
		case reason == "" && !scripted[code] && !waiting[code]:
			t.Errorf("no script under cmd/skillpm/testdata/script shows %s; a new failure comes with its script", code)
		}
	}
}

// scriptedCodes returns the codes that scripts mention, comments left out. A code
// that is an ordinary word counts only after a bracket or a quote, as in
// error[usage] and "code":"usage".
func scriptedCodes(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "cmd", "skillpm", "testdata", "*", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	word := regexp.MustCompile(`[\["]?[a-z0-9]+(_[a-z0-9]+)+|[\["][a-z]+`)
	codes := map[string]bool{}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			for _, w := range word.FindAllString(line, -1) {
				if w = strings.TrimLeft(w, `["`); isCode(w) {
					codes[w] = true
				}
			}
		}
	}
	return codes
}

func isCode(word string) bool {
	_, ok := diag.Lookup(diag.Code(word))
	return ok
}

// listLines returns the lines of a file that are neither empty nor comments.
func listLines(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	return lines
}

// writeList replaces the lines of a file and keeps the comment it begins with.
func writeList(t *testing.T, file string, lines map[string]bool) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "#") {
			break
		}
		b.WriteString(line)
	}
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		b.WriteString(line + "\n")
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
