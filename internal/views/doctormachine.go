package views

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
)

// cache looks at the store and its index. Both can be rebuilt, so nothing here
// is a problem, unless the directory cannot be used at all.
func (d *doctor) cache(ctx context.Context, p *world.Local) {
	dir := p.Opt.CacheDir
	info, err := os.Stat(dir)
	switch {
	case os.IsNotExist(err):
		d.ok("%s is made when it is needed", dir)
		return
	case err != nil:
		d.found(diag.New(diag.PermissionDenied, "the cache %s cannot be read", dir).WithCause(err))
		return
	case !info.IsDir():
		d.found(diag.New(diag.PermissionDenied, "the cache %s is no directory", dir).WithHint("--cache-dir names another"))
		return
	}
	before := len(d.result.Checks)
	p.Cache.Get(world.BucketSkills, "") // an index that is locked or broken says so
	usage, err := p.Cache.Size(ctx)
	if err != nil {
		d.failed(err)
		return
	}
	if len(d.result.Checks) == before {
		total := usage.TreeBytes + usage.BundleBytes + usage.IndexBytes
		d.ok("%s: %s, %.1f MB", dir, plural(usage.Trees, "skill"), float64(total)/1e6)
	}
}

// programs looks for what some repositories need beside skillpm.
func (d *doctor) programs(opt workspace.Options) {
	if path, err := exec.LookPath("git"); err == nil {
		d.ok("git: %s", path)
	} else {
		d.found(diag.Note(diag.ProgramMissing, "git is not installed").
			WithHint("only file:// repositories, SHA-256 repositories and credential helpers need it"))
	}
	p := &workspace.Project{Opt: opt}
	keys := "no agent"
	if p.Getenv("SSH_AUTH_SOCK") != "" {
		keys = "an agent"
	}
	known := "no known_hosts, so no host is known yet"
	if _, err := os.Stat(filepath.Join(opt.Home, ".ssh", "known_hosts")); err == nil {
		known = "known_hosts is there"
	}
	d.ok("ssh: %s; %s", keys, known)
}
