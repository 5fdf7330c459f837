package skill

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// SignatureFile is the name of the signature at a skill's root. It is no part
// of the tree: the lock pins it by its own hash.
const SignatureFile = "skill.oms.sig"

// maxPathBytes bounds one path: Linux's PATH_MAX, beyond which no file system
// here could hold it.
const maxPathBytes = 4096

// maxElementBytes bounds one name in a path: NAME_MAX of every file system in
// use, so that a longer one could be written nowhere.
const maxElementBytes = 255

// CheckPath says whether p may name a file inside a skill: relative, clean,
// '/'-separated UTF-8 of at most 4,096 bytes, 255 in an element, without control
// characters, backslashes, "..", a .git of any spelling or a Windows device name.
// The error's code is "path_unsafe".
func CheckPath(p string) error {
	if why := pathFault(p); why != "" {
		return fault("path_unsafe", 0, fmt.Sprintf("path %q %s", p, why))
	}
	return nil
}

func pathFault(p string) string {
	switch {
	case p == "":
		return "is empty"
	case len(p) > maxPathBytes:
		return fmt.Sprintf("is longer than %d bytes", maxPathBytes)
	case p[0] == '/':
		return "is absolute"
	case !utf8.ValidString(p):
		return "is not UTF-8"
	case strings.Contains(p, `\`):
		return "holds a backslash"
	}
	for _, r := range p {
		if r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 {
			return "holds a control character"
		}
	}
	for element := range strings.SplitSeq(p, "/") {
		switch {
		case element == "":
			return "has an empty element"
		case len(element) > maxElementBytes:
			return fmt.Sprintf("has an element of more than %d bytes", maxElementBytes)
		case element == "." || element == "..":
			return "has an element `" + element + "`"
		case isDotGit(element):
			return "has an element that names .git"
		case IsWindowsDevice(element):
			return "names a Windows device"
		}
	}
	return ""
}

// IsWindowsDevice reports whether a file of this name would be a device on
// Windows, with any extension: CON, PRN, AUX, NUL, COM0-9, LPT0-9 (also with
// superscript digits), CONIN$ and CONOUT$.
func IsWindowsDevice(element string) bool {
	base, _, _ := strings.Cut(element, ".")
	base, _, _ = strings.Cut(base, ":")
	base = strings.ToLower(strings.TrimRight(base, " "))
	switch base {
	case "con", "prn", "aux", "nul", "conin$", "conout$":
		return true
	}
	digit, ok := strings.CutPrefix(base, "com")
	if !ok {
		if digit, ok = strings.CutPrefix(base, "lpt"); !ok {
			return false
		}
	}
	return len(digit) == 1 && digit[0] >= '0' && digit[0] <= '9' || digit == "¹" || digit == "²" || digit == "³"
}

// isDotGit recognises .git in the spellings that some file system maps to it:
// any case, trailing dots and blanks, an NTFS stream or short name (git~1), and
// code points that HFS+ ignores (the list is git's utf8.c, is_hfs_dotgit).
func isDotGit(element string) bool {
	s := strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1
		}
		return r
	}, element)
	s, _, _ = strings.Cut(s, ":")
	s = strings.ToLower(strings.TrimRight(s, ". "))
	return s == ".git" || s == "git~1"
}

// FoldPath returns p as a case-insensitive, normalising file system sees it.
// Two paths with equal folds cannot stand in one tree.
func FoldPath(p string) string {
	ascii := true
	for i := range len(p) {
		if p[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return strings.ToLower(p)
	}
	folded := cases.Fold().String(norm.NFC.String(p))
	return norm.NFC.String(strings.Map(foldCherokee, folded))
}

// foldCherokee undoes what x/text does to Cherokee, whose capital letters are the
// folded ones (Unicode's CaseFolding.txt): it exchanges both cases, so that twins
// would stay apart.
func foldCherokee(r rune) rune {
	switch {
	case r >= 0xab70 && r <= 0xabbf:
		return r - 0xab70 + 0x13a0
	case r >= 0x13f8 && r <= 0x13fd:
		return r - 8
	}
	return r
}
