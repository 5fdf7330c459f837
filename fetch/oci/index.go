package oci

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// index.json, as this package writes it, has one descriptor a line, sorted by
// tag, so that adding one to 100,000 is a copy of the file and no decoding:
//
//	{"schemaVersion":2,"mediaType":"…","manifests":[
//	{"mediaType":"…",…,"annotations":{"org.opencontainers.image.ref.name":"bundle-…"}},
//	{…}
//	]}
//
// Files of other shapes (another tool has written to the folder) are decoded,
// and come out in this one.

const (
	indexHead = `{"schemaVersion":2,"mediaType":"` + ocispec.MediaTypeImageIndex + `",`
	indexOpen = `"manifests":[`
	indexTail = "]}\n"
	refName   = `"` + ocispec.AnnotationRefName + `":"`

	// maxIndexBytes bounds index.json: three million items.
	maxIndexBytes = 1 << 30
	// maxElementBytes bounds one descriptor in it, with what a decoder reads ahead.
	maxElementBytes = 4 << 20
	// maxIndexLine is the longest line of the fast path; ours have 350 bytes.
	maxIndexLine = 64 << 10
)

// change is what a commit does to an index.
type change struct {
	add  map[string]string     // tag → descriptor, as compact JSON
	drop func(tag string) bool // nil drops nothing
}

// indexWriter writes an index line by line. Its input must come sorted by tag.
type indexWriter struct {
	w    *bufio.Writer
	add  []string // tags still to be added, sorted
	chg  change
	rows int
}

func newIndexWriter(w io.Writer, head string, chg change) *indexWriter {
	iw := &indexWriter{w: bufio.NewWriterSize(w, maxIndexLine), chg: chg}
	for tag := range chg.add {
		iw.add = append(iw.add, tag)
	}
	slices.Sort(iw.add)
	iw.w.WriteString(head)
	iw.w.WriteString(indexOpen)
	return iw
}

// row takes the next row of the old index: it is written unless it is dropped
// or replaced, after all additions that sort before it.
func (iw *indexWriter) row(tag string, descriptor []byte) {
	for len(iw.add) > 0 && iw.add[0] < tag {
		iw.next()
	}
	if _, replaced := iw.chg.add[tag]; replaced && tag != "" {
		return
	}
	if iw.chg.drop != nil && iw.chg.drop(tag) {
		return
	}
	iw.write(descriptor)
}

func (iw *indexWriter) next() {
	iw.write([]byte(iw.chg.add[iw.add[0]]))
	iw.add = iw.add[1:]
}

func (iw *indexWriter) write(descriptor []byte) {
	if iw.rows++; iw.rows > 1 {
		iw.w.WriteByte(',')
	}
	iw.w.WriteByte('\n')
	iw.w.Write(descriptor)
}

func (iw *indexWriter) end() error {
	for len(iw.add) > 0 {
		iw.next()
	}
	iw.w.WriteByte('\n')
	iw.w.WriteString(indexTail)
	return iw.w.Flush()
}

// errForeignIndex says that an index is not in the shape this package writes.
var errForeignIndex = errors.New("index.json was written by another tool")

// mergeLines applies chg to an index in our own shape. On errForeignIndex what
// was written to w is void.
func mergeLines(w io.Writer, old io.Reader, chg change) error {
	r := bufio.NewReaderSize(old, maxIndexLine)
	first, err := r.ReadSlice('\n')
	head, ok := bytes.CutSuffix(first, []byte(indexOpen+"\n"))
	if err != nil || !ok || !bytes.HasPrefix(head, []byte(indexHead)) {
		return errForeignIndex
	}
	iw := newIndexWriter(w, string(head), chg)
	for last := ""; ; {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return errForeignIndex
		}
		if string(line) == indexTail {
			break
		}
		line = bytes.TrimSuffix(line[:len(line)-1], []byte(","))
		tag, ok := lineTag(line)
		if !ok || tag < last {
			return errForeignIndex
		}
		last = tag
		iw.row(tag, line)
	}
	if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
		return errForeignIndex
	}
	return iw.end()
}

