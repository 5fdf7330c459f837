package git

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skillpm/skillpm/fetch"
)

// Names that git could not have made, or that read as others, are left out of a
// listing, in both protocols.
func TestOddRefNames(t *testing.T) {
	const id = "1111111111111111111111111111111111111111"
	odd := []string{"a b", "a\tb", "a\x1b[31m", "a\u202eb", "a\u00a0b", "a\u2028b", "a\x80", "-x", "a..b", "a~1", "x.lock"}
	var v2, v0 bytes.Buffer
	line := func(b *bytes.Buffer, text string) { fmt.Fprintf(b, "%04x%s\n", len(text)+5, text) }
	line(&v2, id+" HEAD symref-target:refs/heads/a b")
	line(&v0, id+" HEAD\x00symref=HEAD:refs/heads/a\u202eb agent=x")
	for _, name := range append(odd, "main") {
		for _, b := range []*bytes.Buffer{&v2, &v0} {
			line(b, id+" refs/heads/"+name)
			line(b, id+" refs/tags/"+name)
		}
	}
	v2.WriteString("0000")
	v0.WriteString("0000")
	check := func(what string, refs *fetch.Refs, err error) {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		var names []string
		for _, r := range refs.List {
			names = append(names, r.Name)
		}
		if !slices.Equal(names, []string{"refs/heads/main", "refs/tags/main"}) || refs.Head != "" || refs.HeadID != id {
			t.Errorf("%s: %q, HEAD is %q at %s", what, strings.Join(names, " "), refs.Head, refs.HeadID)
		}
	}
	refs, err := readLsRefs(newPktReader(&v2), sha1Format)
	check("v2", refs, err)
	p := newPktReader(&v0)
	kind, first, err := p.line()
	if err != nil {
		t.Fatal(err)
	}
	c, err := readV0Refs(p, kind, first)
	if err != nil {
		t.Fatal(err)
	}
	check("v0", c.refs, nil)
}
