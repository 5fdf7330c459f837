package parse

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ZON is the literal subset of the Zig language (ziglang.org, std.zig.Zon).
// This reader takes struct and tuple literals, enum literals, strings (also
// multi-line), integers, floats, true, false, null, comments and @"quoted"
// names; nothing is evaluated.

const (
	maxZonBytes = 256 << 10 // a training contract has a dozen lines
	maxZonDepth = 32
	maxZonItems = 10_000
)

type zonKind int

const (
	zonStruct zonKind = iota + 1
	zonTuple
	zonEnum
	zonString
	zonNumber
	zonWord // true, false, null
)

func (k zonKind) String() string {
	return [...]string{"", "a struct", "a list", "an enum literal", "a string", "a number", "a word"}[k]
}

// zonValue is one value with its place in the file.
type zonValue struct {
	kind   zonKind
	text   string // decoded string, enum name without its dot, number or word as written
	fields []zonField
	items  []zonValue
	at     Position
}

type zonField struct {
	name  string
	at    Position
	value zonValue
}

// zonError is a syntax error.
type zonError struct {
	at      Position
	message string
}

func (e *zonError) Error() string { return e.message }

type zonParser struct {
	text   string
	pos    int
	items  int
	markAt int // the offset of mark
	mark   Position
}

// parseZon reads one value and nothing after it.
func parseZon(text string) (v zonValue, err *zonError) {
	p := &zonParser{text: text, mark: Position{1, 1}}
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*zonError)
			if !ok {
				panic(r)
			}
			v, err = zonValue{}, e
		}
	}()
	if len(text) > maxZonBytes {
		p.fail("%d bytes; the limit is %d", len(text), maxZonBytes)
	}
	if !utf8.ValidString(text) {
		p.fail("not UTF-8")
	}
	v = p.value(0)
	p.space()
	if p.pos < len(p.text) {
		p.fail("expected the end of the file, found %s", p.found())
	}
	return v, nil
}

// fail leaves the parser; parseZon catches it. The recursion below would
// otherwise carry an error through every line.
func (p *zonParser) fail(format string, args ...any) {
	p.failAt(p.here(), format, args...)
}

func (p *zonParser) failAt(at Position, format string, args ...any) {
	panic(&zonError{at: at, message: fmt.Sprintf(format, args...)})
}

// here returns the place of pos. It counts on from where it was asked last, so
// that a long file is not counted again for every value.
func (p *zonParser) here() Position {
	to := min(p.pos, len(p.text))
	if to < p.markAt {
		p.markAt, p.mark = 0, Position{1, 1}
	}
	passed := p.text[p.markAt:to]
	if n := strings.Count(passed, "\n"); n > 0 {
		p.mark = Position{p.mark.Line + n, 1}
		passed = passed[strings.LastIndexByte(passed, '\n')+1:]
	}
	p.mark.Column += runeCount(passed)
	p.markAt = to
	return p.mark
}

func (p *zonParser) found() string {
	if p.pos >= len(p.text) {
		return "the end of the file"
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.pos:])
	return strconv.QuoteRune(r)
}

func (p *zonParser) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

// space skips blanks and // comments.
func (p *zonParser) space() {
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			p.pos++
		case strings.HasPrefix(p.text[p.pos:], "//"):
			if n := strings.IndexByte(p.text[p.pos:], '\n'); n >= 0 {
				p.pos += n
			} else {
				p.pos = len(p.text)
			}
		default:
			return
		}
	}
}

func (p *zonParser) value(depth int) zonValue {
	if depth > maxZonDepth {
		p.fail("nested deeper than %d", maxZonDepth)
	}
	if p.items++; p.items > maxZonItems {
		p.fail("more than %d values", maxZonItems)
	}
	p.space()
	at := p.here()
	switch c := p.peek(); {
	case strings.HasPrefix(p.text[p.pos:], ".{"):
		p.pos += 2
		return p.literal(at, depth)
	case c == '.':
		p.pos++
		return zonValue{kind: zonEnum, text: p.name(), at: at}
	case c == '"':
		return zonValue{kind: zonString, text: p.quoted(), at: at}
	case strings.HasPrefix(p.text[p.pos:], `\\`):
		return zonValue{kind: zonString, text: p.multiline(), at: at}
	case c == '-' || c >= '0' && c <= '9':
		return zonValue{kind: zonNumber, text: p.number(), at: at}
	case isIdentStart(c):
		return p.word(at)
	}
	p.fail("expected a value, found %s", p.found())
	return zonValue{}
}

// literal reads what follows ".{": named fields make a struct, values a tuple.
func (p *zonParser) literal(at Position, depth int) zonValue {
	v := zonValue{kind: zonTuple, at: at}
	for n := 0; ; n++ {
		p.space()
		if p.peek() == '}' {
			p.pos++
			return v
		}
		named := p.atField()
		if n == 0 && named {
			v.kind = zonStruct
		}
		if named != (v.kind == zonStruct) {
			p.fail("named fields and bare values in one literal")
		}
		if named {
			v.fields = append(v.fields, p.field(v.fields, depth))
		} else {
			v.items = append(v.items, p.value(depth+1))
		}
		p.space()
		switch p.peek() {
		case ',':
			p.pos++
		case '}':
		default:
			p.fail("expected `,` or `}`, found %s", p.found())
		}
	}
}

