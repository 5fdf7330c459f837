package lockfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/skill"
)

var (
	hex40 = strings.Repeat("3f", 20)
	hex64 = strings.Repeat("a1", 32)
)

// minimal is the smallest lock; tests put their fields into its gaps.
func minimal(skills, targets string) string {
	return `{"format":"skillpm-lock","lockVersion":1,"root":{"requires":{}},"skills":{` + skills + `},"targets":[` + targets + `]}`
}

func gitEntry(key, more string) string {
	return fmt.Sprintf(`%q:{"version":"1.0.0","source":{"type":"git","url":"https://github.com/acme/x","commit":"%s"},"digest":"sha256:%s"%s}`, key, hex40, hex64, more)
}

// The golden lock has every field there is, in canonical form.
func TestGolden(t *testing.T) {
	data, err := os.ReadFile("../testdata/lock/full.lock")
	if err != nil {
		t.Fatal(err)
	}
	l, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(data), string(l.Bytes())); diff != "" {
		t.Error(diff)
	}
	if !IsCanonical(data) {
		t.Error("not canonical")
	}
	if want := []string{"deploy", "house", "release", "site", "vault", "zeta"}; !cmp.Equal(l.Order(), want) {
		t.Errorf("order %v, want %v", l.Order(), want)
	}
	crlf := []byte(strings.ReplaceAll(string(data), "\n", "\r\n"))
	again, err := Parse(crlf)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(l, again, cmp.AllowUnexported(Lock{})); diff != "" {
		t.Errorf("CRLF changes the lock: %s", diff)
	}
	if !IsCanonical(crlf) {
		t.Error("a CRLF checkout of a canonical lock is not canonical")
	}
}

// A reader without the manifest goes by key, whatever the order of the file: one
// that an earlier version wrote in the manifest's order is canonical, too, and
// what is written from it stands by key.
func TestFileOrder(t *testing.T) {
	data, err := os.ReadFile("../testdata/lock/order/skills.lock")
	if err != nil {
		t.Fatal(err)
	}
	vector, err := os.ReadFile("../testdata/lock/order/order.json")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	if err := json.Unmarshal(vector, &want); err != nil {
		t.Fatal(err)
	}
	l, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(l.Order(), want) {
		t.Errorf("order %v, want %v", l.Order(), want)
	}
	if !IsCanonical(data) {
		t.Error("a lock in another order of skills is not canonical")
	}
	written, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(written, data) || !IsCanonical(written) {
		t.Errorf("written as\n%s", written)
	}
}

// What cannot be read again is not encoded.
func TestEncodeDecodes(t *testing.T) {
	for name, spoil := range map[string]func(*Entry){
		"git without version": func(e *Entry) { e.Version = "" },
		"no digest":           func(e *Entry) { e.Digest = "" },
		"absolute path":       func(e *Entry) { e.Source.Path = "/etc" },
		"key":                 func(e *Entry) { e.Key = "../x" },
	} {
		l := fullLock()
		spoil(l.Get("vault"))
		if data, err := l.Encode(); skill.CodeOf(err) != "lock_corrupt" || data != nil {
			t.Errorf("%s: encoded, %v", name, err)
		}
	}
	l := fullLock()
	l.Get("site").Version = "" // of an index
	if _, err := l.Encode(); err != nil {
		t.Errorf("an index skill without version: %v", err)
	}
}

