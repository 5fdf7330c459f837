// Package gitrules says what git makes of a directory's files because of the
// .gitignore and .gitattributes files inside that same directory. A skill that is
// committed as it was installed brings such files along, and git obeys them: it
// leaves files out, and changes line ends on checkout.
//
// It reads no disk and starts no git. It knows the rules of the directory alone,
// not those above it, which git lets a deeper file overrule.
//
//	r := gitrules.Read(map[string][]byte{".gitattributes": []byte("*.md text eol=crlf\n")})
//	r.Converts("SKILL.md") // true
package gitrules

import (
	"path"
	"slices"
	"strings"
)

// The names of the files that git obeys in every directory.
const (
	IgnoreFile     = ".gitignore"
	AttributesFile = ".gitattributes"
)

// maxLines bounds what is read of one file: more rules than anybody writes, and
// few enough to try on every file of a skill.
const maxLines = 500

// Rules are the rules of one directory. They are safe for concurrent use.
type Rules struct {
	ignore     []ignoreRule
	attributes []attributeRule
}

// IsRuleFile reports whether a slash path names a file that git obeys.
func IsRuleFile(file string) bool {
	base := path.Base(file)
	return base == IgnoreFile || base == AttributesFile
}

// Read reads rule files by their slash path inside the directory; other files
// are no rules. Lines that git would not understand are passed over, as git does.
func Read(files map[string][]byte) *Rules {
	r := &Rules{}
	for _, name := range byDepth(files) {
		dir, _ := path.Split(name)
		n := 0
		for line := range strings.Lines(string(files[name])) {
			if n++; n > maxLines {
				break
			}
			line = strings.TrimRight(line, "\r\n")
			if path.Base(name) == IgnoreFile {
				if rule, ok := parseIgnore(dir, line); ok {
					r.ignore = append(r.ignore, rule)
				}
			} else if rule, ok := parseAttributes(dir, line); ok {
				r.attributes = append(r.attributes, rule)
			}
		}
	}
	return r
}

// byDepth are the rule files, deeper ones later: they overrule the others.
func byDepth(files map[string][]byte) []string {
	var names []string
	for name := range files {
		if IsRuleFile(name) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := strings.Count(a, "/") - strings.Count(b, "/"); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return names
}

// Ignores reports whether `git add` of the directory leaves a file out: a rule
// names it, or a directory above it.
func (r *Rules) Ignores(file string) bool {
	for i, c := range file + "/" {
		if c != '/' {
			continue
		}
		if at := file[:i]; r.excluded(at, at != file) {
			return true
		}
	}
	return false
}

// excluded reports what the last rule that matches says.
func (r *Rules) excluded(at string, isDir bool) bool {
	for _, rule := range slices.Backward(r.ignore) {
		if (isDir || !rule.dirOnly) && rule.matches(at) {
			return !rule.include
		}
	}
	return false
}

// Converts reports whether git may write other bytes on checkout than the file
// has now, on this system or another one.
func (r *Rules) Converts(file string) bool {
	a := map[string]string{}
	for _, rule := range r.attributes {
		if rule.matches(file) {
			for _, s := range rule.set {
				a[s.name] = s.value
			}
		}
	}
	if on(a["ident"]) || on(a["filter"]) || on(a["working-tree-encoding"]) {
		return true
	}
	text := a["text"]
	if text == "" { // the older name
		text = a["crlf"]
	}
	if text == unset || text == "input" || a["eol"] == "lf" {
		return false // such files have the same bytes everywhere
	}
	return text != "" || a["eol"] == "crlf"
}

// The values of an attribute that is not given one in words.
const (
	set   = "set"
	unset = "unset"
)

func on(value string) bool { return value != "" && value != unset }

// pattern is a path of git's, with wildcards.
type pattern struct {
	dir      string // of the file that has the rule, with a slash at its end, or ""
	segments []string
	anywhere bool // it names files in any directory
}

// parsePattern reads a pattern without its trailing slash.
func parsePattern(dir, text string) pattern {
	p := pattern{dir: dir, anywhere: !strings.Contains(text, "/")}
	text = strings.ReplaceAll(strings.TrimPrefix(text, "/"), "[!", "[^")
	p.segments = slices.Compact(strings.Split(text, "/"))
	return p
}

func (p pattern) matches(file string) bool {
	rel, ok := strings.CutPrefix(file, p.dir)
	if !ok {
		return false
	}
	if p.anywhere {
		rel = path.Base(rel)
	}
	return matchSegments(p.segments, strings.Split(rel, "/"))
}

// matchSegments matches name by name; ** stands for any number of names, at the
// end for one at least. at[j] says that the pattern so far matches the first j
// names, so that patterns of many ** cost no more than others.
func matchSegments(segments, names []string) bool {
	at := make([]bool, len(names)+1)
	at[0] = true
	for i, s := range segments {
		next := make([]bool, len(names)+1)
		if s == "**" && len(segments) > 1 {
			reached := false
			for j := range next {
				next[j] = reached || at[j] && i < len(segments)-1
				reached = reached || at[j]
			}
		} else {
			for j, name := range names {
				if ok, err := path.Match(s, name); at[j] && ok && err == nil {
					next[j+1] = true
				}
			}
		}
		at = next
	}
	return at[len(names)]
}

type ignoreRule struct {
	pattern
	include, dirOnly bool
}

func parseIgnore(dir, line string) (ignoreRule, bool) {
	if line == "" || line[0] == '#' {
		return ignoreRule{}, false
	}
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	var r ignoreRule
	line, r.include = strings.CutPrefix(line, "!")
	line, r.dirOnly = strings.CutSuffix(line, "/")
	if line == "" {
		return r, false
	}
	r.pattern = parsePattern(dir, line)
	return r, true
}

type attributeRule struct {
	pattern
	set []setting
}

type setting struct{ name, value string }

// parseAttributes reads a line of .gitattributes. Macros are for the top of a work
// tree alone, and git takes neither patterns with ! nor such as name a directory.
func parseAttributes(dir, line string) (attributeRule, bool) {
	words := strings.Fields(line)
	if len(words) < 2 || strings.HasPrefix(words[0], "#") || strings.HasPrefix(words[0], "[attr]") ||
		strings.HasPrefix(words[0], "!") || strings.HasSuffix(words[0], "/") {
		return attributeRule{}, false
	}
	r := attributeRule{pattern: parsePattern(dir, strings.Trim(words[0], `"`))}
	for _, w := range words[1:] {
		name, value, given := strings.Cut(w, "=")
		switch {
		case given:
		case w[0] == '-':
			name, value = w[1:], unset
		case w[0] == '!':
			name = w[1:]
		default:
			value = set
		}
		if name == "binary" && value == set {
			name, value = "text", unset
		}
		r.set = append(r.set, setting{name, value})
	}
	return r, true
}
