package views

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
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
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
func Export(ctx context.Context, p *world.Local, opt ExportOptions) (*ExportResult, error) {
	if p.Lock == nil {
		return nil, p.NoLock()
	}
	if !slices.Contains(ExportFormats, opt.Format) {
		return nil, workspace.Usage("`%s` is no format; there are agently, clever and chock", opt.Format)
	}
	if opt.Dir == "" && opt.Format == FormatAgently {
		return nil, workspace.Usage("agently is a directory of files; say where it goes")
	}
	files, err := exportFiles(ctx, p, opt)
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
		dir = filepath.Join(p.Opt.Dir, dir)
	}
	if err := exportable(p.Project, dir); err != nil {
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

func exportFiles(ctx context.Context, p *world.Local, opt ExportOptions) ([]exportFile, error) {
	document := func(name string, data []byte, err error) ([]exportFile, error) {
		return []exportFile{{ExportFile: derive.ExportFile{Path: name, Data: data}, document: true}}, err
	}
	switch opt.Format {
	case FormatClever:
		data, err := derive.Clever(exported(p.Project))
		return document("agent_skills.yaml", data, err)
	case FormatChock:
		layers, err := chockLayers(ctx, p.Project, opt)
		if err != nil {
			return nil, err
		}
		data, err := derive.Chock(layers)
		files, err := document("chock.json", data, err)
		if err != nil || opt.Dir == "" {
			return files, err
		}
		skills, err := packagedSkills(ctx, p)
		return append(files, skills...), err
	}
	return agentlyFiles(ctx, p)
}

// exported lists the locked skills as a reader finds them.
func exported(p *workspace.Project) []derive.Installed {
	var list []derive.Installed
	for _, e := range p.Lock.Skills {
		s := derive.Installed{Key: e.Key, Name: e.Name(), Description: e.Description, Path: SkillPath(p, e), Digest: e.Digest}
		if e.Training != nil {
			s.TrainingMode = e.Training.Mode
		}
		if e.Source.Type == lockfile.TypePath {
			s.Description, _ = pathDescription(p, e) // validate tells why it cannot be read
			s.TrainingMode = trainingMode(p.PathDir(e.Source.Path), s.Name)
		}
		list = append(list, s)
	}
	return list
}

// chockLayers are the layers as Chock orders them: the person's own skills,
// those of this lock, those of the environment.
func chockLayers(ctx context.Context, p *workspace.Project, opt ExportOptions) ([]derive.LayerSkills, error) {
	found, err := Layers(ctx, p, LayersOptions{Runtime: "chock", Packaged: opt.Packaged})
	if err != nil {
		return nil, err
	}
	own := derive.LayerSkills{Layer: derive.LayerProject, Path: workspace.DefaultTarget, Skills: exported(p)}
	if targets := lockTargets(p); len(targets) > 0 {
		own.Path = targets[0]
	}
	if p.Opt.Global {
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

func packagedSkills(ctx context.Context, p *world.Local) ([]exportFile, error) {
	var files []exportFile
	for _, e := range p.Lock.Skills {
		c, err := p.ReadOnly(ctx, e)
		if err != nil {
			return nil, err
		}
		for _, f := range c.Tree.Files() {
			data, err := c.Read(f.Path)
			if err != nil {
				return nil, err
			}
			files = append(files, exportFile{ExportFile: derive.ExportFile{Path: path.Join(PackagedDir, e.Key, f.Path), Data: data}, exec: f.Exec})
		}
	}
	return files, nil
}

func agentlyFiles(ctx context.Context, p *world.Local) ([]exportFile, error) {
	var files []exportFile
	for _, e := range p.Lock.Skills {
		c, err := p.ReadOnly(ctx, e)
		if err != nil {
			return nil, err
		}
		s, err := derivableOf(e, c)
		if err != nil {
			return nil, err
		}
		four, err := derive.Agently(s, originOf(e))
		if err != nil {
			return nil, derivedError(e.Key, err)
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
func exportable(p *workspace.Project, dir string) error {
	real := realPath(dir)
	for _, t := range lockTargets(p) {
		target := realPath(layerDir(p, ownScope(p), t, true).abs)
		if rel, err := filepath.Rel(target, real); err == nil && filepath.IsLocal(rel) {
			return diag.New(diag.TargetUnsafe, "an export does not go into `%s`, which agents scan", shown(p, target)).
				WithHint("choose a directory beside it")
		}
	}
	for _, e := range p.Lock.Skills {
		if e.Source.Type != lockfile.TypePath {
			continue
		}
		if rel, err := filepath.Rel(realPath(p.PathDir(e.Source.Path)), real); err == nil && filepath.IsLocal(rel) {
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
