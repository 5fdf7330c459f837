// Package project is skillpm's use cases: add, install, lock, update, verify and
// the rest, each one function over a Project. It is the only package that knows
// all others; package cmd alone imports it. It neither prints nor exits: results
// are values, warnings and notes go to Options.Report, refusals are findings of
// package diag.
//
//	p, err := project.Open(project.Options{Dir: wd, …})
//	if err != nil { … }
//	defer p.Close()
//	result, err := p.Install(ctx, project.InstallOptions{})
//
// A Project is one run's view of one project and is not safe for concurrent use;
// what it does inside it does in parallel where that pays.
package project

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skillpm/skillpm/cache"
	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/install"
	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/internal/regular"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/signing"
	"github.com/skillpm/skillpm/skill"
)

// Options say where a run works and how it speaks. The zero value of a field
// means its default.
type Options struct {
	// Dir is the absolute directory the search for skills.toml starts from.
	Dir string
	// RootPaths names files relative to the project, not to Dir, for reports that
	// other programs read.
	RootPaths bool
	// Global works on the user's own skills instead of a project's.
	Global bool
	// Home, ConfigDir, CacheDir and SystemDir are absolute; ConfigDir and
	// CacheDir are skillpm's own directories, SystemDir holds trust.toml.
	Home, ConfigDir, CacheDir, SystemDir string
	// Environ is the environment, as os.Environ gives it.
	Environ []string
	// Offline forbids every connection.
	Offline bool
	// Mirrors are read before those of the configuration.
	Mirrors []string
	// Jobs is how many repositories are worked on at once; 0 means DefaultJobs.
	Jobs int
	// MinAge replaces the configured min_age when not nil.
	MinAge *time.Duration
	// Report receives warnings and notes, one call at a time.
	Report func(*diag.Error)
	// Ask puts a yes/no question; nil means that nobody is there.
	Ask func(question string) bool
	// Announce says what a run waits for.
	Announce func(message string)
	// Progress is told about transfers.
	Progress fetch.Progress
	// Fetched is told of every finished call to a repository, for --verbose.
	Fetched func(fetch.Event)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// DefaultJobs is how many repositories a run works on at once: enough to hide
// latency, few enough for hosts that count connections.
const DefaultJobs = 8

// stateDir is the project-private directory.
const stateDir = ".skillpm"

// Project is one run's view of a project, or of the user's own skills.
type Project struct {
	opt Options
	// Root is the directory of skills.toml and skills.lock.
	Root string

	// began is when the run began, by its clock.
	began time.Time
	files
	// permit is what may be contacted beyond what the files name.
	permit permit
	*shared
}

// files are what the project's and the machine's files say. It is a value: an
// edit makes another one.
type files struct {
	manifest     *manifest.Manifest // as this run edits it
	written      *manifest.Manifest // as it is on disk
	manifestData []byte
	// lockAlone: skills.toml was not read, whether it is there or not.
	lockAlone bool
	lock      *lockfile.Lock
	lockData  []byte
	user      manifest.Config
	config    manifest.Config
	policies  *signing.Set
	// known is what the above say about whom to contact.
	known func() *grounds
}

// shared is what all views of one run have in common.
type shared struct {
	cache       *cache.Cache
	repos       *repositories
	mirrors     []*mirror
	mirrorsOpen bool
	mirrorLock  sync.Mutex
	registries  []registryFile
	// gathered are findings that many skills may share.
	gathered map[diag.Code]*gathered
	// userLocked is the lock of the user's own skills, once it was looked for.
	userLock   sync.Once
	userLocked *lockfile.Lock
}

// Open finds the project upward from opt.Dir and reads its files. A missing
// skills.toml is manifest_missing; a missing skills.lock is no fault.
func Open(opt Options) (*Project, error) {
	p := newProject(opt)
	if opt.Global {
		p.Root = p.globalDir()
		if !isFile(p.manifestPath()) {
			return p.opened(p.loadUnwritten())
		}
		return p.opened(p.load())
	}
	f := p.rootSearch().from(opt.Dir)
	if !f.manifest {
		return nil, f.noManifest(opt.Dir)
	}
	p.Root = f.dir
	return p.opened(p.load())
}

// Elsewhere reports whether the project is another directory than the one the
// search for it began in.
func (p *Project) Elsewhere() bool { return !p.opt.Global && p.Root != filepath.Clean(p.opt.Dir) }

// loadUnwritten is load where skills.toml is still to be written: it requires
// nothing, and a lock may stand beside it all the same.
func (p *Project) loadUnwritten() error {
	if err := p.loadEmpty(); err != nil {
		return err
	}
	err := p.loadLock()
	p.known = p.files.index()
	return err
}

// OpenDir is Open for commands that work without a project: where there is no
// skills.toml the project is empty and lies in opt.Dir.
func OpenDir(opt Options) (*Project, error) {
	p, err := Open(opt)
	if diag.CodeOf(err) != diag.ManifestMissing {
		return p, err
	}
	p = newProject(opt)
	p.Root = opt.Dir
	return p.opened(p.loadEmpty())
}

// OpenLock is Open for --no-manifest: the lock is found upward and stands alone.
func OpenLock(opt Options) (*Project, error) {
	p := newProject(opt)
	p.lockAlone = true
	if opt.Global {
		p.Root = p.globalDir()
		if !isFile(p.lockPath()) {
			return nil, p.noLock()
		}
		return p.opened(p.loadUnwritten())
	}
	f := p.rootSearch().from(opt.Dir)
	if !f.lock {
		return nil, f.noLockFile(opt.Dir)
	}
	p.Root = f.dir
	return p.opened(p.loadUnwritten())
}

// newProject returns a project of which no file was read yet.
func newProject(opt Options) *Project {
	if opt.Report == nil {
		opt.Report = func(*diag.Error) {}
	}
	opt.Report = serial(opt.Report)
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Jobs <= 0 {
		opt.Jobs = DefaultJobs
	}
	p := &Project{opt: opt, shared: &shared{gathered: map[diag.Code]*gathered{}}}
	p.began = opt.Now()
	return p
}

// serial lets one call of report run at a time: repositories and mirrors are
// read in parallel, and whoever listens need not know.
func serial(report func(*diag.Error)) func(*diag.Error) {
	var mu sync.Mutex
	return func(e *diag.Error) {
		mu.Lock()
		defer mu.Unlock()
		report(e)
	}
}

// getenv returns the value of an environment variable, the last one given, as
// programs see it.
func (p *Project) getenv(name string) string {
	for _, kv := range slices.Backward(p.opt.Environ) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

func (p *Project) globalDir() string { return filepath.Join(p.opt.ConfigDir, "global") }

// load reads manifest, user configuration, trust files and lock.
func (p *Project) load() error {
	lock := make(chan error, 1)
	go func() { lock <- p.loadLock() }() // both are long where there are 2,000 skills
	err := p.loadManifest()
	if lockErr := <-lock; err == nil {
		err = lockErr
	}
	if p.lock != nil && p.manifest != nil {
		p.lock.Sort(p.order()) // what is printed follows the manifest; the file is by key
	}
	p.known = p.files.index()
	return err
}

func (p *Project) loadManifest() error {
	data, err := readBounded(p.manifestPath())
	if err != nil {
		return err
	}
	m, err := p.parseManifest(data)
	if err != nil {
		return err
	}
	if err := m.CheckAgents(knownAgent); err != nil {
		return err
	}
	p.manifest, p.written, p.manifestData = m, m, data
	return p.loadConfig()
}

func (p *Project) parseManifest(data []byte) (*manifest.Manifest, error) {
	return manifest.Parse(p.display(p.manifestPath()), data, checkRangeOnce())
}

// checkRangeOnce is resolver.CheckRange that judges each spelling once: most of a
// large manifest repeats a few.
func checkRangeOnce() func(string) error {
	known := map[string]error{}
	return func(text string) error {
		err, ok := known[text]
		if !ok {
			err = resolver.CheckRange(text)
			known[text] = err
		}
		return err
	}
}

func (p *Project) loadEmpty() error {
	p.manifest = &manifest.Manifest{File: manifest.FileName}
	p.written = p.manifest
	err := p.loadConfig()
	p.known = p.files.index()
	return err
}

func (p *Project) loadConfig() error {
	file := filepath.Join(p.opt.ConfigDir, manifest.ConfigName)
	data, err := readBounded(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if p.user, err = manifest.ParseConfig(file, data); err != nil {
			return err
		}
	}
	p.config = manifest.Layer(p.user, p.manifest.Config)
	p.policies, err = p.readPolicies(p.manifestData)
	return err
}

// opened opens the cache of a project whose files were read, with err. A lock
// that cannot be read leaves the rest usable.
func (p *Project) opened(err error) (*Project, error) {
	if p.policies == nil {
		return p, err
	}
	if openErr := p.openCache(); err == nil {
		err = openErr
	}
	return p, err
}

func (p *Project) openCache() error {
	c, err := cache.Open(p.opt.CacheDir, cache.Options{
		Limits: p.config.Install.Limits(), Note: p.opt.Report, Now: p.opt.Now,
	})
	if err != nil {
		return err
	}
	p.cache = c
	p.repos = newRepositories(p.opt, p.config, c)
	return nil
}

// loadLock reads skills.lock if there is one. A lock with conflict markers is an
// error here; Lock resolves it.
func (p *Project) loadLock() error {
	data, err := readBounded(p.lockPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	p.lockData = data
	lock, err := lockfile.Parse(data)
	if err != nil {
		return lockFindings(p.display(p.lockPath()), err)
	}
	p.lock = lock
	return nil
}

// lockFindings gives the faults of a lock their file, place and hint.
func lockFindings(file string, err error) error {
	faults, ok := errors.AsType[lockfile.Errors](err)
	if !ok {
		return diag.New(diag.LockCorrupt, "the lock cannot be read").At(file, 0, 0).WithCause(err)
	}
	var list diag.List
	for _, f := range faults {
		e := diag.New(diag.Code(f.Fault.Code), "%s", f.Fault.Message).At(file, f.Line, f.Column)
		e.Hint = f.Fault.Hint
		list = append(list, e)
	}
	return list.Err()
}

// Close ends connections. What was learnt from repositories goes to the index
// even if the run failed, so that the next one need not ask again.
func (p *Project) Close() {
	if p.repos == nil {
		return
	}
	if p.repos.learnt() {
		p.cache.Flush(context.Background())
	}
	p.repos.close()
	p.closeMirrors()
}

func (p *Project) manifestPath() string { return filepath.Join(p.Root, manifest.FileName) }
func (p *Project) lockPath() string     { return filepath.Join(p.Root, lockfile.FileName) }

// display returns path as the user would write it: relative to where they are
// if it lies below, absolute otherwise.
func (p *Project) display(path string) string {
	if rel, err := filepath.Rel(p.opt.Dir, path); err == nil && !p.opt.RootPaths && !strings.HasPrefix(rel, "..") {
		return filepath.ToSlash(rel)
	}
	if rel, err := filepath.Rel(p.Root, path); err == nil && !strings.HasPrefix(rel, "..") {
		return filepath.ToSlash(rel)
	}
	return path
}

// MaxFileBytes bounds skills.toml, skills.lock and configuration files: a lock
// of 10,000 skills has about 15 MB.
const MaxFileBytes = 64 << 20

// readBounded reads a file of at most MaxFileBytes. A larger one is what the
// file would be if it could not be parsed: manifest_invalid, policy_invalid,
// lock_corrupt, and fetch_too_large for a file of another kind.
func readBounded(path string) ([]byte, error) {
	code := diag.FetchTooLarge
	switch filepath.Base(path) {
	case manifest.FileName, manifest.ConfigName:
		code = diag.ManifestInvalid
	case trustFile:
		code = diag.PolicyInvalid
	case lockfile.FileName:
		code = diag.LockCorrupt
	case skill.SignatureFile:
		code = diag.SignatureTooLarge
	}
	return readAs(code, path)
}

func readAs(tooLarge diag.Code, path string) ([]byte, error) {
	data, err := regular.Read(path, MaxFileBytes)
	if errors.Is(err, regular.ErrTooLarge) {
		return nil, diag.New(tooLarge, "%s has more than %d bytes", path, MaxFileBytes)
	}
	if err != nil {
		return nil, fileError(err)
	}
	return data, nil
}

// fileError gives an error of the file system its code; a missing file stays
// recognisable by fs.ErrNotExist.
func fileError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return err
	case errors.Is(err, fs.ErrPermission):
		return diag.New(diag.PermissionDenied, "a file cannot be read or written").WithCause(err)
	case errors.Is(err, regular.ErrNotRegular):
		return diag.New(diag.PermissionDenied, "a file was expected, and something else is there").WithCause(err).
			WithHint("pipes and devices are not read: they may never end")
	}
	return diag.New(diag.DiskFailed, "the file system refused").WithCause(err)
}

// layout says where install finds and writes this project's files.
func (p *Project) layout() install.Layout {
	l := install.Layout{Root: p.Root, State: stateDir, Files: []string{p.manifestPath(), p.lockPath()}}
	if p.opt.Global {
		l.Root, l.Personal = p.opt.Home, true
	}
	return l
}

func (p *Project) installOptions() install.Options {
	return install.Options{Store: p.cache, Announce: p.opt.Announce, Note: p.opt.Report, Limits: p.config.Install.Limits()}
}

// Manifest returns the parsed skills.toml.
func (p *Project) Manifest() *manifest.Manifest { return p.manifest }

// LockFile returns the parsed skills.lock, nil if there is none.
func (p *Project) LockFile() *lockfile.Lock { return p.lock }

// Cache returns the user's store.
func (p *Project) Cache() *cache.Cache { return p.cache }

// OpenCache opens nothing but the user's cache and configuration.
func OpenCache(opt Options) (*Project, error) {
	p := newProject(opt)
	p.Root = opt.Dir
	return p.opened(p.loadEmpty())
}
