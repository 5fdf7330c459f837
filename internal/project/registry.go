package project

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/parse"
)

// registryFile is a configured registry: names with their sources.
type registryFile struct {
	Format       string                   `json:"format"`
	IndexVersion int                      `json:"indexVersion"`
	Skills       map[string]registryEntry `json:"skills"`
	name         string
}

type registryEntry struct {
	Source    string   `json:"source"`
	Retracted []string `json:"retracted"`
}

// maxRegistryBytes bounds a registry: a million names have about 100 MB, and no
// public one is near that.
const maxRegistryBytes = 64 << 20

// loadRegistries reads every configured registry once, before the first solve,
// so that the order in which answers arrive cannot matter.
func (p *Project) loadRegistries(ctx context.Context) error {
	if p.registries != nil {
		return nil
	}
	p.registries = []registryFile{}
	for _, r := range p.config.Registries {
		data, err := p.readRegistry(ctx, r)
		if err != nil {
			return err
		}
		var file registryFile
		if err := json.Unmarshal(data, &file); err != nil {
			return diag.New(diag.ManifestInvalid, "registry `%s` is not readable", r.Name).At(p.manifest.File, r.Line, r.Column).WithCause(err)
		}
		if file.Format != "skillpm-index" || file.IndexVersion != 1 {
			return diag.New(diag.ManifestInvalid, "registry `%s` is no skillpm-index of version 1", r.Name).At(p.manifest.File, r.Line, r.Column)
		}
		file.name = r.Name
		p.registries = append(p.registries, file)
	}
	return nil
}

func (p *Project) readRegistry(ctx context.Context, r manifest.Named) ([]byte, error) {
	if !strings.HasPrefix(r.Address, "https://") && !strings.HasPrefix(r.Address, "http://") {
		file := filepath.FromSlash(strings.TrimPrefix(r.Address, "file://"))
		if !filepath.IsAbs(file) {
			file = filepath.Join(p.Root, file)
		}
		data, err := readBounded(file)
		if err != nil {
			return nil, diag.New(diag.ManifestInvalid, "registry `%s` cannot be read", r.Name).At(p.manifest.File, r.Line, r.Column).WithCause(err)
		}
		return data, nil
	}
	if p.opt.Offline {
		if data, ok := p.cache.Get(bucketRefs, "registry\x00"+r.Address); ok {
			return data, nil
		}
		return nil, diag.New(diag.FetchOffline, "registry `%s` was never read and there is no network", r.Name)
	}
	client, err := p.httpClient()
	if err != nil {
		return nil, err
	}
	data, err := fetchRegistry(ctx, client, r)
	if err == nil {
		p.cache.Put(bucketRefs, "registry\x00"+r.Address, data)
	}
	return data, err
}

func fetchRegistry(ctx context.Context, client *http.Client, r manifest.Named) ([]byte, error) {
	fail := func(err error) error {
		return diag.New(diag.FetchFailed, "registry `%s` at %s cannot be read", r.Name, skill.RedactURL(r.Address)).WithCause(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.Address, nil)
	if err != nil {
		return nil, fail(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fail(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, diag.New(diag.FetchFailed, "registry `%s` at %s answers %s", r.Name, skill.RedactURL(r.Address), resp.Status)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxRegistryBytes+1))
	if err != nil {
		return nil, fail(err)
	}
	if len(data) > maxRegistryBytes {
		return nil, diag.New(diag.FetchTooLarge, "registry `%s` has more than %d bytes", r.Name, maxRegistryBytes)
	}
	return data, nil
}

// fromRegistries returns the source that the configured registries give a name.
// Two registries with two sources refuse: neither may shadow the other.
func (p *Project) fromRegistries(name skill.Key) (skill.Source, *diag.Error, bool) {
	var found skill.Source
	var from string
	for _, r := range p.registries {
		entry, ok := r.Skills[string(name)]
		if !ok {
			continue
		}
		src, err := skill.ParseSource(entry.Source)
		if err != nil || src.Kind() == skill.SourcePath {
			return found, diag.New(diag.SourceNotAllowed, "registry `%s` gives `%s` a source that cannot be used: %s", r.name, name, entry.Source), false
		}
		if !found.IsZero() && found.Identity() != src.Identity() {
			e := diag.New(diag.AmbiguousSkill, "two registries name different sources for `%s`", name).
				WithDetail("%s: %s", from, found.Identity()).WithDetail("%s: %s", r.name, src.Identity()).
				WithHint("give `%s` its source in skills.toml", name)
			return found, e, false
		}
		found, from = src, r.name
	}
	return found, nil, !found.IsZero()
}

// registryRetractions returns what a registry withdraws of the skill at src,
// which name, if not empty, must name. Names are visited in order.
func (p *Project) registryRetractions(name skill.Key, src skill.Source) (parse.Retraction, bool) {
	for _, r := range p.registries {
		names := []string{string(name)}
		if name == "" {
			names = sortedKeys(r.Skills)
		}
		for _, known := range names {
			entry := r.Skills[known]
			if len(entry.Retracted) == 0 {
				continue
			}
			if have, err := skill.ParseSource(entry.Source); err != nil || have.Identity() != src.Identity() {
				continue
			}
			return parse.Retraction{Ranges: validRanges(entry.Retracted), Reason: "withdrawn by registry " + r.name}, true
		}
	}
	return parse.Retraction{}, false
}

func validRanges(list []string) []string {
	var out []string
	for _, rng := range list {
		if resolver.CheckRange(rng) == nil {
			out = append(out, rng)
		}
	}
	return out
}
