package git

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/skillpm/skillpm/internal/diag"
)

// The pkt-line format of gitprotocol-common(5): four hex digits of length, then
// the payload. Lengths 0 to 2 are markers.
type pktKind int

const (
	pktData pktKind = iota
	pktFlush
	pktDelim
	pktEnd
)

const maxPkt = 65520 // LARGE_PACKET_MAX

// errNotGit says that what came is no pkt-line stream at all.
var errNotGit = errors.New("the answer is not git's protocol")

// remoteError is what a server said in an ERR packet or on sideband 3.
type remoteError struct{ message string }

func (e *remoteError) Error() string { return "the server says: " + e.message }

type pktReader struct {
	r   *bufio.Reader
	buf []byte
}

func newPktReader(r io.Reader) *pktReader {
	return &pktReader{r: bufio.NewReaderSize(r, 32<<10), buf: make([]byte, maxPkt)}
}

// next returns the next packet; the payload is valid until the call after. It
// returns io.EOF only between packets, and *remoteError for an ERR packet.
func (p *pktReader) next() (pktKind, []byte, error) {
	head := p.buf[:4]
	if _, err := io.ReadFull(p.r, head); err != nil {
		return 0, nil, err
	}
	n, err := strconv.ParseUint(string(head), 16, 16)
	if err != nil {
		return 0, nil, errNotGit
	}
	switch n {
	case 0:
		return pktFlush, nil, nil
	case 1:
		return pktDelim, nil, nil
	case 2:
		return pktEnd, nil, nil
	case 3:
		return 0, nil, errNotGit
	}
	if n > maxPkt {
		return 0, nil, errNotGit
	}
	payload := p.buf[:n-4]
	if _, err := io.ReadFull(p.r, payload); err != nil {
		return 0, nil, unexpected(err)
	}
	if message, ok := bytes.CutPrefix(payload, []byte("ERR ")); ok {
		return 0, nil, &remoteError{cleanMessage(message)}
	}
	return pktData, payload, nil
}

// line is next for text: it cuts the final newline.
func (p *pktReader) line() (pktKind, string, error) {
	kind, b, err := p.next()
	return kind, string(bytes.TrimSuffix(b, []byte("\n"))), err
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func cleanMessage(b []byte) string {
	if len(b) > maxMessage {
		b = b[:maxMessage]
	}
	return diag.Escape(string(bytes.Trim(b, " \t\r\n\x00")))
}

// pktWriter builds a request.
type pktWriter struct{ bytes.Buffer }

func (w *pktWriter) line(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	fmt.Fprintf(&w.Buffer, "%04x%s\n", len(s)+5, s)
}

func (w *pktWriter) flush() { w.WriteString("0000") }
func (w *pktWriter) delim() { w.WriteString("0001") }

// sideband reads the payload of channel 1 out of a pkt-line stream; channel 2
// (progress) is dropped, channel 3 is an error. It ends at a flush.
type sideband struct {
	p    *pktReader
	rest []byte
	done bool
	idle int // packets since the last of channel 1
}

func (s *sideband) Read(b []byte) (int, error) {
	for len(s.rest) == 0 {
		if s.done {
			return 0, io.EOF
		}
		kind, payload, err := s.p.next()
		if err != nil {
			return 0, unexpected(err)
		}
		if kind != pktData {
			s.done = true
			continue
		}
		if len(payload) == 0 {
			return 0, errNotGit
		}
		switch payload[0] {
		case 1:
			s.rest, s.idle = payload[1:], 0
		case 2:
			if s.idle++; s.idle > maxIdlePackets {
				return 0, errSlow
			}
		case 3:
			return 0, &remoteError{cleanMessage(payload[1:])}
		default:
			return 0, errNotGit
		}
	}
	n := copy(b, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}
