package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// repoRoot is the repository's directory as seen from this package's tests.
var repoRoot = filepath.Join("..", "..")

// pages are the repository's pages for people.
func pages(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, pattern := range []string{"*.md", "docs/*.md", "examples/*/*.md", "examples/*/*.sh", "examples/*/*.y*ml", "runtimes/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(repoRoot, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, found...)
	}
	if len(list) < 10 {
		t.Fatalf("only %d pages found", len(list))
	}
	return list
}

var (
	// A command line stands in backticks, or begins a line of a code block or a
	// script, with or without a prompt.
	inBackticks = regexp.MustCompile("`(skillpm [^`\n]+)`")
	atLineStart = regexp.MustCompile(`^\s*(?:\$ |- run: |entry: |run: )?(skillpm .*)$`)
)

// Every command line that a page shows is one the program understands: its
// command exists and has the flags.
func TestPagesShowRealCommands(t *testing.T) {
	t.Parallel()
	tree := readCommands(t)
	for _, page := range pages(t) {
		for n, l := range readLines(t, page) {
			for _, shown := range commandLines(l) {
				if wrong := tree.check(shown); wrong != "" {
					t.Errorf("%s:%d: %s", page, n+1, wrong)
				}
			}
		}
	}
}

// line is one line of a page; code says that it stands in a block of code.
type line struct {
	text string
	code bool
}

func readLines(t *testing.T, page string) []line {
	t.Helper()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	code := filepath.Ext(page) != ".md"
	var lines []line
	for text := range strings.SplitSeq(string(data), "\n") {
		if filepath.Ext(page) == ".md" && strings.HasPrefix(strings.TrimSpace(text), "```") {
			code = !code
		}
		lines = append(lines, line{text, code})
	}
	return lines
}

// commandLines returns the command lines that a line shows.
func commandLines(l line) []string {
	var list []string
	for _, m := range inBackticks.FindAllStringSubmatch(l.text, -1) {
		list = append(list, m[1])
	}
	if m := atLineStart.FindStringSubmatch(l.text); m != nil && l.code {
		list = append(list, m[1])
	}
	return list
}

// docs/commands.md lists every command as --help does. UPDATE_SCRIPTS=1 writes
// the list anew.
func TestCommandsPage(t *testing.T) {
	t.Parallel()
	page := filepath.Join(repoRoot, "docs", "commands.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- commands -->\n", "<!-- end -->\n"
	before, rest, ok := strings.Cut(string(text), begin)
	have, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s lacks its marks", page)
	}
	want := "| command | does |\n|---|---|\n" + readCommands(t).table()
	if os.Getenv("UPDATE_SCRIPTS") != "" {
		err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644)
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("%s differs from --help; UPDATE_SCRIPTS=1 go test ./cmd/skillpm -run TestCommandsPage mends it:\n%s", page, diff)
	}
}

// table lists the commands below c, one a line.
func (c *command) table() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.sub)) {
		child := c.sub[name]
		if len(child.sub) > 0 && name != "completion" {
			b.WriteString(child.table())
			continue
		}
		usage := strings.NewReplacer("|", "\\|", "[command]", "SHELL", "[flags]", "SHELL").Replace(child.usage)
		b.WriteString("| `" + usage + "` | " + child.short + " |\n")
	}
	return b.String()
}

// command is what --help says of one command.
type command struct {
	path, usage, short string
	flags              []string
	sub                map[string]*command
}

var (
	helpFlag    = regexp.MustCompile(`(?m)^ +(?:(-\w), )?(--[a-z-]+)`)
	helpCommand = regexp.MustCompile(`(?m)^  ([a-z-]+) +(.*)$`)
	helpUsage   = regexp.MustCompile(`(?m)^Usage:\n  (.*)$`)
)

// readCommands asks the binary for its commands and their flags.
func readCommands(t *testing.T) *command {
	t.Helper()
	return readCommand(t, nil)
}

func readCommand(t *testing.T, path []string) *command {
	t.Helper()
	help := runSkillpm(t, append(slices.Clone(path), "--help")...)
	c := &command{path: strings.Join(append([]string{"skillpm"}, path...), " "), sub: map[string]*command{}}
	if m := helpUsage.FindStringSubmatch(help); m != nil {
		c.usage = m[1]
	}
	for _, m := range helpFlag.FindAllStringSubmatch(help, -1) {
		c.flags = append(c.flags, m[1], m[2])
	}
	_, list, ok := strings.Cut(help, "\nAvailable Commands:\n")
	if !ok {
		return c
	}
	list, _, _ = strings.Cut(list, "\n\n")
	for _, m := range helpCommand.FindAllStringSubmatch(list, -1) {
		child := readCommand(t, append(slices.Clone(path), m[1]))
		child.short = m[2]
		c.sub[m[1]] = child
	}
	return c
}

var (
	placeholder = regexp.MustCompile(`^[^a-z]*$`)
	flagWord    = regexp.MustCompile(`^-[\w-]+`)
	lineEnd     = regexp.MustCompile(` (?:\||>|2>|&&|\|\||;|#|\\|…) ?.*$`)
)

// aliases are commands' other names; --help lists them.
var aliases = map[string]string{"i": "install", "rm": "remove", "ls": "list", "upgrade": "update"}

// check says what is wrong with a command line, "" for nothing.
func (c *command) check(line string) string {
	at := c
	for word := range strings.FieldsSeq(lineEnd.ReplaceAllString(line, "")) {
		word = strings.Trim(word, `[](),.:;"'`)
		switch {
		case word == "skillpm" && at == c:
		case flagWord.MatchString(word):
			if flag := flagWord.FindString(word); !slices.Contains(at.flags, flag) {
				return "`" + line + "`: " + at.path + " has no flag " + flag
			}
		case len(at.sub) > 0 && !placeholder.MatchString(word):
			name := word
			if full, ok := aliases[word]; ok && at == c {
				name = full
			}
			next, ok := at.sub[name]
			if !ok && at == c {
				return "`" + line + "`: " + at.path + " has no command " + word
			}
			if ok {
				at = next
			}
		}
	}
	return ""
}
