package project

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/agents"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/internal/install"
	"github.com/skillpm/skillpm/internal/manifest"
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

const attributesFile = ".gitattributes"

// attributesLine keeps git from turning the lock into CRLF on Windows.
const attributesLine = lockfile.FileName + " text eol=lf"

// Init writes a skills.toml into opt.Dir. An existing one is never touched.
func Init(ctx context.Context, opt Options, in InitOptions) (*InitResult, error) {
	p := newProject(opt)
	p.Root = opt.Dir
	if opt.Global {
		p.Root = p.globalDir()
	}
	file := p.manifestPath()
	if data, err := readBounded(file); err == nil {
		if _, err := manifest.Parse(p.display(file), data, resolver.CheckRange); err != nil {
			return nil, err
		}
		return nil, diag.New(diag.ManifestExists, "%s is already there", p.display(file)).WithHint("`skillpm add SRC` adds to it")
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if data, err := readBounded(p.lockPath()); err == nil {
		p.lockData = data
		if _, err := lockfile.Parse(data); err != nil && diag.Code(errCode(err)) == diag.LockForeign {
			return nil, lockFindings(p.display(p.lockPath()), err)
		}
	}
	ids := in.Agents
	if ids == nil {
		ids = p.detect()
	}
	if err := checkAgents(ids); err != nil {
		return nil, err
	}
	data := manifest.Template(ids, in.Targets)
	var err error
	if p.manifest, err = manifest.Parse(p.display(file), data, resolver.CheckRange); err != nil {
		return nil, err
	}
	session, err := p.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	if err := session.Write(install.FileChange{Path: file, Data: data}); err != nil {
		return nil, err
	}
	p.config = p.manifest.Config
	r := &InitResult{Manifest: p.display(file), Agents: ids, Targets: p.targets()}
	r.Existing = p.existing(r.Targets)
	return r, p.attributes(r, in)
}

func errCode(err error) string {
	if faults, ok := errors.AsType[lockfile.Errors](err); ok {
		return faults[0].Fault.Code
	}
	return ""
}

// detect returns the ids of the agents that need a target of their own.
func (p *Project) detect() []string {
	var ids []string
	found := agents.Detect(p.Root, p.opt.Home, p.getenv, func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	})
	for _, a := range found {
		ids = append(ids, a.ID)
	}
	return ids
}

// checkAgents refuses ids that no agent has.
func checkAgents(ids []string) error {
	var list diag.List
	for _, id := range ids {
		if _, ok := agents.Get(id); ok {
			continue
		}
		e := usage("`%s` is no known agent", id).WithHint("ids are claude-code, codex, cursor and the like; --target takes any directory")
		if near := similarAgents(id); len(near) > 0 {
			e.Hint = "did you mean " + strings.Join(near, ", ") + "?"
		}
		list = append(list, e)
	}
	return list.Err()
}

// similarAgents returns the ids that may have been meant.
func similarAgents(id string) []string {
	if near := agents.Similar(id); len(near) > 0 {
		return near
	}
	var ids []string
	for _, a := range agents.All() {
		ids = append(ids, a.ID)
	}
	if near := nearest(id, ids); near != "" {
		return []string{near}
	}
	return nil
}

// existing lists the skills that lie in the targets already.
func (p *Project) existing(targets []string) []string {
	var out []string
	root := p.layout().Root
	if p.opt.Global {
		targets = homeTargets(targets)
	}
	for _, t := range targets {
		entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(t)))
		if err != nil {
			continue
		}
		for _, e := range entries {
			if _, err := skillFileIn(filepath.Join(root, filepath.FromSlash(t), e.Name())); err == nil {
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
func (p *Project) attributes(r *InitResult, in InitOptions) error {
	if p.opt.Global {
		return nil
	}
	if _, ok := gitTop(p.Root); !ok {
		return nil
	}
	file := filepath.Join(p.Root, attributesFile)
	data, err := readBounded(file)
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
	if len(data) > 0 && data[len(data)-1] != '\n' {
		data = append(data, '\n')
	}
	data = append(data, strings.Join(r.Attributes, "\n")+"\n"...)
	r.AttributesWritten = true
	return fsx.Diag((*fsx.FS)(nil).WriteAtomic(file, data, 0o644), "write `"+attributesFile+"`")
}