func TestFaults(t *testing.T) {
	long := strings.Repeat("[", maxDepth+1)
	tests := []struct{ name, text, want string }{
		{"empty", "", "1:1 lock_corrupt"},
		{"no object", "[]", "1:1 lock_corrupt"},
		{"truncated", strings.TrimSuffix(minimal("", ""), "}"), "1:89 lock_corrupt"},
		{"trailing data", minimal("", "") + "\n{}", "2:1 lock_corrupt"},
		{"byte order mark", "\ufeff" + minimal("", ""), "1:1 lock_corrupt"},
		{"comment", "// x\n{}", "1:1 lock_corrupt"},
		{"trailing comma", "{\n\"format\":\"skillpm-lock\",\n}", "3:1 lock_corrupt"},
		{"key twice", "{\n\"format\":\"skillpm-lock\",\n\"format\":\"skillpm-lock\"}", "3:1 lock_corrupt"},
		{"key twice by escape", `{"format":"skillpm-lock","\u0066ormat":1}`, "1:26 lock_corrupt"},
		{"half a surrogate", `{"format":"\ud800"}`, "1:11 lock_corrupt"},
		{"control character", "{\"format\":\"a\x01\"}", "1:13 lock_corrupt"},
		{"not UTF-8", "{\"format\":\"\xff\"}", "1:12 lock_corrupt"},
		{"too deep", `{"format":"skillpm-lock","x":` + long, "1:93 lock_corrupt"},
		{"number", `{"format":"skillpm-lock","lockVersion":01}`, "1:41 lock_corrupt"},
		{"newer", `{"format":"skillpm-lock","lockVersion":2,"skills":[]}`, "1:40 lock_version"},
		{"version is text", `{"format":"skillpm-lock","lockVersion":"1"}`, "1:40 lock_corrupt"},
		{"no version", `{"format":"skillpm-lock"}`, "1:1 lock_corrupt"},
		{"case of a key", `{"format":"skillpm-lock","LockVersion":1}`, "1:1 lock_corrupt"},
		{"format lost", `{"lockVersion":1,"skills":{}}`, "1:1 lock_corrupt"},
		{"parts missing", `{"format":"skillpm-lock","lockVersion":1}`, "1:1 lock_corrupt 1:1 lock_corrupt 1:1 lock_corrupt"},
		{"null", minimal(`"a":null`, ""), "1:79 lock_corrupt"},
		{"conflict", "{\n<<<<<<< HEAD\n=======\n>>>>>>> x\n}", "2:1 lock_corrupt"},
		{"several", minimal(`"..":{},"a":{"source":{"type":"git","url":"ext::sh -c x","commit":"12"}}`, `"../x"`),
			"1:75 lock_corrupt 1:87 lock_corrupt 1:87 lock_corrupt 1:117 lock_corrupt 1:141 lock_corrupt 1:160 target_unsafe"},
		{"keys one when folded", minimal(gitEntry("Pdf", "")+","+gitEntry("pdf", ""), ""), "1:294 lock_corrupt"},
		{"password", minimal(strings.Replace(gitEntry("a", ""), "https://", "https://u:secret@", 1), ""), "1:127 lock_corrupt"},
		{"url with option", minimal(strings.Replace(gitEntry("a", ""), "https://github.com/acme/x", "--upload-pack=x", 1), ""), "1:127 lock_corrupt"},
		{"climbing path", minimal(strings.Replace(gitEntry("a", ""), `"commit"`, `"path":"../x","commit"`, 1), ""), "1:162 lock_corrupt"},
		{"path entry with digest", minimal(`"a":{"source":{"type":"path","path":"x"},"digest":"sha256:`+hex64+`"}`, ""), "1:116 lock_corrupt"},
		{"absolute path skill", minimal(`"a":{"source":{"type":"path","path":"/etc"}}`, ""), "1:111 lock_corrupt"},
		{"requirement", minimal(gitEntry("a", `,"requires":{"b":"x/y z/w"}`), ""), "1:307 lock_corrupt"},
		{"negative size", minimal(gitEntry("a", `,"size":{"body":-1,"resources":0,"files":1.5}`), ""), "1:306 lock_corrupt 1:331 lock_corrupt"},
		{"target absolute", minimal("", `"/etc"`), "1:88 target_unsafe"},
		{"target of the user", minimal("", `"~/../x"`), "1:88 target_unsafe"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.text))
			list, ok := errors.AsType[Errors](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			var got []string
			for _, e := range list {
				got = append(got, fmt.Sprintf("%d:%d %s", e.Line, e.Column, skill.CodeOf(e)))
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("a password in %q", err)
			}
		})
	}
}

