package project

import (
	"context"
	"path/filepath"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/sbom"
	"github.com/skillpm/skillpm/lockfile"
)

// SBOM returns the bill of materials of the lock. The only format is cyclonedx.
// It uses no network: the license of a skill that is not at hand is left out.
func (p *Project) SBOM(ctx context.Context, format string) ([]byte, error) {
	if format != "cyclonedx" {
		return nil, usage("`%s` is no format of a bill of materials", format).WithHint("the one there is: cyclonedx")
	}
	if p.lock == nil {
		return nil, diag.New(diag.LockOutdated, "there is no %s to make a bill of materials of", lockfile.FileName).WithHint("`skillpm lock` writes one")
	}
	licenses := map[string]string{}
	for _, e := range p.lock.Skills {
		c, err := p.content(ctx, p.lock, e)
		if err != nil {
			continue
		}
		if s, _, err := c.parsed(mustSource(e)); err == nil {
			licenses[e.Key] = s.License
		}
	}
	return sbom.CycloneDX(p.lock, sbom.Options{
		Name: filepath.Base(p.Root), License: func(key string) string { return licenses[key] },
	})
}
