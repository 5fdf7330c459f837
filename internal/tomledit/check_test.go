package tomledit

import (
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"pgregory.net/rapid"
)

// agree compares what Parse accepts with what go-toml's decoder does.
func agree(t interface{ Fatalf(string, ...any) }, text string) {
	var whole map[string]any
	want := toml.Unmarshal([]byte(text), &whole)
	if _, err := Parse([]byte(text)); (err == nil) != (want == nil) {
		t.Fatalf("%q\nParse: %v\ndecoder: %v", text, err, want)
	}
}

func TestDefinedTwice(t *testing.T) {
	for _, text := range []string{
		"a=1\na=2", "a=1\n[a]", "[a]\n[a]", "[a.b]\n[a]", "[a]\n[a.b]\n[a]", "a.b=1\na.c=2", "a.b=1\na.b.c=2", "a.b=1\n[a]", "a.b=1\n[a.c]",
		"[a.b.c]\nz=9\n[a]\nb.c.t=1", "[a.b.c]\nz=9\n[a]\nb.d=1", "[a.b.c]\n[a]\nb.d=1\n[a.b]", "[[a]]\n[[a]]\n[a.b]\n[[a]]\n[a.b]", "[[a]]\n[a]", "[a]\n[[a]]",
		"a=[]\n[[a]]", "a=[{}]\n[a.b]", "a={}\n[a.b]", "a={b=1}\na.c=2", "a={b.c=1,b.d=2}", "a={b=1,b=2}", "a={b.c=1,b=2}", "[a.b]\n[[a]]", "[[a.b]]\n[a]\nb.c=1", "[[a.b]]\n[a]",
		"a=[{b=1,b=2}]", "[a]\nb.c=1\n[a.b]", "[a]\nb.c=1\n[a.b.d]\n[a.b.e]", "a=1979-13-40", "a=1__0", "a=99999999999999999999", "a=07:61:00", "a=1e400", "a=[1, 2020-02-30]",
	} {
		agree(t, text)
	}
}

func TestAgreesWithTheDecoder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`[ab](\.[abc]){0,2}`)
		line := rapid.OneOf(
			rapid.Map(key, func(k string) string { return "[" + k + "]" }),
			rapid.Map(key, func(k string) string { return "[[" + k + "]]" }),
			rapid.Map(key, func(k string) string { return k + " = 1" }),
			rapid.Map(key, func(k string) string { return k + " = { a.b = 1 }" }),
			rapid.Map(key, func(k string) string { return k + " = [{ a = 1 }]" }),
		)
		agree(t, strings.Join(rapid.SliceOfN(line, 1, 6).Draw(t, "lines"), "\n"))
	})
}