func TestForeign(t *testing.T) {
	tests := []struct{ tool, text string }{
		{"vercel-labs/skills", `{"version":1,"skills":{"a":{"source":"x/y","sourceType":"github","computedHash":"x"}}}`},
		{"tank", `{"lockfileVersion":1,"skills":{"a@1":{"resolved":"x","integrity":"y","permissions":{}}}}`},
		{"pcomans/skills-lock", `{"version":1,"skills":{"a":{"source":"x","path":"p","ref":"r","integrity":"i"}}}`},
		{"skillpack", `{"version":1,"generated_by":"skillpack","skills":[]}`},
		{"eddieran/skillpm", "version = 1\n[[skills]]\nskillRef = \"a\"\nresolvedVersion = \"1\"\n"},
		{"stacklok/toolhive", "version: 1\nskills:\n  - name: a\n    contentDigest: x\n"},
		{"microsoft/apm", "lockfile_version: 1\ndependencies: []\n"},
		{"`other-lock`", `{"format":"other-lock"}`},
	}
	for _, tt := range tests {
		t.Run(tt.tool, func(t *testing.T) {
			_, err := Parse([]byte(tt.text))
			if skill.CodeOf(err) != "lock_foreign" || !strings.Contains(err.Error(), tt.tool) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A field that this version does not know survives a rewrite until the entry's
// content changes, after the known fields and with every digit of a number.
func TestUnknownFields(t *testing.T) {
	text := minimal(gitEntry("a", `,"zz":1.50e3,"aa":{"b":[],"a":{}},"Version":"x"`)+","+gitEntry("b", `,"zz":1`), "")
	text = strings.Replace(text, `"requires":{}`, `"requires":{},"later":null`, 1)
	text = strings.TrimSuffix(text, "}") + `,"top":[1,2]}`
	old, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := Parse([]byte(minimal(gitEntry("a", "")+","+gitEntry("b", ""), "")))
	if err != nil {
		t.Fatal(err)
	}
	fresh.Get("b").Digest = skill.Digest("sha256:" + strings.Repeat("0", 64))
	fresh.KeepUnknown(old)
	got := string(fresh.Bytes())
	for _, want := range []string{
		"\"digest\": \"sha256:" + hex64 + "\",\n      \"Version\": \"x\",\n      \"aa\": {\n        \"a\": {},\n        \"b\": []\n      },\n      \"zz\": 1.50e3\n    }",
		"\"requires\": {},\n    \"later\": null\n",
		"\"targets\": [],\n  \"top\": [\n    1,\n    2\n  ]\n}\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("missing %q in\n%s", want, got)
		}
	}
	if fresh.Get("b").Unknown != nil {
		t.Error("kept what spoke of other content")
	}
}

func TestConflicted(t *testing.T) {
	side := func(version string) string {
		return strings.Replace(gitEntry("a", ""), "1.0.0", version, 1)
	}
	head := `{"format":"skillpm-lock","lockVersion":1,"root":{"requires":{}},"skills":{` + "\n"
	tail := "},\"targets\":[]}\n"
	for name, base := range map[string]string{"merge": "", "diff3": "||||||| base\n" + side("0.9.0") + "\n"} {
		t.Run(name, func(t *testing.T) {
			text := head + "<<<<<<< HEAD\n" + side("1.1.0") + "\n" + base + "=======\n" + side("1.2.0") + "\n>>>>>>> topic\n" + tail
			ours, theirs, err := Conflicted([]byte(strings.ReplaceAll(text, "\n", "\r\n")))
			if err != nil {
				t.Fatal(err)
			}
			if ours.Get("a").Version != "1.1.0" || theirs.Get("a").Version != "1.2.0" {
				t.Errorf("ours %s, theirs %s", ours.Get("a").Version, theirs.Get("a").Version)
			}
			if !HasConflict([]byte(text)) || HasConflict([]byte(head+side("1")+tail)) {
				t.Error("HasConflict")
			}
		})
	}
	text := head + "<<<<<<< HEAD\n" + side("1.1.0") + "\n=======\n{{\n>>>>>>> topic\n" + tail
	ours, theirs, err := Conflicted([]byte(text))
	if err != nil || ours.Get("a") == nil || len(theirs.Skills) != 0 {
		t.Errorf("a side that cannot be read: %v, %v, %v", ours, theirs, err)
	}
	newer := strings.Replace(head, `"lockVersion":1`, `"lockVersion":2`, 1)
	if _, _, err := Conflicted([]byte(newer + "<<<<<<< HEAD\n" + side("1.1.0") + "\n=======\n>>>>>>> topic\n" + tail)); skill.CodeOf(err) != "lock_version" {
		t.Errorf("a newer lock: %v", err)
	}
	if _, _, err := Conflicted([]byte("{\n<<<<<<< HEAD\n}")); skill.CodeOf(err) != "lock_corrupt" {
		t.Errorf("half a conflict: %v", err)
	}
}
