package project

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/fsx"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill/derive"
)

// The formats of Export.
const (
	FormatAgently = "agently"
	FormatClever  = "clever"
	FormatChock   = "chock"
)

// ExportFormats lists the formats.
var ExportFormats = []string{FormatAgently, FormatClever, FormatChock}

// ExportOptions tune Export.
type ExportOptions struct {
	Format string
	// Dir is written to, relative to where the user is; "" returns the document
	// alone, which agently does not have.
	Dir string
	// Packaged are further directories for the chock document; see LayersOptions.
	Packaged []string
}

// ExportResult says what was written, or holds the document.
type ExportResult struct {
	Format string `json:"format"`
	Dir    string `json:"dir"`
	// Files are slash paths below Dir, sorted.
	Files []string `json:"files"`
	// Document is the foreign document where no directory was given.
	Document []byte `json:"-"`
}

// PackagedDir is where a package of an environment keeps skills: one fixed name.
const PackagedDir = "share/agent-skills"

// Export writes what another system keeps about skills: Agently's four files for
// each skill, CleverAgents' list of directories, or Chock's layers together with
// copies of the locked skills as a packaged layer. Everything is derived from
// verified bytes; no file is ever written into an installed skill or a target.
func (p *Project) Export(ctx context.Context, opt ExportOptions) (*ExportResult, error) {
	if p.lock == nil {
		return nil, p.noLock()
	}
	if !slices.Contains(ExportFormats, opt.Format) {
		return nil, usage("`%s` is no format; there are agently, clever and chock", opt.Format)
	}
	if opt.Dir == "" && opt.Format == FormatAgently {
		return nil, usage("agently is a directory of files; say where it goes")
	}
	files, err := p.exportFiles(ctx, opt)
	if err != nil {
		return nil, err
	}
	r := &ExportResult{Format: opt.Format, Files: []string{}}
	if opt.Dir == "" {
		r.Document = files[0].Data
		return r, nil
	}
	dir := opt.Dir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(p.opt.Dir, dir)
	}
	if err := p.exportable(dir); err != nil {
		return nil, err
	}
	r.Dir = filepath.ToSlash(opt.Dir)
	for _, f := range files {
		r.Files = append(r.Files, f.Path)
	}
	slices.Sort(r.Files)
	return r, writeExport(dir, files)
}

// exportFile is one file to write. Skills are written whole and must not meet
// other content; documents replace an older one.
type exportFile struct {
	derive.ExportFile
	exec     bool
	document bool
}

func (p *Project) exportFiles(ctx context.Context, opt ExportOptions) ([]exportFile, error) {
	document := func(name string, data []byte, err error) ([]exportFile, error) {
		return []exportFile{{ExportFile: derive.ExportFile{Path: name, Data: data}, document: true}}, err
	}
	switch opt.Format {
	case FormatClever:
		data, err := derive.Clever(p.exported())
		return document("agent_skills.yaml", data, err)
	case FormatChock:
		layers, err := p.chockLayers(ctx, opt)
		if err != nil {
			return nil, err
		}
		data, err := derive.Chock(layers)
		files, err := document("chock.json", data, err)
		if err != nil || opt.Dir == "" {
			return files, err
		}
		skills, err := p.packagedSkills(ctx)
		return append(files, skills...), err
	}
	return p.agentlyFiles(ctx)
}

// exported lists the locked skills as a reader finds them.
func (p *Project) exported() []derive.Installed {
	var list []derive.Installed
	for _, e := range p.lock.Skills {
		s := derive.Installed{Key: e.Key, Name: e.Name(), Description: e.Description, Path: p.skillPath(e), Digest: e.Digest}
		if e.Training != nil {
			s.TrainingMode = e.Training.Mode
		}
		if e.Source.Type == lockfile.TypePath {
			s.Description, _ = p.pathDescription(e) // validate tells why it cannot be read
			s.TrainingMode = trainingMode(p.pathDir(e.Source.Path), s.Name)
		}
		list = append(list, s)
	}
	return list
}

// chockLayers are the layers as Chock orders them: the person's own skills,
// those of this lock, those of the environment.
func (p *Project) chockLayers(ctx context.Context, opt ExportOptions) ([]derive.LayerSkills, error) {
	found, err := p.Layers(ctx, LayersOptions{Runtime: "chock", Packaged: opt.Packaged})
	if err != nil {
		return nil, err
	}
	own := derive.LayerSkills{Layer: derive.LayerProject, Path: defaultTarget, Skills: p.exported()}
	if targets := p.lockTargets(); len(targets) > 0 {
		own.Path = targets[0]
	}
	if p.opt.Global {
		own.Layer = derive.LayerOperator
	}
	var layers, after []derive.LayerSkills
	for _, d := range found.Layers {
		l := derive.LayerSkills{Layer: derive.Layer(d.Layer), Path: d.Path}
		for _, s := range d.Skills {
			if s.State != StateRefused {
				mode := ""
				if !s.prompt {
					mode = trainable
				}
				l.Skills = append(l.Skills, derive.Installed{Key: s.dir, Name: s.Name, Description: s.Description, Path: s.Path, Digest: s.Digest, TrainingMode: mode})
			}
		}
		switch l.Layer {
		case own.Layer: // told by the lock
		case derive.LayerOperator:
			layers = append(layers, l)
		default:
			after = append(after, l)
		}
	}
	return append(append(layers, own), after...), nil
}

