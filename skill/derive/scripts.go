package derive

import (
	"bytes"
	"path"
	"strings"

	"github.com/skillpm/skillpm/skill"
)

// maxScripts is the most scripts a card lists; the largest real skill has 90.
const maxScripts = 200

// Script is one file of a skill that a host may be asked to run. skillpm never
// runs one.
type Script struct {
	Path string `json:"path"`
	Mode string `json:"mode"` // "x" where the owner may execute it, else "-"
	// Interpreter is a guess: the program of the shebang line without directory
	// and version, else by extension; empty where neither tells.
	Interpreter string `json:"interpreter"`
	// Guess says where Interpreter comes from: shebang, extension or empty.
	Guess  string `json:"guess"`
	SHA256 string `json:"sha256"`
}

// Scripts returns the files under scripts/, those with the executable bit and
// those whose extension is a script's, in tree order, at most 200 of them, and
// how many were left out. It reads the candidates' first line where Read
// allows.
func Scripts(s *Skill) (scripts []Script, leftOut int, err error) {
	rd := reader{skill: s}
	for _, f := range s.Tree.Files() {
		if f.Path == s.file() || !isScript(f) {
			continue
		}
		if len(scripts) == maxScripts {
			leftOut++
			continue
		}
		script := Script{Path: f.Path, Mode: "-", SHA256: resourceOf(f).SHA256}
		if f.Exec {
			script.Mode = "x"
		}
		data, _, err := rd.text(f)
		if err != nil {
			return nil, 0, err
		}
		if program := shebang(data); program != "" {
			script.Interpreter, script.Guess = program, "shebang"
		} else if program := interpreterByExtension[extension(f.Path)]; program != "" {
			script.Interpreter, script.Guess = program, "extension"
		}
		scripts = append(scripts, script)
	}
	return scripts, leftOut, nil
}

// isScript reports whether a file is there to be run: by its executable bit, its
// extension, or, under scripts/, for being a text that is no data.
func isScript(f skill.File) bool {
	ext := extension(f.Path)
	switch {
	case f.Exec || interpreterByExtension[ext] != "":
		return true
	case KindOf(f.Path) != KindScript:
		return false
	}
	return ext == "" || isTextMedia(MediaType(f.Path)) && !isData(f.Path)
}

func extension(name string) string { return strings.ToLower(path.Ext(name)) }

// isData reports texts that are no program, though they may lie in scripts/.
func isData(name string) bool {
	switch MediaType(name) {
	case "text/markdown", "text/plain", "text/csv", "text/html", "text/css", "text/tab-separated-values",
		"application/json", "application/yaml", "application/toml", "application/xml":
		return true
	}
	return false
}

// shebang returns the program of a "#!" line: the base name, through env and its
// flags and assignments, without a version ("python3.11" is python).
func shebang(data []byte) string {
	line, ok := bytes.CutPrefix(data[:min(len(data), 256)], []byte("#!"))
	if !ok {
		return ""
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	words := strings.Fields(string(line))
	if len(words) == 0 {
		return ""
	}
	program := path.Base(words[0])
	if program == "env" {
		program = ""
		for _, w := range words[1:] {
			if !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") {
				program = path.Base(w)
				break
			}
		}
	}
	program = strings.TrimRight(program, "0123456789.")
	if program == "nodejs" {
		return "node"
	}
	return program
}

// interpreterByExtension names the program that usually runs a file. TypeScript
// is missing on purpose: node, deno, bun and tsx are equally likely.
var interpreterByExtension = map[string]string{
	".sh": "sh", ".bash": "bash", ".zsh": "zsh", ".fish": "fish", ".ps1": "pwsh", ".bat": "cmd", ".cmd": "cmd",
	".py": "python", ".js": "node", ".mjs": "node", ".cjs": "node",
	".rb": "ruby", ".pl": "perl", ".php": "php", ".lua": "lua", ".r": "Rscript", ".awk": "awk",
}
