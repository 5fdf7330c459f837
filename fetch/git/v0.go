package git

import (
	"errors"
	"io"
	"strings"
)

// The requests and answers of gitprotocol-pack(5), for servers without v2.

// v0Request asks for a.wants in one round: nothing is offered in exchange, so
// that there is nothing to negotiate.
func v0Request(c caps, agent string, a fetchArgs) []byte {
	words := []string{"ofs-delta", "agent=" + agent}
	for _, word := range []string{"side-band-64k", "no-progress", "shallow"} {
		if _, ok := c.words[word]; ok {
			words = append(words, word)
		}
	}
	// Azure DevOps refuses clients without one of these, although neither
	// matters when no commit is offered.
	for _, word := range []string{"multi_ack_detailed", "multi_ack"} {
		if _, ok := c.words[word]; ok {
			words = append(words, word)
			break
		}
	}
	if a.noBlobs {
		words = append(words, "filter")
	}
	if c.format.name != sha1Format.name {
		words = append(words, "object-format="+c.format.name)
	}
	w := &pktWriter{}
	for i, id := range a.wants {
		if i == 0 {
			w.line("want %s %s", c.format.text(id), strings.Join(words, " "))
			continue
		}
		w.line("want %s", c.format.text(id))
	}
	if a.depth > 0 {
		w.line("deepen %d", a.depth)
	}
	if a.noBlobs {
		w.line("filter blob:none")
	}
	w.flush()
	w.line("done")
	return w.Bytes()
}

// openV0Pack skips shallow lines and the NAK and returns the pack's bytes.
func openV0Pack(p *pktReader, c caps) (io.Reader, error) {
	for n := 0; n < maxSectionLines; n++ {
		kind, line, err := p.line()
		switch {
		case err != nil:
			return nil, err
		case kind == pktFlush: // ends the shallow lines
			continue
		case kind != pktData:
			return nil, errNotGit
		}
		word, _, _ := strings.Cut(line, " ")
		switch word {
		case "shallow", "unshallow":
		case "NAK", "ACK":
			if _, ok := c.words["side-band-64k"]; ok {
				return &sideband{p: p}, nil
			}
			return p.r, nil
		default:
			return nil, errNotGit
		}
	}
	return nil, errNotGit
}

// errUnreachable says that a v0 server hands out tips only, and a wanted commit
// is none.
var errUnreachable = errors.New("the server hands out the tips of branches and tags only")

// wantable reports whether a v0 server lets id be wanted.
func (c caps) wantable(id oid) bool {
	_, reachable := c.words["allow-reachable-sha1-in-want"]
	return reachable || c.tips[id]
}
