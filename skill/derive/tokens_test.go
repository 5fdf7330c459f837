package derive_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/skillpm/skillpm/skill/derive"
)

// The estimate is held to a real tokenizer on published skills: within 15 %.
func TestTokensAgainstTokenizer(t *testing.T) {
	f, err := os.Open("testdata/tokens/counts.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		name, count, _ := strings.Cut(sc.Text(), "\t")
		want, err := strconv.Atoi(count)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join("testdata/tokens", name))
		if err != nil {
			t.Fatal(err)
		}
		got := derive.Tokens(text)
		if off := float64(got)/float64(want) - 1; off < -0.15 || off > 0.15 {
			t.Errorf("%s: estimated %d, the tokenizer counts %d (%+.0f %%)", name, got, want, off*100)
		}
	}
}

func TestTokensEdges(t *testing.T) {
	for text, want := range map[string]int{
		"":                             0,
		"a":                            1,
		" ":                            1,
		"hello world":                  2,
		"2026":                         2,
		strings.Repeat("-", 30):        1,
		"\xff\xfe":                     1,
		"---\nname: pdf\n---\n":        8,
		strings.Repeat("\n", 100_000):  1,
		strings.Repeat("hello ", 1000): 1001,
	} {
		if got := derive.Tokens([]byte(text)); got != want {
			t.Errorf("Tokens(%.20q) = %d, want %d", text, got, want)
		}
	}
}

func FuzzTokens(f *testing.F) {
	f.Add([]byte("Reads PDF files — 漢字 1234 ```bash"))
	f.Add([]byte("\xff\x00 \xe2\x82"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if n := derive.Tokens(text); n < 0 || n > 2*len(text)+1 {
			t.Errorf("%d tokens for %d bytes", n, len(text))
		}
	})
}

func BenchmarkTokens(b *testing.B) {
	text, err := os.ReadFile("testdata/tokens/mcp-builder.md")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		derive.Tokens(text)
	}
}
