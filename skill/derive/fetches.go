package derive

import (
	"bytes"
	"strings"
)

// Fetch is a place of SKILL.md that names a command which loads code from the
// network while the skill is used, so that the digest no longer says what runs.
type Fetch struct {
	Command string `json:"command"` // such as "npx" or "pip install"
	Path    string `json:"path"`
	Line    int    `json:"line"` // from 1
}

// maxFetches bounds the list of a card; one is enough to raise the flag.
const maxFetches = 20

// fetchCommands are matched as words in lower case.
var fetchCommands = []string{
	"npx", "bunx", "uvx", "pipx run", "pnpm dlx", "yarn dlx", "npm exec",
	"pip install", "pip3 install", "uv pip install", "uv add", "npm install", "npm i", "pnpm add", "yarn add",
	"bun add", "gem install", "cargo install", "go install", "brew install", "apt install", "apt-get install",
	"deno run http://", "deno run https://",
}

// RuntimeFetches returns the lines of s's SKILL.md that name such a command, or
// pipe a download into a shell, in order, at most 20 of them.
func RuntimeFetches(s *Skill) []Fetch {
	var out []Fetch
	for n, line := range lines(s.Text) {
		if len(out) == maxFetches {
			break
		}
		if command := fetchCommand(lower(line)); command != "" {
			out = append(out, Fetch{Command: command, Path: s.file(), Line: n})
		}
	}
	return out
}

func fetchCommand(line string) string {
	for _, c := range fetchCommands {
		if hasPhrase(line, c) {
			return c
		}
	}
	for _, tool := range []string{"curl", "wget"} {
		if hasPhrase(line, tool) && pipesToShell(line) {
			return tool + " | sh"
		}
	}
	return ""
}

func pipesToShell(line string) bool {
	for rest := line; ; {
		_, after, ok := strings.Cut(rest, "|")
		if !ok {
			return strings.Contains(line, "<(curl") || strings.Contains(line, "$(curl")
		}
		word, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(after), "sudo "), " ")
		switch strings.Trim(word, "`'\".,;:)") {
		case "sh", "bash", "zsh", "python", "python3", "node":
			return true
		}
		rest = after
	}
}

// lines iterates over the lines of the first MaxScan bytes of text with their
// numbers from 1.
func lines(text []byte) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		text = text[:min(len(text), MaxScan)]
		for n := 1; len(text) > 0; n++ {
			line, rest, _ := bytes.Cut(text, []byte("\n"))
			if !yield(n, string(line)) {
				return
			}
			text = rest
		}
	}
}

// lower returns s in lower case, ASCII only, byte for byte, so that places in it
// are places in s.
func lower(s string) string {
	for i := range len(s) {
		if c := s[i]; c >= 'A' && c <= 'Z' {
			b := []byte(s)
			for j := i; j < len(b); j++ {
				if b[j] >= 'A' && b[j] <= 'Z' {
					b[j] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

// hasPhrase reports whether phrase stands in line with no letter or digit
// directly before or after it.
func hasPhrase(line, phrase string) bool { return phraseAt(line, phrase) >= 0 }

func phraseAt(line, phrase string) int {
	for from := 0; ; {
		i := strings.Index(line[from:], phrase)
		if i < 0 {
			return -1
		}
		start, end := from+i, from+i+len(phrase)
		if (start == 0 || !isWordByte(line[start-1])) && (end == len(line) || !isWordByte(line[end]) || !isWordByte(phrase[len(phrase)-1])) {
			return start
		}
		from = start + 1
	}
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
