package lockfile

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

func invalidUTF8(text string) int {
	if utf8.ValidString(text) {
		return -1
	}
	for i, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return i
			}
		}
	}
	return -1
}

// str reads a string in quotes. Escapes are left to encoding/json once it is
// sure that none of them is half a surrogate pair, which it would replace.
func (p *parser) str() (string, *syntaxError) {
	start := p.at
	escaped := false
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			if !escaped {
				return p.text[start+1 : p.at-1], nil
			}
			return p.unescape(start)
		case c == '\\':
			escaped = true
			p.at++
		case c < 0x20:
			return "", p.fault("a control character inside a string")
		}
	}
	return "", &syntaxError{start, "a string that is not ended"}
}

func (p *parser) unescape(start int) (string, *syntaxError) {
	raw := p.text[start:p.at]
	if loneSurrogate(raw) {
		return "", &syntaxError{start, "half of a surrogate pair in a string"}
	}
	var s string
	if err := json.Unmarshal([]byte(raw), &s); err != nil {
		return "", &syntaxError{start, "an escape that JSON does not know"}
	}
	return s, nil
}

func loneSurrogate(raw string) bool {
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		unit, ok := utf16Unit(raw[i:])
		switch {
		case !ok:
			i++ // past the escaped character, which may be a backslash
		case unit >= 0xd800 && unit < 0xdc00:
			low, paired := utf16Unit(raw[i+6:])
			if !paired || low < 0xdc00 || low > 0xdfff {
				return true
			}
			i += 11
		case unit >= 0xdc00 && unit <= 0xdfff:
			return true
		default:
			i += 5
		}
	}
	return false
}

func utf16Unit(s string) (uint64, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(s[2:6], 16, 16)
	return unit, err == nil
}

// number reads a number and keeps its text: a lock never loses a digit of a
// field it does not know.
func (p *parser) number(n *node) *syntaxError {
	start := p.at
	p.take('-')
	if !p.take('0') && !p.digits() {
		return p.expected("a digit")
	}
	if p.take('.') && !p.digits() {
		return p.expected("a digit")
	}
	if p.take('e') || p.take('E') {
		if !p.take('+') {
			p.take('-')
		}
		if !p.digits() {
			return p.expected("a digit")
		}
	}
	n.text = p.text[start:p.at]
	return nil
}

func (p *parser) digits() bool {
	start := p.at
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
	}
	return p.at > start
}