func (p *Project) packagedSkills(ctx context.Context) ([]exportFile, error) {
	var files []exportFile
	for _, e := range p.lock.Skills {
		c, err := p.readOnly(ctx, e)
		if err != nil {
			return nil, err
		}
		for _, f := range c.tree.Files() {
			data, err := c.read(f.Path)
			if err != nil {
				return nil, err
			}
			files = append(files, exportFile{ExportFile: derive.ExportFile{Path: path.Join(PackagedDir, e.Key, f.Path), Data: data}, exec: f.Exec})
		}
	}
	return files, nil
}

func (p *Project) agentlyFiles(ctx context.Context) ([]exportFile, error) {
	var files []exportFile
	for _, e := range p.lock.Skills {
		c, err := p.readOnly(ctx, e)
		if err != nil {
			return nil, err
		}
		s, err := p.derivableOf(e, c)
		if err != nil {
			return nil, err
		}
		four, err := derive.Agently(s, originOf(e))
		if err != nil {
			return nil, p.derivedError(e.Key, err)
		}
		for _, f := range four {
			f.Path = e.Key + "/" + f.Path // the files hold the skill_id
			files = append(files, exportFile{ExportFile: f, document: true})
		}
	}
	return files, nil
}

func originOf(e *lockfile.Entry) derive.Origin {
	o := derive.Origin{Type: e.Source.Type, URL: e.Source.URL, Ref: e.Source.Tag, Commit: e.Source.Commit, Subpath: e.Source.Path}
	if o.Ref == "" {
		o.Ref = e.Source.Ref
	}
	return o
}

// exportable refuses directories that agents scan, where only skills belong, and
// path skills, whose content it would change.
func (p *Project) exportable(dir string) error {
	real := realPath(dir)
	for _, t := range p.lockTargets() {
		target := realPath(p.layerDir(p.ownScope(), t, true).abs)
		if rel, err := filepath.Rel(target, real); err == nil && filepath.IsLocal(rel) {
			return diag.New(diag.TargetUnsafe, "an export does not go into `%s`, which agents scan", p.shown(target)).
				WithHint("choose a directory beside it")
		}
	}
	for _, e := range p.lock.Skills {
		if e.Source.Type != lockfile.TypePath {
			continue
		}
		if rel, err := filepath.Rel(realPath(p.pathDir(e.Source.Path)), real); err == nil && filepath.IsLocal(rel) {
			return diag.New(diag.TargetUnsafe, "an export does not go into the path skill `%s`", e.Key).
				WithHint("choose a directory beside it")
		}
	}
	return nil
}

// realPath follows links in the part of a path that exists.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(realPath(parent), filepath.Base(path))
}

// writeExport writes the files below dir. Nothing is written where one would
// replace a skill's file of other content.
func writeExport(dir string, files []exportFile) error {
	var disk *fsx.FS // the real one
	root, err := disk.MakeRoot(dir, 0o755)
	if err != nil {
		return fsx.Diag(err, "make `"+dir+"`")
	}
	defer root.Close()
	var conflicts diag.List
	for _, f := range files {
		if f.document {
			continue
		}
		old, err := root.ReadFile(f.Path, int64(len(f.Data))+1)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fsx.ErrTooLarge) {
			return fsx.Diag(err, "read `"+f.Path+"`")
		}
		if errors.Is(err, fsx.ErrTooLarge) || err == nil && !slices.Equal(old, f.Data) {
			conflicts = append(conflicts, diag.New(diag.InstallConflict, "`%s` is there with other content", f.Path).
				WithHint("export into an empty directory"))
		}
	}
	if err := conflicts.Err(); err != nil {
		return err
	}
	for _, f := range files {
		perm := os.FileMode(0o644)
		if f.exec {
			perm = 0o755
		}
		if err := root.MkdirAll(path.Dir(f.Path), 0o755); err != nil {
			return fsx.Diag(err, "make `"+path.Dir(f.Path)+"`")
		}
		if err := root.WriteAtomic(f.Path, f.Data, perm); err != nil {
			return fsx.Diag(err, "write `"+f.Path+"`")
		}
	}
	return nil
}