// atField reports whether ".name =" comes next, and moves nothing.
func (p *zonParser) atField() bool {
	if p.peek() != '.' || strings.HasPrefix(p.text[p.pos:], ".{") {
		return false
	}
	q := &zonParser{text: p.text, pos: p.pos + 1}
	ok := func() (ok bool) {
		defer func() {
			if r := recover(); r != nil {
				ok = false
			}
		}()
		q.name()
		return true
	}()
	q.space()
	return ok && q.peek() == '='
}

func (p *zonParser) field(before []zonField, depth int) zonField {
	at := p.here()
	p.pos++ // the dot
	name := p.name()
	for _, f := range before {
		if f.name == name {
			p.failAt(at, "the field `%s` stands twice", name)
		}
	}
	p.space()
	p.pos++ // the equals sign
	return zonField{name: name, at: at, value: p.value(depth + 1)}
}

// name reads an identifier or @"any text".
func (p *zonParser) name() string {
	if strings.HasPrefix(p.text[p.pos:], `@"`) {
		p.pos++
		name := p.quoted()
		if name == "" {
			p.fail("an empty name")
		}
		return name
	}
	start := p.pos
	for p.pos < len(p.text) && (isIdentStart(p.text[p.pos]) || p.pos > start && p.text[p.pos] >= '0' && p.text[p.pos] <= '9') {
		p.pos++
	}
	if p.pos == start {
		p.fail("expected a name, found %s", p.found())
	}
	name := p.text[start:p.pos]
	if isZigKeyword(name) {
		p.pos = start
		p.fail("`%s` is a keyword; write @%q", name, name)
	}
	return name
}

func isIdentStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

// isZigKeyword lists the words that must be quoted to be names (Zig 0.14's
// grammar).
func isZigKeyword(name string) bool {
	switch name {
	case "addrspace", "align", "allowzero", "and", "anyframe", "anytype", "asm", "async", "await", "break",
		"callconv", "catch", "comptime", "const", "continue", "defer", "else", "enum", "errdefer", "error",
		"export", "extern", "fn", "for", "if", "inline", "linksection", "noalias", "noinline", "nosuspend",
		"opaque", "or", "orelse", "packed", "pub", "resume", "return", "struct", "suspend", "switch", "test",
		"threadlocal", "try", "union", "unreachable", "usingnamespace", "var", "volatile", "while":
		return true
	}
	return false
}

func (p *zonParser) word(at Position) zonValue {
	start := p.pos
	for p.pos < len(p.text) && (isIdentStart(p.text[p.pos]) || p.text[p.pos] >= '0' && p.text[p.pos] <= '9') {
		p.pos++
	}
	switch w := p.text[start:p.pos]; w {
	case "true", "false", "null":
		return zonValue{kind: zonWord, text: w, at: at}
	default:
		p.failAt(at, "`%s` is no value; an enum literal is written .%s, text in quotes", shorten(w, 40), shorten(w, 40))
	}
	return zonValue{}
}

func (p *zonParser) number() string {
	start := p.pos
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		if !isIdentStart(c) && (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' {
			break
		}
		p.pos++
	}
	text := p.text[start:p.pos]
	plain := strings.ReplaceAll(text, "_", "")
	if _, err := strconv.ParseInt(plain, 0, 64); err != nil {
		if _, err := strconv.ParseFloat(plain, 64); err != nil {
			p.pos = start
			p.fail("`%s` is no number", shorten(text, 40))
		}
	}
	return text
}

// quoted reads a "string" with Zig's escapes.
func (p *zonParser) quoted() string {
	start := p.here()
	p.pos++
	var b strings.Builder
	for {
		switch c := p.peek(); {
		case p.pos >= len(p.text) || c == '\n':
			p.failAt(start, "a string that is not closed on its line")
		case c == '"':
			p.pos++
			return b.String()
		case c == '\\':
			p.escape(&b)
		case c < 0x20 || c == 0x7f:
			p.fail("a control character in a string")
		default:
			b.WriteByte(c)
			p.pos++
		}
	}
}

func (p *zonParser) escape(b *strings.Builder) {
	rest := p.text[p.pos+1:]
	if rest == "" {
		p.fail("a string that is not closed on its line")
	}
	simple := map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', '\\': '\\', '\'': '\'', '"': '"'}
	if c, ok := simple[rest[0]]; ok {
		b.WriteByte(c)
		p.pos += 2
		return
	}
	switch {
	case rest[0] == 'x' && len(rest) >= 3:
		n, err := strconv.ParseUint(rest[1:3], 16, 8)
		if err != nil || n >= utf8.RuneSelf {
			p.fail("\\x needs two hex digits below 80")
		}
		b.WriteByte(byte(n))
		p.pos += 4
	case strings.HasPrefix(rest, "u{"):
		digits, _, ok := strings.Cut(rest[2:], "}")
		n, err := strconv.ParseUint(digits, 16, 32)
		if !ok || err != nil || n > utf8.MaxRune || n >= 0xd800 && n < 0xe000 {
			p.fail("\\u{…} needs a code point in hex")
		}
		b.WriteRune(rune(n))
		p.pos += len(`\u{`) + len(digits) + 1
	default:
		p.fail("an unknown escape in a string")
	}
}

// multiline reads lines that begin with \\, joined by line feeds.
func (p *zonParser) multiline() string {
	var lines []string
	for strings.HasPrefix(p.text[p.pos:], `\\`) {
		line, _, _ := strings.Cut(p.text[p.pos+2:], "\n")
		p.pos += 2 + len(line)
		lines = append(lines, strings.TrimSuffix(line, "\r"))
		mark := p.pos
		p.space()
		if !strings.HasPrefix(p.text[p.pos:], `\\`) {
			p.pos = mark
			break
		}
	}
	return strings.Join(lines, "\n")
}
