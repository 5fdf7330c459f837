package diag

import (
	"errors"
	"strings"
)

// Redacted returns e as it may be shown: without the credentials of addresses,
// which people also put where no address is understood.
func (e *Error) Redacted() *Error {
	out := *e
	out.Message, out.File, out.Hint = Redact(e.Message), Redact(e.File), Redact(e.Hint)
	out.Details = make([]string, len(e.Details))
	for i, d := range e.Details {
		out.Details[i] = Redact(d)
	}
	if e.Cause != nil {
		out.Cause = errors.New(Redact(e.Cause.Error()))
	}
	return &out
}

// Redact replaces user and password of every URL in text by an ellipsis, of
// malformed URLs too. A user without a password stays where it is no secret, as
// git@ of an ssh address.
func Redact(text string) string {
	var b strings.Builder
	for {
		i := strings.Index(text, ":/")
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		start := i
		for start > 0 && isSchemeByte(text[start-1]) {
			start--
		}
		scheme := text[start:i]
		at := i + 1
		for at < len(text) && text[at] == '/' {
			at++
		}
		b.WriteString(text[:at])
		end := at + addressEnd(text[:start], text[at:])
		b.WriteString(redactAddress(scheme, text[at:end]))
		text = text[end:]
	}
}

func isSchemeByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'
}

// addressEnd returns where an address ends: at the quote that began before it,
// else at a blank.
func addressEnd(before, rest string) int {
	if before = strings.TrimSuffix(before, "index:"); before != "" {
		if quote := before[len(before)-1]; strings.IndexByte("`'\"", quote) >= 0 {
			if end := strings.IndexByte(rest, quote); end >= 0 {
				return end
			}
		}
	}
	if end := strings.IndexAny(rest, " \t\n`'\""); end >= 0 {
		return end
	}
	return len(rest)
}

// redactAddress redacts what stands behind scheme://.
func redactAddress(scheme, rest string) string {
	authority := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority = rest[:i]
	}
	user := strings.LastIndexByte(authority, '@')
	if user < 0 { // a password may hold a slash
		_, port, ok := strings.Cut(authority, ":")
		if !ok || strings.Trim(port, "0123456789") == "" || strings.HasPrefix(authority, "[") {
			return rest
		}
		user = strings.LastIndexByte(rest, '@')
	}
	if user < 0 {
		return rest
	}
	web := strings.HasSuffix(strings.ToLower(scheme), "http") || strings.HasSuffix(strings.ToLower(scheme), "https")
	if !web && !strings.Contains(rest[:user], ":") {
		return rest
	}
	return "…" + rest[user:]
}
