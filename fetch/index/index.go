// Package index reads agent-skills discovery indexes: the file
// /.well-known/agent-skills/index.json of a site, in version 0.2.0 of the
// discovery schema (agentskills.io proposal 254), whose entries are single
// SKILL.md files or archives (tar.gz, zip) with SKILL.md at their root.
//
//	c := index.Client{HTTP: client}
//	list, err := c.List(ctx, site)
//	content, err := c.Load(ctx, list.Skills[0], opt, sink)
//
// An artefact's digest is that of its bytes and is checked before anything is
// read; the tree's digest is another number, and callers keep both. Nothing is
// unpacked to disk: what an archive holds is judged by the rules of fetch.Load.
package index

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// WellKnown is where an index lies below a site.
const WellKnown = "/.well-known/agent-skills/index.json"

const (
	schemaPrefix  = "https://schemas.agentskills.io/discovery/"
	currentSchema = schemaPrefix + "0.2.0/schema.json"

	maxIndex    = 16 << 20  // about 50,000 entries
	maxEntries  = 100_000   // of one index
	maxArtefact = 512 << 20 // as much as a whole skill may hold, unpacked
)

// Types of entries.
const (
	TypeSkillFile = "skill-md"
	TypeArchive   = "archive"
)

// Entry is one skill of an index.
type Entry struct {
	Name        string
	Type        string // TypeSkillFile or TypeArchive
	Description string
	URL         string       // absolute URL of the artefact
	Digest      skill.Digest // of the artefact's bytes
}

// Index is a site's list.
type Index struct {
	Skills []Entry // in file order
	// Skipped are entries of unknown type or with faults, as notes.
	Skipped diag.List
}

// Find returns the entry of that name.
func (x *Index) Find(name string) (Entry, bool) {
	for _, e := range x.Skills {
		if e.Name == name {
			return e, true
		}
	}
	return Entry{}, false
}

// Client reads indexes. HTTP must bound time, guard connections and not follow
// redirects by itself: git.Source.HTTPClient returns one that does.
type Client struct {
	HTTP *http.Client
}

// List reads the index of site (kind skill.SourceIndex). A site without one is
// repository_not_found_or_private; an index of an unknown schema is refused.
func (c *Client) List(ctx context.Context, site skill.Source) (*Index, error) {
	if site.Kind() != skill.SourceIndex {
		return nil, diag.New(diag.Internal, "%s is no discovery index", site)
	}
	base, err := url.Parse(site.URL() + WellKnown)
	if err != nil {
		return nil, diag.New(diag.RequirementSyntax, "%s is no URL", site)
	}
	body, err := c.get(ctx, base, maxIndex)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Schema *string           `json:"$schema"`
		Skills []json.RawMessage `json:"skills"`
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		return nil, diag.New(diag.FetchFailed, "%s: the discovery index is no valid JSON", site).WithCause(err).
			WithHint("tell the site's owner; %s must be an index of version 0.2.0", base)
	}
	if doc.Schema == nil || *doc.Schema != currentSchema {
		return nil, unknownSchema(site, doc.Schema)
	}
	if len(doc.Skills) > maxEntries {
		return nil, diag.New(diag.FetchTooLarge, "%s: the discovery index has %d entries; the limit is %d", site, len(doc.Skills), maxEntries)
	}
	x := &Index{}
	seen := map[string]bool{}
	for i, raw := range doc.Skills {
		e, why := readEntry(raw, base)
		if why == "" && seen[e.Name] {
			why = "a second entry of that name"
		}
		if why != "" {
			x.Skipped = append(x.Skipped, diag.Note(diag.IndexEntrySkipped, "%s: entry %d `%s` is skipped: %s", site, i+1, diag.Escape(e.Name), why))
			continue
		}
		seen[e.Name] = true
		x.Skills = append(x.Skills, e)
	}
	return x, nil
}

// unknownSchema: an absent schema is version 0.1.0, whose entries have no
// digest and so cannot be verified.
func unknownSchema(site skill.Source, schema *string) error {
	found := "none, which is version 0.1.0 and has no digests"
	if schema != nil {
		found = "`" + diag.Escape(*schema) + "`"
	}
	return diag.New(diag.FetchFailed, "%s: expected a discovery index of schema 0.2.0, found %s", site, found).
		WithHint("ask the site's owner for %s, or name the skill's git repository instead", currentSchema)
}

func readEntry(raw json.RawMessage, base *url.URL) (e Entry, why string) {
	var in struct{ Name, Type, Description, URL, Digest string }
	if err := json.Unmarshal(raw, &in); err != nil {
		return e, "it is no object of strings"
	}
	e = Entry{Name: in.Name, Type: in.Type, Description: in.Description}
	if _, err := skill.ParseName(in.Name); err != nil {
		return e, err.Error()
	}
	if in.Type != TypeSkillFile && in.Type != TypeArchive {
		return e, fmt.Sprintf("type `%s` is not known", diag.Escape(in.Type))
	}
	var err error
	if e.Digest, err = skill.ParseDigest(in.Digest); err != nil {
		return e, err.Error()
	}
	u, err := base.Parse(in.URL)
	if in.URL == "" || err != nil || u.Host == "" || u.User != nil {
		return e, "its url is none"
	}
	if u.Scheme != "https" && u.Scheme != base.Scheme {
		return e, fmt.Sprintf("its url is of scheme `%s`", diag.Escape(u.Scheme))
	}
	u.Fragment = ""
	e.URL = u.String()
	return e, ""
}

// Load fetches e's artefact, checks its digest (digest_mismatch) and reads the
// skill in it by the rules of fetch.Load. Content.GitTree and Time are zero.
func (c *Client) Load(ctx context.Context, e Entry, opt fetch.LoadOptions, sink fetch.Sink) (*fetch.Content, error) {
	u, err := url.Parse(e.URL)
	if err != nil {
		return nil, diag.New(diag.FetchFailed, "`%s` is no URL", diag.Escape(e.URL))
	}
	body, err := c.get(ctx, u, maxArtefact)
	if err != nil {
		return nil, err
	}
	if got := skill.DigestOf(body); got != e.Digest {
		return nil, diag.New(diag.DigestMismatch, "%s is not what the index says", e.URL).
			WithDetail("expected %s", e.Digest).WithDetail("found    %s", got).
			WithHint("the artefact was changed after the index was made, or on the way; tell the site's owner")
	}
	if opt.Repository == "" {
		opt.Repository = e.URL
	}
	if opt.Limits == (skill.Limits{}) {
		opt.Limits = skill.DefaultLimits
	}
	tree, err := readArtefact(e, body, opt)
	if err != nil {
		return nil, err
	}
	content, err := fetch.Load(ctx, tree, onlyCommit, "", opt, sink)
	if err != nil {
		return nil, err
	}
	content.GitTree = ""
	return content, nil
}

func readArtefact(e Entry, body []byte, opt fetch.LoadOptions) (*archive, error) {
	a := newArchive(opt)
	var err error
	switch {
	case e.Type == TypeSkillFile:
		err = a.add("SKILL.md", modeFile, body)
	case bytes.HasPrefix(body, []byte("\x1f\x8b")):
		err = a.readTarGz(body)
	case bytes.HasPrefix(body, []byte("PK\x03\x04")):
		err = a.readZip(body)
	default:
		err = diag.New(diag.FetchFailed, "%s is neither a tar.gz nor a zip archive", e.URL)
	}
	if err != nil {
		return nil, err
	}
	return a, a.finish()
}
