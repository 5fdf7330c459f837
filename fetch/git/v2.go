package git

import (
	"errors"
	"io"
	"strings"

	"github.com/skillpm/skillpm/fetch"
)

// The requests and answers of gitprotocol-v2(5).

func beginCommand(name string, c caps, agent string) *pktWriter {
	w := &pktWriter{}
	w.line("command=%s", name)
	w.line("agent=%s", agent)
	if c.format.name != sha1Format.name { // sha1 is what servers without the word mean
		w.line("object-format=%s", c.format.name)
	}
	w.delim()
	return w
}

func lsRefsRequest(c caps, agent string, prefixes []string) []byte {
	w := beginCommand("ls-refs", c, agent)
	w.line("peel")
	w.line("symrefs")
	for _, p := range prefixes {
		w.line("ref-prefix %s", p)
	}
	w.flush()
	return w.Bytes()
}

// readLsRefs reads "<id> <name>[ symref-target:<name>][ peeled:<id>]" lines.
func readLsRefs(p *pktReader, f format) (*fetch.Refs, error) {
	refs := &fetch.Refs{}
	for range maxRefs + 2 { // and HEAD, and the flush
		kind, line, err := p.line()
		switch {
		case err != nil:
			return nil, err
		case kind == pktFlush:
			sortRefs(refs)
			return refs, nil
		case kind != pktData:
			return nil, errNotGit
		}
		if err := readLsRef(refs, line, f); err != nil {
			return nil, err
		}
	}
	return nil, tooLarge("the repository has more than %d refs", maxRefs)
}

func readLsRef(refs *fetch.Refs, line string, f format) error {
	fields := strings.Split(line, " ")
	if len(fields) < 2 || len(fields[1]) > maxRefName {
		return errNotGit
	}
	id, name := fetch.ID(fields[0]), fields[1]
	if id == "unborn" {
		return nil
	}
	if _, err := f.parse(id); err != nil {
		return err
	}
	var peeled fetch.ID
	for _, attribute := range fields[2:] {
		key, value, ok := strings.Cut(attribute, ":")
		if !ok { // the name before it holds a blank
			if name != "HEAD" {
				return nil
			}
			refs.Head = ""
			continue
		}
		switch key {
		case "symref-target":
			if name == "HEAD" && legalRef(value) {
				refs.Head = value
			}
		case "peeled":
			peeled = fetch.ID(value)
			if _, err := f.parse(peeled); err != nil {
				return err
			}
		}
	}
	if err := addRef(refs, name, id); err != nil || peeled == "" {
		return err
	}
	return addRef(refs, name+"^{}", peeled)
}

// fetchArgs is one fetch, in either protocol version.
type fetchArgs struct {
	wants   []oid
	depth   int // 0: no limit is asked for, as for files
	noBlobs bool
}

func fetchRequest(c caps, agent string, a fetchArgs) []byte {
	w := beginCommand("fetch", c, agent)
	w.line("no-progress")
	w.line("ofs-delta")
	for _, id := range a.wants {
		w.line("want %s", c.format.text(id))
	}
	if a.depth > 0 {
		w.line("deepen %d", a.depth)
	}
	if a.noBlobs {
		w.line("filter blob:none")
	}
	w.line("done")
	w.flush()
	return w.Bytes()
}

// openPack skips what stands before the pack in an answer to fetch and returns
// the pack's bytes.
func openPack(p *pktReader) (io.Reader, error) {
	for n := 0; n < maxSectionLines; n++ {
		kind, line, err := p.line()
		if err != nil {
			return nil, err
		}
		switch {
		case kind == pktData && line == "packfile":
			return &sideband{p: p}, nil
		case kind == pktFlush || kind == pktEnd:
			return nil, errors.New("the answer has no pack")
		}
	}
	return nil, errNotGit
}
