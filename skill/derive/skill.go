package derive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/parse"
)

// Limits on what is read; they keep every function bounded on hostile skills.
const (
	// MaxRead is the largest file whose bytes are looked at, in bytes. It is
	// also Agently's default cut for reading a resource (256 KiB).
	MaxRead = 256 << 10
	// MaxScan is how much of a SKILL.md is scanned for needs and fetches, in
	// bytes. The largest SKILL.md seen in public repositories has 300 KB.
	MaxScan = 1 << 20
	// maxReadFiles and maxReadBytes bound the files one call reads.
	maxReadFiles = 2000
	maxReadBytes = 32 << 20
)

// Skill is what the functions of this package read. The zero value of every
// field but Text and Tree is legal and means "not declared".
type Skill struct {
	// Key is the name the project installs it under; empty means Name.
	Key string
	// Version is the locked version, or empty.
	Version string

	// Name, Description, License and Compatibility are the frontmatter's values.
	Name, Description, License, Compatibility string
	// AllowedTools is the declared text, verbatim; a list is joined by ", ".
	AllowedTools string
	// Metadata are the pairs of the frontmatter's metadata map.
	Metadata map[string]string
	// Other are the names of top-level frontmatter fields outside the
	// specification, such as "mcpServers".
	Other []string

	// File is the path of the skill file in Tree; empty means SKILL.md. Some
	// published skills spell it skill.md.
	File string
	// Text is the whole file and BodyStart the offset of the first byte
	// after the closing fence; len(Text) where there is no body.
	Text      []byte
	BodyStart int

	// Tree lists the files. Its digest is what cards and citations name.
	Tree *skill.Tree
	// Read returns the bytes of a file of Tree. It must return what the tree
	// says (verified bytes); nil means that no resource is read, so that
	// summaries are empty and interpreters are guessed from names alone.
	Read func(path string) ([]byte, error)
}

// Of returns the Skill that a parsed SKILL.md declares. text is what parse.Read
// read, tree the skill's files, read as in Skill.Read. Key and Version are left
// for the caller to set.
func Of(p *parse.Skill, text []byte, tree *skill.Tree, read func(path string) ([]byte, error)) *Skill {
	s := &Skill{
		Name: p.Name, Description: p.Description, License: p.License, Compatibility: p.Compatibility,
		AllowedTools: p.AllowedTools, Metadata: make(map[string]string, len(p.Metadata)),
		File: p.File, Text: text, BodyStart: p.BodyOffset, Tree: tree, Read: read,
	}
	for _, m := range p.Metadata {
		s.Metadata[m.Key] = m.Text
	}
	for _, f := range p.Unknown {
		s.Other = append(s.Other, f.Key)
	}
	return s
}

// Body returns SKILL.md after the closing fence.
func (s *Skill) Body() []byte {
	if s.BodyStart < 0 || s.BodyStart > len(s.Text) {
		return nil
	}
	return s.Text[s.BodyStart:]
}

// file returns the path of the skill file.
func (s *Skill) file() string {
	if s.File != "" {
		return s.File
	}
	return parse.FileName
}

// key returns the name under which the skill is installed.
func (s *Skill) key() string {
	if s.Key != "" {
		return s.Key
	}
	return s.Name
}

// reader serves the bytes of a skill's files within the limits of one call.
type reader struct {
	skill *Skill
	files int
	bytes int64
}

// text returns the file's bytes if it is UTF-8 text within every limit, and a
// word that says why not otherwise. An error of Read is returned as it is.
func (r *reader) text(f skill.File) (data []byte, why string, err error) {
	switch {
	case r.skill.Read == nil:
		return nil, "not_read", nil
	case f.Size > MaxRead:
		return nil, "too_large", nil
	case r.files >= maxReadFiles || r.bytes+f.Size > maxReadBytes:
		return nil, "over_limit", nil
	}
	r.files++
	r.bytes += f.Size
	data, err = r.skill.Read(f.Path)
	if err != nil {
		return nil, "", fmt.Errorf("read %s of %s: %w", f.Path, r.skill.key(), err)
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return nil, "not_text", nil
	}
	return data, "", nil
}

// cutRunes returns at most n code points of s, and whether something was cut.
func cutRunes(s string, n int) (string, bool) {
	if len(s) <= n { // no more code points than bytes
		return s, false
	}
	count := 0
	for i := range s {
		if count == n {
			return s[:i], true
		}
		count++
	}
	return s, false
}

// oneLine returns s with every run of white space as one blank, at most n code
// points of it.
func oneLine(s string, n int) string {
	// Four bytes a code point are enough for n of them, and as much again for
	// the white space between; the rest cannot change the result much and is
	// not worth splitting.
	if limit := n * 8; len(s) > limit {
		s = s[:limit]
	}
	out, _ := cutRunes(strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " "), n)
	return out
}

// marshal returns v as JSON for people and programs: two-space indent, no HTML
// escaping, a final newline.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