// lineTag finds the tag in a descriptor without decoding it.
func lineTag(line []byte) (tag string, ok bool) {
	if len(line) < 2 || line[0] != '{' || line[len(line)-1] != '}' {
		return "", false
	}
	_, rest, found := bytes.Cut(line, []byte(refName))
	if !found {
		return "", true
	}
	end := bytes.IndexByte(rest, '"')
	if end < 0 || bytes.IndexByte(rest[:end], '\\') >= 0 {
		return "", false
	}
	return string(rest[:end]), true
}

// mergeAny applies chg to an index of any shape.
func mergeAny(w io.Writer, old io.Reader, chg change) error {
	type row struct {
		tag  string
		text json.RawMessage
	}
	var rows []row
	extra, err := readIndexMembers(old, func(raw json.RawMessage) error {
		var d ocispec.Descriptor
		if err := json.Unmarshal(raw, &d); err != nil {
			return malformed("index.json: %w", err)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, raw); err != nil {
			return err
		}
		rows = append(rows, row{d.Annotations[ocispec.AnnotationRefName], compact.Bytes()})
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(rows, func(a, b row) int { return strings.Compare(a.tag, b.tag) })
	iw := newIndexWriter(w, indexHead+extra, chg)
	for _, r := range rows {
		iw.row(r.tag, r.text)
	}
	return iw.end()
}

// readIndex streams the descriptors of an index to visit; memory does not grow
// with their number.
func readIndex(r io.Reader, visit func(json.RawMessage) error) error {
	_, err := readIndexMembers(r, visit)
	return err
}

// readIndexMembers is readIndex that also returns the members it does not know,
// such as annotations, as `"key":value,` in the order found.
func readIndexMembers(r io.Reader, visit func(json.RawMessage) error) (extra string, err error) {
	limited := &elementReader{r: io.LimitReader(r, maxIndexBytes)}
	dec := json.NewDecoder(limited)
	if err := expectDelim(dec, '{'); err != nil {
		return "", err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return "", indexFault(err)
		}
		if key == "manifests" {
			err = readManifests(dec, limited, visit)
		} else {
			var member string
			member, err = readMember(dec, key)
			extra += member
		}
		if err != nil {
			return "", err
		}
	}
	return extra, expectDelim(dec, '}')
}

func readManifests(dec *json.Decoder, limited *elementReader, visit func(json.RawMessage) error) error {
	if err := expectDelim(dec, '['); err != nil {
		return err
	}
	for dec.More() {
		limited.n = 0
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return indexFault(err)
		}
		if err := visit(raw); err != nil {
			return err
		}
	}
	limited.n = 0
	return expectDelim(dec, ']')
}

func readMember(dec *json.Decoder, key json.Token) (string, error) {
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return "", indexFault(err)
	}
	switch key {
	case "schemaVersion", "mediaType":
		return "", nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return "", indexFault(err)
	}
	name, err := json.Marshal(key)
	return fmt.Sprintf("%s:%s,", name, compact.Bytes()), err
}

func expectDelim(dec *json.Decoder, want json.Delim) error {
	got, err := dec.Token()
	if err != nil {
		return indexFault(err)
	}
	if got != want {
		return malformed("index.json: expected %s, found %v", want, got)
	}
	return nil
}

func indexFault(err error) error {
	if _, ok := errors.AsType[formatError](err); ok {
		return err
	}
	return malformed("index.json: %w", err)
}

// elementReader fails when one element of the index needs too many bytes: a
// decoder holds a whole element, so that is what bounds memory.
type elementReader struct {
	r io.Reader
	n int64
}

func (e *elementReader) Read(p []byte) (int, error) {
	if e.n > maxElementBytes {
		return 0, malformed("index.json: an element has more than %d bytes", maxElementBytes)
	}
	if room := maxElementBytes - e.n + 1; int64(len(p)) > room {
		p = p[:room]
	}
	n, err := e.r.Read(p)
	e.n += int64(n)
	return n, err
}
