package signing

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/skillpm/skillpm/skill"
)

// glob matches whole strings: `**` any text, `*` any text without '/', all else
// itself. There is no escape: none of what is matched needs one.
type glob struct {
	text string
	re   *regexp.Regexp
}

// maxPatternBytes bounds a pattern; Go's regexp is linear in pattern times text.
const maxPatternBytes = 4096

func newGlob(text string) (glob, error) {
	if text == "" {
		return glob{}, errors.New("the pattern is empty")
	}
	if len(text) > maxPatternBytes {
		return glob{}, fmt.Errorf("the pattern is longer than %d bytes", maxPatternBytes)
	}
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for rest := text; rest != ""; {
		switch i := strings.IndexByte(rest, '*'); {
		case i < 0:
			b.WriteString(regexp.QuoteMeta(rest))
			rest = ""
		case i > 0:
			b.WriteString(regexp.QuoteMeta(rest[:i]))
			rest = rest[i:]
		case strings.HasPrefix(rest, "**"):
			b.WriteString(`.*`)
			rest = strings.TrimLeft(rest, "*")
		default:
			b.WriteString(`[^/]*`)
			rest = rest[1:]
		}
	}
	b.WriteString(`\z`)
	re, err := regexp.Compile(b.String())
	return glob{text, re}, err
}

func (g glob) match(s string) bool { return g.re != nil && g.re.MatchString(s) }

// newSignerGlob is newGlob for what names a signer: it must not match everyone.
func newSignerGlob(text string) (glob, error) {
	if strings.Trim(text, "*/") == "" {
		return glob{}, fmt.Errorf("`%s` matches every signer; a pattern needs literal text", text)
	}
	return newGlob(text)
}

// newIdentityRegexp compiles an identity_regexp: RE2 over the whole identity. It
// must begin with ^ and end with $, and hold text that every match contains.
// The ends are forced besides, since `^a|b$` is anchored in neither branch.
func newIdentityRegexp(text string) (*regexp.Regexp, error) {
	if len(text) > maxPatternBytes {
		return nil, fmt.Errorf("the pattern is longer than %d bytes", maxPatternBytes)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("`%s` is no RE2 pattern: %s", text, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	if !strings.HasPrefix(text, "^") || !endsAnchored(text) {
		return nil, fmt.Errorf("`%s` is not anchored: it must begin with ^ and end with $, or any identity that contains it would match", text)
	}
	if !needsLiteral(tree) {
		return nil, fmt.Errorf("`%s` matches every signer; a pattern needs literal text", text)
	}
	return regexp.Compile(`\A(?:` + text + `)\z`)
}

// endsAnchored reports whether the last character is a $ that is not escaped.
func endsAnchored(text string) bool {
	body, ok := strings.CutSuffix(text, "$")
	escapes := len(body) - len(strings.TrimRight(body, `\`))
	return ok && escapes%2 == 0
}

// needsLiteral reports whether every match of re contains literal text.
func needsLiteral(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral:
		return true
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if needsLiteral(sub) {
				return true
			}
		}
		return false
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			if !needsLiteral(sub) {
				return false
			}
		}
		return true
	case syntax.OpCapture, syntax.OpPlus:
		return needsLiteral(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min > 0 && needsLiteral(re.Sub[0])
	}
	return false
}

// newSourceGlob compiles a pattern over source identities. `https://` may be
// written and is dropped, host and (where the host ignores it) repository are
// folded to the identity's case, and a pattern that stops before `//` means
// every skill below.
func newSourceGlob(text string) (glob, error) {
	pattern := strings.TrimPrefix(text, "https://")
	scheme := ""
	for _, s := range []string{"http://", "git://", "file://"} {
		if rest, ok := strings.CutPrefix(pattern, s); ok {
			scheme, pattern = s, rest
		}
	}
	if strings.ContainsAny(pattern, "\\?#") || strings.Contains(scheme+pattern, "@") {
		return glob{}, fmt.Errorf("`%s` is no pattern over source identities, such as github.com/acme/skills//**", text)
	}
	repo, sub, has := strings.Cut(pattern, "//")
	repo = foldRepository(strings.TrimSuffix(strings.TrimSuffix(repo, "/"), ".git"))
	switch {
	case has:
		pattern = repo + "//" + sub
	case strings.HasSuffix(repo, "**"):
		pattern = repo
	default:
		pattern = repo + "//**"
	}
	return newGlob(scheme + pattern)
}

// foldRepository lower-cases what a source identity has in lower case: the host,
// and the repository on hosts that ignore case. Package skill knows which.
func foldRepository(repo string) string {
	host, path, slash := strings.Cut(repo, "/")
	host = strings.ToLower(host)
	if !slash {
		return host
	}
	if probe, err := skill.ParseSource(host + "/A/B"); err == nil && probe.Repository() == host+"/a/b" {
		path = strings.ToLower(path)
	}
	return host + "/" + path
}
