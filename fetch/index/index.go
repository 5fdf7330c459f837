// Package index reads agent-skills discovery indexes: the file
// /.well-known/agent-skills/index.json of a site, version 0.2.0 of the
// discovery schema, whose entries are single SKILL.md files or archives.
package index

import (
	"context"
	"errors"
	"net/http"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// Entry is one skill of an index.
type Entry struct {
	Name        string
	Type        string // "skill-md" or "archive"
	Description string
	URL         string       // absolute URL of the artefact
	Digest      skill.Digest // of the artefact's bytes
}

// Index is a site's list.
type Index struct {
	Skills []Entry // in file order
	// Skipped are entries of unknown type or with faults, as notes.
	Skipped []*diag.Error
}

// Client reads indexes. HTTP must bound and guard connections; git.HTTPClient
// returns one that does.
type Client struct {
	HTTP *http.Client
}

// List reads the index of site (kind skill.SourceIndex).
func (c *Client) List(ctx context.Context, site skill.Source) (*Index, error) {
	return nil, errors.New("not yet")
}

// Load fetches e's artefact, checks its digest and reads the skill in it with
// the rules of fetch.Load. Content.GitTree and Time are zero.
func (c *Client) Load(ctx context.Context, e Entry, opt fetch.LoadOptions, sink fetch.Sink) (*fetch.Content, error) {
	return nil, errors.New("not yet")
}
