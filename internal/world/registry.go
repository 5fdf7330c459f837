package world

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/parse"
)

// registryFile is a configured registry: names with their sources.
type registryFile struct {
	Format       string                   `json:"format"`
	IndexVersion int                      `json:"indexVersion"`
	Skills       map[string]registryEntry `json:"skills"`
	Name         string
}

type registryEntry struct {
	Source    string   `json:"source"`
	Retracted []string `json:"retracted"`
}

// maxRegistryBytes bounds a registry: a million names have about 100 MB, and no
// public one is near that.
const maxRegistryBytes = 64 << 20

// LoadRegistries reads every configured registry once, before the first solve,
// so that the order in which answers arrive cannot matter.
func (p *World) LoadRegistries(ctx context.Context) error {
	if p.Registries != nil {
		return nil
	}
	p.Registries = []registryFile{}
	for _, r := range p.Config.Registries {
		data, err := p.readRegistry(ctx, r)
		if err != nil {
			return err
		}
		var file registryFile
		if err := json.Unmarshal(data, &file); err != nil {
			return diag.New(diag.ManifestInvalid, "registry `%s` is not readable", r.Name).At(p.Manifest.File, r.Line, r.Column).WithCause(err)
		}
		if file.Format != "skillpm-index" || file.IndexVersion != 1 {
			return diag.New(diag.ManifestInvalid, "registry `%s` is no skillpm-index of version 1", r.Name).At(p.Manifest.File, r.Line, r.Column)
		}
		file.Name = r.Name
		p.Registries = append(p.Registries, file)
	}
	return nil
}

func (p *World) readRegistry(ctx context.Context, r manifest.Named) ([]byte, error) {
	if !strings.HasPrefix(r.Address, "https://") && !strings.HasPrefix(r.Address, "http://") {
		file := filepath.FromSlash(strings.TrimPrefix(r.Address, "file://"))
		if !filepath.IsAbs(file) {
			file = filepath.Join(p.Root, file)
		}
		data, err := workspace.ReadBounded(file)
		if err != nil {
			return nil, diag.New(diag.ManifestInvalid, "registry `%s` cannot be read", r.Name).At(p.Manifest.File, r.Line, r.Column).WithCause(err)
		}
		return data, nil
	}
	if p.Opt.Offline {
		if data, ok := p.Cache.Get(bucketRefs, "registry\x00"+r.Address); ok {
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
		p.Cache.Put(bucketRefs, "registry\x00"+r.Address, data)
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

// FromRegistries returns the source that the configured registries give a name.
// Two registries with two sources refuse: neither may shadow the other.
func (p *World) FromRegistries(name skill.Key) (skill.Source, *diag.Error, bool) {
	var found skill.Source
	var from string
	for _, r := range p.Registries {
		entry, ok := r.Skills[string(name)]
		if !ok {
			continue
		}
		src, err := skill.ParseSource(entry.Source)
		if err != nil || src.Kind() == skill.SourcePath {
			return found, diag.New(diag.SourceNotAllowed, "registry `%s` gives `%s` a source that cannot be used: %s", r.Name, name, entry.Source), false
		}
		if !found.IsZero() && found.Identity() != src.Identity() {
			e := diag.New(diag.AmbiguousSkill, "two registries name different sources for `%s`", name).
				WithDetail("%s: %s", from, found.Identity()).WithDetail("%s: %s", r.Name, src.Identity()).
				WithHint("give `%s` its source in skills.toml", name)
			return found, e, false
		}
		found, from = src, r.Name
	}
	return found, nil, !found.IsZero()
}

// RegistryRetractions returns what a registry withdraws of the skill at src,
// which name, if not empty, must name. Names are visited in order.
func (p *World) RegistryRetractions(name skill.Key, src skill.Source) (parse.Retraction, bool) {
	for _, r := range p.Registries {
		names := []string{string(name)}
		if name == "" {
			names = workspace.SortedKeys(r.Skills)
		}
		for _, known := range names {
			entry := r.Skills[known]
			if len(entry.Retracted) == 0 {
				continue
			}
			if have, err := skill.ParseSource(entry.Source); err != nil || have.Identity() != src.Identity() {
				continue
			}
			return parse.Retraction{Ranges: validRanges(entry.Retracted), Reason: "withdrawn by registry " + r.Name}, true
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
