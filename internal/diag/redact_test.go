package diag_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/skillpm/skillpm/internal/diag"
)

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"no address":                               "no address",
		"`https://me:secret@h/x` is no source":     "`https://…@h/x` is no source",
		"https://me:secret@h":                      "https://…@h",
		"https://secret@h/x":                       "https://…@h/x", // a token as user
		"git+https://me:secret@h/x?y":              "git+https://…@h/x?y",
		"`index:https://me:sec ret@h/x` is":        "`index:https://…@h/x` is",
		"`HTTPS://me:secret@[::1/x`":               "`HTTPS://…@[::1/x`",
		"http:/me:secret@h/no?x":                   "http:/…@h/no?x", // as a path, cleaned
		"stat /tmp/http:/me:secret@h/x: no":        "stat /tmp/http:/…@h/x: no",
		"ftp://me:secret@h/x":                      "ftp://…@h/x",
		"https://me:sec/ret@h/x":                   "https://…@h/x",
		"https://me:sec@ret@h/%zz":                 "https://…@h/%zz",
		"\"https://me:secret@h/x\" 'http://a:b@c'": "\"https://…@h/x\" 'http://…@c'",
		"from https://a:b@c to http://d:e@f now":   "from https://…@c to http://…@f now",
		"ssh://git@h/x":                            "ssh://git@h/x",
		"ssh://git:secret@h/x":                     "ssh://…@h/x",
		"https://h:8443/x@1.2":                     "https://h:8443/x@1.2",
		"https://h/x@1.2":                          "https://h/x@1.2",
		"https://[::1]:80/x@1.2":                   "https://[::1]:80/x@1.2",
		"line 3:/x":                                "line 3:/x",
	} {
		if got := diag.Redact(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestRedacted(t *testing.T) {
	const u = "https://me:secret@h/x"
	e := diag.New(diag.Usage, "%s", u).At(u, 1, 1).WithDetail("%s", u).WithCause(errors.New(u)).WithHint("%s", u)
	r := e.Redacted()
	for _, text := range append(r.Details, r.Message, r.File, r.Hint, r.Cause.Error()) {
		if strings.Contains(text, "secret") || !strings.Contains(text, "@h/x") {
			t.Errorf("%q", text)
		}
	}
	if !strings.Contains(e.Message, "secret") || r.Line != 1 {
		t.Errorf("%+v, %+v", e, r)
	}
}
