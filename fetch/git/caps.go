package git

import (
	"errors"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/skill"
)

// caps is what a server can do.
type caps struct {
	version int  // 2, or 0 for protocol v0 and v1
	filter  bool // partial fetch
	format  format
	words   map[string]string // v0: capability to value
	refs    *fetch.Refs       // v0: the advertised refs
	tips    map[oid]bool      // v0: what may be wanted without asking
}

// assumed is what nearly every public host can do. A first request is made on
// this assumption: where it holds, asking first would double the round trips.
func assumed(f format) caps { return caps{version: 2, filter: true, format: f} }

// fact is the part of caps that holds for a whole host, as one remembered word.
func (c caps) fact() string {
	switch {
	case c.version != 2:
		return "v0"
	case c.filter:
		return "v2 filter"
	}
	return "v2"
}

func capsOfFact(fact string, f format) (caps, bool) {
	switch fact {
	case "v2 filter":
		return caps{version: 2, filter: true, format: f}, true
	case "v2":
		return caps{version: 2, format: f}, true
	}
	return caps{}, false // v0 needs its advertisement anyway
}

// readAdvertisement reads a server's first words: protocol v2's capabilities,
// or v0's refs with capabilities behind the first.
func readAdvertisement(r io.Reader) (*caps, error) {
	p := newPktReader(io.LimitReader(r, maxListingBytes))
	kind, line, err := p.line()
	if err != nil {
		return nil, unexpected(err)
	}
	if kind == pktData && strings.HasPrefix(line, "# service=") {
		if kind, _, err = p.line(); err != nil || kind != pktFlush {
			return nil, errNotGit
		}
		if kind, line, err = p.line(); err != nil {
			return nil, unexpected(err)
		}
	}
	switch {
	case kind == pktData && line == "version 2":
		return readV2Caps(p)
	case kind == pktData && line == "version 1":
		if kind, line, err = p.line(); err != nil {
			return nil, unexpected(err)
		}
	}
	return readV0Refs(p, kind, line)
}

func readV2Caps(p *pktReader) (*caps, error) {
	c := &caps{version: 2, format: sha1Format}
	for n := 0; n < maxSectionLines; n++ {
		kind, line, err := p.line()
		if err != nil {
			return nil, unexpected(err)
		}
		if kind == pktFlush {
			return c, nil
		}
		key, value, _ := strings.Cut(line, "=")
		switch key {
		case "fetch":
			c.filter = slices.Contains(strings.Fields(value), "filter")
		case "object-format":
			if c.format, err = formatNamed(value); err != nil {
				return nil, err
			}
		}
	}
	return nil, errNotGit
}

func formatNamed(name string) (format, error) {
	switch name {
	case "sha1":
		return sha1Format, nil
	case "sha256":
		return sha256Format, nil
	}
	return format{}, errors.New("the repository's object format is not known")
}

// readV0Refs reads gitprotocol-pack(5)'s reference discovery, of which kind and
// line are the first packet.
func readV0Refs(p *pktReader, kind pktKind, line string) (*caps, error) {
	c := &caps{format: sha1Format, words: map[string]string{}, refs: &fetch.Refs{}, tips: map[oid]bool{}}
	for n := 0; kind != pktFlush; n++ {
		if kind != pktData || n > maxRefs {
			return nil, errNotGit
		}
		if n == 0 {
			var words string
			line, words, _ = strings.Cut(line, "\x00")
			if err := c.addWords(words); err != nil {
				return nil, err
			}
		}
		if err := c.addRef(line); err != nil {
			return nil, err
		}
		var err error
		if kind, line, err = p.line(); err != nil {
			return nil, unexpected(err)
		}
	}
	_, tip := c.words["allow-tip-sha1-in-want"]
	_, reachable := c.words["allow-reachable-sha1-in-want"]
	_, filter := c.words["filter"]
	// Files are wanted by id later, and only a server that allows any object
	// (which it says as tip and reachable) can be sure to hand them out.
	c.filter = filter && tip && reachable
	sortRefs(c.refs)
	return c, nil
}

func (c *caps) addWords(words string) error {
	for word := range strings.FieldsSeq(words) {
		key, value, _ := strings.Cut(word, "=")
		if key == "symref" {
			if target, ok := strings.CutPrefix(value, "HEAD:"); ok && legalRef(target) {
				c.refs.Head = target
			}
			continue
		}
		c.words[key] = value
	}
	var err error
	if name := c.words["object-format"]; name != "" {
		c.format, err = formatNamed(name)
	}
	return err
}

func (c *caps) addRef(line string) error {
	id, name, ok := strings.Cut(line, " ")
	if id == "shallow" {
		return nil
	}
	o, err := c.format.parse(fetch.ID(id))
	if !ok || err != nil || len(name) > maxRefName {
		return errNotGit
	}
	if name == "capabilities^{}" {
		return nil // an empty repository
	}
	c.tips[o] = true
	return addRef(c.refs, name, c.format.text(o))
}

// addRef adds one advertised name; "x^{}" is what the tag before it peels to. A
// name that git could not have made, or that reads as another, is left out: no
// requirement can name it.
func addRef(refs *fetch.Refs, name string, id fetch.ID) error {
	if name == "HEAD" {
		refs.HeadID = id
		return nil
	}
	if tag, ok := strings.CutSuffix(name, "^{}"); ok {
		if n := len(refs.List); n > 0 && refs.List[n-1].Name == tag {
			refs.List[n-1].Peeled = id
		}
		return nil
	}
	if !legalRef(name) {
		return nil
	}
	if len(refs.List) >= maxRefs {
		return tooLarge("the repository has more than %d refs", maxRefs)
	}
	refs.List = append(refs.List, fetch.Ref{Name: name, ID: id})
	return nil
}

// legalRef reports whether name, in full and as people write it, is one that
// skill.CheckRef accepts, in UTF-8 without blanks and marks that reorder text.
func legalRef(name string) bool {
	short := strings.TrimPrefix(strings.TrimPrefix(name, "refs/heads/"), "refs/tags/")
	odd := func(r rune) bool {
		return unicode.In(r, unicode.Bidi_Control, unicode.Zs, unicode.Zl, unicode.Zp)
	}
	return utf8.ValidString(name) && !strings.ContainsFunc(name, odd) && skill.CheckRef(name) == nil && skill.CheckRef(short) == nil
}

func sortRefs(refs *fetch.Refs) {
	slices.SortFunc(refs.List, func(a, b fetch.Ref) int { return strings.Compare(a.Name, b.Name) })
}
