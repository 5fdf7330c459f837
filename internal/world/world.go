package world

import (
	"context"
	"sync"

	"github.com/skillpm/skillpm/cache"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/install"
	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
)

// Local is a project together with the user's store: what can be had without a
// network. Commands that take it cannot contact anybody.
type Local struct {
	*workspace.Project
	Cache *cache.Cache
}

// World is a project together with everything outside it that a run may ask:
// store, mirrors, registries and repositories. Its permit says which of them.
// What it asked is remembered for the run, whichever permit asked first.
type World struct {
	*Local
	*remote
}

// remote is what all Worlds of one run share.
type remote struct {
	repos       *repositories
	mirrors     []*mirror
	mirrorsOpen bool
	mirrorLock  sync.Mutex
	Registries  []registryFile
}

// Open finds the project upward from opt.Dir and reads its files. A missing
// skills.toml is manifest_missing; a missing skills.lock is no fault.
func Open(opt workspace.Options) (*World, error) {
	p := workspace.New(opt)
	if opt.Global {
		p.Root = p.GlobalDir()
		if !workspace.IsFile(p.ManifestPath()) {
			return opened(p, p.LoadUnwritten())
		}
		return opened(p, p.Load())
	}
	f := p.RootSearch().From(opt.Dir)
	if !f.Manifest {
		return nil, f.NoManifest(opt.Dir)
	}
	p.Root = f.Dir
	return opened(p, p.Load())
}

// OpenDir is Open for commands that work without a project: where there is no
// skills.toml the project is empty and lies in opt.Dir.
func OpenDir(opt workspace.Options) (*World, error) {
	p, err := Open(opt)
	if diag.CodeOf(err) != diag.ManifestMissing {
		return p, err
	}
	empty := workspace.New(opt)
	empty.Root = opt.Dir
	return opened(empty, empty.LoadEmpty())
}

// OpenLock is Open for --no-manifest: the lock is found upward and stands alone.
func OpenLock(opt workspace.Options) (*World, error) {
	p := workspace.New(opt)
	p.LockAlone = true
	if opt.Global {
		p.Root = p.GlobalDir()
		if !workspace.IsFile(p.LockPath()) {
			return nil, p.NoLock()
		}
		return opened(p, p.LoadUnwritten())
	}
	f := p.RootSearch().From(opt.Dir)
	if !f.Lock {
		return nil, f.NoLockFile(opt.Dir)
	}
	p.Root = f.Dir
	return opened(p, p.LoadUnwritten())
}

// OpenToShow is Open for commands that only show what is locked: a lock that
// stands without skills.toml is enough for them.
func OpenToShow(opt workspace.Options) (*World, error) {
	p, err := Open(opt)
	if diag.CodeOf(err) != diag.ManifestMissing {
		return p, err
	}
	alone, lockErr := OpenLock(opt)
	if diag.CodeOf(lockErr) == diag.LockOutdated { // there is none either
		return p, err
	}
	return alone, lockErr
}

// Around returns a world in which there is nothing: neither store nor mirrors
// nor repositories. It serves to ask about locks that no project has.
func Around(p *workspace.Project) *World {
	return &World{Local: &Local{Project: p}, remote: &remote{}}
}

// opened opens the cache of a project whose files were read, with err. A lock
// that cannot be read leaves the rest usable.
func opened(p *workspace.Project, err error) (*World, error) {
	w := Around(p)
	if p.Policies == nil {
		return w, err
	}
	c, openErr := cache.Open(p.Opt.CacheDir, cache.Options{
		Limits: p.Config.Install.Limits(), Note: p.Opt.Report, Now: p.Opt.Now,
	})
	if openErr == nil {
		w.Cache, w.repos = c, newRepositories(p.Opt, p.Config, c)
	} else if err == nil {
		err = openErr
	}
	return w, err
}

// Close ends connections. What was learnt from repositories goes to the index
// even if the run failed, so that the next one need not ask again.
func (p *World) Close() {
	if p.repos == nil {
		return
	}
	if p.repos.learnt() {
		p.Cache.Flush(context.Background())
	}
	p.repos.close()
	p.closeMirrors()
}

// InstallOptions are how package install works for this project.
func (p *Local) InstallOptions() install.Options {
	return install.Options{Store: p.Cache, Announce: p.Opt.Announce, Note: p.Opt.Report, Limits: p.Config.Install.Limits()}
}

// OpenCache opens nothing but the user's cache and configuration.
func OpenCache(opt workspace.Options) (*World, error) {
	p := workspace.New(opt)
	p.Root = opt.Dir
	return opened(p, p.LoadEmpty())
}

// Naming returns the project with sources that the user wrote in this call.
func (p *World) Naming(sources ...skill.Source) *World { return p.With(p.Permit.Name(sources...)) }

// With returns the project with another permit.
func (p *World) With(permit workspace.Permit) *World {
	q := *p.Project
	q.Permit = permit
	return p.on(&q)
}

// Edited returns the project as data would make its skills.toml; the file is
// written by the transaction.
func (p *World) Edited(data []byte) (*World, error) {
	m, err := p.ParseManifest(data)
	if err != nil {
		return nil, err
	}
	q := *p.Project
	q.Manifest = m // Written and ManifestData stay what is on disk
	q.Config = manifest.Layer(p.User, m.Config)
	q.Known = q.Files.Index()
	if q.Policies, err = q.ReadPolicies(data); err != nil {
		return nil, err
	}
	return p.on(&q), nil
}

// on returns the same world around another state of the project.
func (p *World) on(q *workspace.Project) *World {
	return &World{Local: &Local{Project: q, Cache: p.Cache}, remote: p.remote}
}

// WithLock returns the project with l in place of its lock.
func (p *World) WithLock(l *lockfile.Lock) *World {
	q := *p.Project
	q.Lock = l
	q.Known = q.Files.Index()
	return p.on(&q)
}
