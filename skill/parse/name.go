package parse

import (
	"strings"
	"unicode"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
	yaml "go.yaml.in/yaml/v4"
	"golang.org/x/text/unicode/norm"
)

func (r *fieldReader) name(f field) {
	at := r.at(f.value)
	if f.value.Kind != yaml.ScalarNode {
		r.problem(diag.NameCharset, at, "the name is %s; expected text of a-z, 0-9 and hyphens", kindWords(f.value))
		return
	}
	text := strings.TrimSpace(nodeText(f.value))
	r.skill.Name = text
	if _, err := skill.ParseName(text); err != nil {
		code := diag.Code(skill.CodeOf(err))
		if code == diag.NameNotAscii && r.opt.unicodeNames && r.unicodeName(text, at) {
			r.nameDirectory(text, at)
			return
		}
		e := r.problem(code, at, "%s", err.Error())
		if code != diag.NameEmpty && code != diag.NameTooLong {
			if legal := legalName(text); legal != "" {
				e.WithHint("a legal spelling is `%s`; the directory must have the same name", legal)
			}
		}
		return
	}
	if !r.nameDirectory(text, at) {
		return
	}
	r.scalarNote(f)
	r.cutNote(f)
	r.nameReserved(text, at)
}

// nameDirectory compares the name with the directory's own. Both sides are
// composed first, since some file systems decompose names.
func (r *fieldReader) nameDirectory(name string, at Position) bool {
	if r.opt.dir == "" || norm.NFC.String(name) == norm.NFC.String(r.opt.dir) {
		return true
	}
	r.problem(diag.NameNotDirectory, at, "the name is `%s` but the directory is `%s`", name, r.opt.dir).
		WithHint("rename one of the two")
	return false
}

func (r *fieldReader) nameReserved(name string, at Position) {
	if skill.IsWindowsDevice(name) {
		r.note(diag.NameReservedWindows, at, "`%s` is a device on Windows, so the directory cannot be made there", name)
	}
	for _, h := range hostNames {
		if strings.Contains(name, h.word) {
			r.note(diag.NameReservedHost, at, "`%s` holds the word `%s`, which %s keeps for itself and refuses on upload", name, h.word, h.host)
			return
		}
	}
	if name == "synced" {
		r.note(diag.NameReservedHost, at, "`%s` is a word that one host keeps for its own skills", name)
	}
}

// unicodeName judges a name under AllowUnicodeNames: lower-case letters and
// digits of one script, composed. What passes is a note, not a problem.
func (r *fieldReader) unicodeName(name string, at Position) bool {
	scripts := map[string]bool{}
	for _, c := range name {
		switch {
		case c == '-' || c >= '0' && c <= '9' || unicode.Is(unicode.Mn, c):
		case unicode.IsUpper(c) || !unicode.IsLetter(c) && !unicode.IsDigit(c):
			return false
		default:
			scripts[scriptOf(c)] = true
		}
	}
	if len(scripts) > 1 && (scripts["Latin"] || scripts["Cyrillic"] || scripts["Greek"]) {
		return false // letters of these look alike
	}
	if strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-") || strings.Contains(name, "--") {
		return false
	}
	e := r.note(diag.NameNotAscii, at, "the name `%s` is not of a-z, 0-9 and hyphens; most loaders and every URL want those", name)
	if norm.NFC.String(name) != name {
		e.WithHint("it is not in composed form (NFC); save it as `%s`", norm.NFC.String(name))
	}
	return true
}

func scriptOf(c rune) string {
	for _, s := range []struct {
		name  string
		table *unicode.RangeTable
	}{{"Latin", unicode.Latin}, {"Cyrillic", unicode.Cyrillic}, {"Greek", unicode.Greek}} {
		if unicode.Is(s.table, c) {
			return s.name
		}
	}
	return "other"
}

// legalName suggests a name; skillpm itself never repairs one.
func legalName(text string) string {
	var b strings.Builder
	for _, c := range norm.NFKD.String(strings.ToLower(text)) {
		switch {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			b.WriteRune(c)
		case unicode.Is(unicode.Mn, c):
		case c < 0x80:
			b.WriteByte('-')
		default:
			return ""
		}
	}
	s := strings.Trim(b.String(), "-")
	for strings.Contains(s, "--") {
		s = strings.ReplaceAll(s, "--", "-")
	}
	if _, err := skill.ParseName(s); err != nil {
		return ""
	}
	return s
}
