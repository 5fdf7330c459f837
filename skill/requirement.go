package skill

import (
	"errors"
	"fmt"
	"strings"
)

// Requirement is what one skill, or the project, demands of another.
type Requirement struct {
	// Range is the version range with blanks collapsed; "*" for empty, "*" and
	// "latest" (highest stable); "" beside a Ref.
	Range string
	// Source is where the skill lives; the zero Source means look it up.
	Source Source
	// Ref is a branch, tag or full commit instead of a range.
	Ref string
	// Digest pins the content.
	Digest Digest
	// Delegate is the reserved word after "delegate:"; resolution refuses it.
	Delegate string
}

// RequirementPart names the part of a requirement that a fault is in.
type RequirementPart string

// The parts a RequirementError can name.
const (
	PartRange  RequirementPart = "range"
	PartDigest RequirementPart = "digest"
	PartSyntax RequirementPart = "syntax"
)

// RequirementError is a malformed requirement. In skills.toml each is
// requirement_syntax; in SKILL.md a bad range or digest has a code of its own.
type RequirementError struct {
	Part   RequirementPart
	Offset int // byte offset in the requirement's text
	Err    *Error
}

func (e *RequirementError) Error() string { return e.Err.Message }

// Unwrap returns the *Error, whose code is requirement_syntax.
func (e *RequirementError) Unwrap() error { return e.Err }

// ParseRequirement reads a requirement: blank-separated tokens, of which
// ref:NAME, sha256:HEX and delegate:… are known by their prefix, any other with
// '/' or ':' is the source, and the rest together is the range. checkRange
// judges the range (package resolver has one); nil accepts any. A range that
// does not stand alone as "*", "latest" or empty is handed to it as written,
// blanks collapsed. The error is a *RequirementError.
func ParseRequirement(text string, checkRange func(string) error) (Requirement, error) {
	p := requirementParser{rangeAt: -1}
	for _, tok := range tokens(text) {
		if err := p.token(tok); err != nil {
			return Requirement{}, err
		}
	}
	return p.finish(checkRange)
}

type token struct {
	text string
	at   int
}

func tokens(text string) []token {
	var list []token
	for i := 0; i < len(text); {
		if isBlank(text[i]) {
			i++
			continue
		}
		start := i
		for i < len(text) && !isBlank(text[i]) {
			i++
		}
		list = append(list, token{text[start:i], start})
	}
	return list
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

type requirementParser struct {
	req     Requirement
	ranges  []string
	rangeAt int
	refAt   int
}

func (p *requirementParser) token(tok token) error {
	switch {
	case strings.HasPrefix(tok.text, "ref:"):
		name := tok.text[len("ref:"):]
		if p.req.Ref != "" {
			return syntaxError(tok.at, "a second ref; at most one is allowed")
		}
		if err := CheckRef(name); err != nil {
			return syntaxError(tok.at, err.Error())
		}
		p.req.Ref, p.refAt = name, tok.at
	case strings.HasPrefix(tok.text, digestPrefix):
		if p.req.Digest != "" {
			return syntaxError(tok.at, "a second digest; at most one is allowed")
		}
		d, err := ParseDigest(tok.text)
		if err != nil {
			return partError(PartDigest, tok.at, err.Error())
		}
		p.req.Digest = d
	case strings.HasPrefix(tok.text, "delegate:"):
		if p.req.Delegate != "" {
			return syntaxError(tok.at, "a second delegate; at most one is allowed")
		}
		if p.req.Delegate = tok.text[len("delegate:"):]; p.req.Delegate == "" {
			return syntaxError(tok.at, "delegate: needs a word")
		}
	case strings.ContainsAny(tok.text, "/:"):
		if !p.req.Source.IsZero() {
			return syntaxError(tok.at, "a second source; at most one is allowed")
		}
		src, err := ParseSource(tok.text)
		if err != nil {
			at := tok.at
			if e, ok := errors.AsType[*Error](err); ok {
				at += max(e.Offset, 0)
			}
			return syntaxError(at, err.Error())
		}
		p.req.Source = src
	default:
		if p.rangeAt < 0 {
			p.rangeAt = tok.at
		}
		p.ranges = append(p.ranges, tok.text)
	}
	return nil
}

func (p *requirementParser) finish(checkRange func(string) error) (Requirement, error) {
	r := strings.Join(p.ranges, " ")
	if r != "" && p.req.Ref != "" {
		return Requirement{}, syntaxError(max(p.rangeAt, p.refAt), fmt.Sprintf("the range `%s` beside ref:%s; one of them is enough", r, p.req.Ref))
	}
	switch r {
	case "", "*", "latest":
		if p.req.Ref == "" {
			p.req.Range = "*"
		}
		return p.req, nil
	}
	if checkRange != nil {
		if err := checkRange(r); err != nil {
			return Requirement{}, partError(PartRange, p.rangeAt, fmt.Sprintf("`%s` is no version range: %v", r, err))
		}
	}
	p.req.Range = r
	return p.req, nil
}

// IsObjectID reports whether s is a full git object id, SHA-1 or SHA-256, in
// lower case as git prints it.
func IsObjectID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// CheckRef says whether name can be a branch, tag or commit: git's rules for
// ref names (git-check-ref-format), and no leading hyphen.
func CheckRef(name string) error {
	why := ""
	switch {
	case name == "":
		why = "is empty"
	case len(name) > 1024:
		why = "is longer than 1024 bytes"
	case name[0] == '-' || name[0] == '/' || strings.HasSuffix(name, "/") || strings.HasSuffix(name, ".lock") || strings.HasSuffix(name, "."):
		why = "begins or ends wrongly"
	case strings.Contains(name, "..") || strings.Contains(name, "//") || strings.Contains(name, "@{") || strings.Contains(name, "/.") || name[0] == '.' || name == "@":
		why = "holds a sequence that git forbids"
	case strings.ContainsAny(name, " ~^:?*[\\") || strings.ContainsFunc(name, isControl):
		why = "holds a character that git forbids"
	}
	if why != "" {
		return fault("requirement_syntax", 0, fmt.Sprintf("ref %q %s", name, why))
	}
	return nil
}

func syntaxError(at int, message string) error { return partError(PartSyntax, at, message) }

func partError(part RequirementPart, at int, message string) error {
	return &RequirementError{Part: part, Offset: at, Err: fault("requirement_syntax", at, message)}
}

// String returns the canonical spelling, used in the lock: range, source, ref
// and digest, one blank between. Equal requirements have equal strings.
func (r Requirement) String() string {
	var parts []string
	switch {
	case r.Range != "":
		parts = append(parts, r.Range)
	case r.Ref == "":
		parts = append(parts, "*")
	}
	if !r.Source.IsZero() {
		parts = append(parts, r.Source.Identity())
	}
	if r.Ref != "" {
		parts = append(parts, "ref:"+r.Ref)
	}
	if r.Digest != "" {
		parts = append(parts, string(r.Digest))
	}
	if r.Delegate != "" {
		parts = append(parts, "delegate:"+r.Delegate)
	}
	return strings.Join(parts, " ")
}
