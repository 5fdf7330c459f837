package adopt

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/agents"
	"github.com/skillpm/skillpm/internal/apply"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/internal/install"
	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/resolver"
)

// InitOptions tunes Init.
type InitOptions struct {
	// Agents are ids to write instead of those detected; nil detects. Targets are
	// further directories.
	Agents, Targets []string
	// GitAttributes writes the lines that keep line ends; else Ask is asked, nil
	// meaning no.
	GitAttributes bool
	Ask           func(question string) bool
}

// InitResult says what Init wrote and found.
type InitResult struct {
	Manifest string   `json:"manifest"`
	Agents   []string `json:"agents"`
	Targets  []string `json:"targets"`
	// Existing are skills that already lie in the targets; none is managed yet.
	Existing []string `json:"existing,omitempty"`
	// Attributes are the lines that .gitattributes lacks, AttributesWritten whether
	// they were written now.
	Attributes        []string `json:"attributes,omitempty"`
	AttributesWritten bool     `json:"attributesWritten,omitempty"`
}

// AttributesFile is where git keeps attributes of paths.
const AttributesFile = ".gitattributes"

// attributesLine keeps git from turning the lock into CRLF on Windows.
const attributesLine = lockfile.FileName + " text eol=lf"

// Init writes a skills.toml into opt.Dir. An existing one is never touched.
func Init(ctx context.Context, opt workspace.Options, in InitOptions) (*InitResult, error) {
	p := workspace.New(opt)
	p.Root = opt.Dir
	if opt.Global {
		p.Root = p.GlobalDir()
	}
	file := p.ManifestPath()
	if data, err := workspace.ReadBounded(file); err == nil {
		if _, err := manifest.Parse(p.Display(file), data, resolver.CheckRange); err != nil {
			return nil, err
		}
		return nil, diag.New(diag.ManifestExists, "%s is already there", p.Display(file)).WithHint("`skillpm add SRC` adds to it")
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if data, err := workspace.ReadBounded(p.LockPath()); err == nil {
		p.LockData = data
		if _, err := lockfile.Parse(data); err != nil && diag.Code(errCode(err)) == diag.LockForeign {
			return nil, workspace.LockFindings(p.Display(p.LockPath()), err)
		}
	}
	ids := in.Agents
	if ids == nil {
		ids = detect(p)
	}
	if err := workspace.CheckAgents(ids); err != nil {
		return nil, err
	}
	data := manifest.Template(ids, in.Targets)
	var err error
	if p.Manifest, err = manifest.Parse(p.Display(file), data, resolver.CheckRange); err != nil {
		return nil, err
	}
	session, err := apply.Begin(ctx, &world.Local{Project: p})
	if err != nil {
		return nil, err
	}
	defer session.Close()
	if err := session.Write(install.FileChange{Path: file, Data: data}); err != nil {
		return nil, err
	}
	p.Config = p.Manifest.Config
	r := &InitResult{Manifest: p.Display(file), Agents: ids, Targets: p.Targets()}
	r.Existing = existing(p, r.Targets)
	return r, attributes(p, r, in)
}

func errCode(err error) string {
	if faults, ok := errors.AsType[lockfile.Errors](err); ok {
		return faults[0].Fault.Code
	}
	return ""
}

// detect returns the ids of the agents that need a target of their own.
func detect(p *workspace.Project) []string {
	var ids []string
	found := agents.Detect(p.Root, p.Opt.Home, p.Getenv, func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	})
	for _, a := range found {
		ids = append(ids, a.ID)
	}
	return ids
}

// existing lists the skills that lie in the targets already.
func existing(p *workspace.Project, targets []string) []string {
	var out []string
	root := p.Layout().Root
	if p.Opt.Global {
		targets = workspace.HomeTargets(targets)
	}
	for _, t := range targets {
		entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(t)))
		if err != nil {
			continue
		}
		for _, e := range entries {
			if _, err := world.SkillFileIn(filepath.Join(root, filepath.FromSlash(t), e.Name())); err == nil {
				out = append(out, t+"/"+e.Name())
			}
		}
	}
	slices.Sort(out)
	return out
}

// attributes offers the lines of .gitattributes that keep bytes as they are on
// every platform, and writes them if asked to: the lock's line ends, and those of
// skills that a team commits. Lines that are there already are left out.
func attributes(p *workspace.Project, r *InitResult, in InitOptions) error {
	if p.Opt.Global {
		return nil
	}
	if _, ok := workspace.GitTop(p.Root); !ok {
		return nil
	}
	file := filepath.Join(p.Root, AttributesFile)
	data, err := workspace.ReadBounded(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	have := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		pattern, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		have[pattern] = true
	}
	lines := []string{attributesLine}
	for _, t := range r.Targets {
		lines = append(lines, t+"/** -text")
	}
	for _, line := range lines {
		if pattern, _, _ := strings.Cut(line, " "); !have[pattern] {
			r.Attributes = append(r.Attributes, line)
		}
	}
	if len(r.Attributes) == 0 || !in.GitAttributes && (in.Ask == nil || !in.Ask("Keep line ends as they are by lines in .gitattributes?")) {
		return nil
	}
	r.AttributesWritten = true
	return AddAttributes(file, data, r.Attributes...)
}

// AddAttributes writes file, which holds data, with more lines. The caller holds
// the project's lock, so that no other run's line is lost.
func AddAttributes(file string, data []byte, lines ...string) error {
	if len(data) > 0 && data[len(data)-1] != '\n' {
		data = append(data, '\n')
	}
	data = append(data, strings.Join(lines, "\n")+"\n"...)
	return fsx.Diag((*fsx.FS)(nil).WriteAtomic(file, data, 0o644), "write `"+AttributesFile+"`")
}
