package views

import (
	"context"
	"path/filepath"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/sbom"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/lockfile"
)

// SBOM returns the bill of materials of the lock. The only format is cyclonedx.
// It uses no network: the license of a skill that is not at hand is left out.
func SBOM(ctx context.Context, p *world.Local, format string) ([]byte, error) {
	if format != "cyclonedx" {
		return nil, workspace.Usage("`%s` is no format of a bill of materials", format).WithHint("the one there is: cyclonedx")
	}
	if p.Lock == nil {
		return nil, diag.New(diag.LockOutdated, "there is no %s to make a bill of materials of", lockfile.FileName).WithHint("`skillpm lock` writes one")
	}
	licenses := map[string]string{}
	for _, e := range p.Lock.Skills {
		c, err := p.Content(ctx, p.Lock, e)
		if err != nil {
			continue
		}
		if s, _, err := c.Parsed(workspace.MustSource(e)); err == nil {
			licenses[e.Key] = s.License
		}
	}
	return sbom.CycloneDX(p.Lock, sbom.Options{
		Name: filepath.Base(p.Root), License: func(key string) string { return licenses[key] },
	})
}
