package cli

import (
	"github.com/skillpm/skillpm/internal/workspace"

	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/Masterminds/semver/v3"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/manifest"
	"github.com/skillpm/skillpm/internal/regular"
	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/resolver"
	"github.com/skillpm/skillpm/skill/parse"
)

// The commands that judge skills on disk read the project's files themselves:
// opening the project would open the cache, and they must not write even that.

// ignoredNotes returns [validate] ignore of the project, else of the user. A
// file that cannot be read is a warning here: it says nothing of the skill.
func (app *App) ignoredNotes() []string {
	var layers []manifest.Config
	opt, err := app.options(false)
	if err != nil {
		return nil
	}
	user := filepath.Join(opt.ConfigDir, manifest.ConfigName)
	if data, err := regular.Read(user, workspace.MaxFileBytes); err == nil {
		c, err := manifest.ParseConfig(user, data)
		app.warnUnread(user, err)
		layers = append(layers, c)
	} else if !errors.Is(err, fs.ErrNotExist) {
		app.warnUnread(user, err)
	}
	if root, ok, _ := workspace.Locate(opt); ok {
		data, err := regular.Read(filepath.Join(root, manifest.FileName), workspace.MaxFileBytes)
		if err == nil {
			var m *manifest.Manifest
			if m, err = manifest.Parse(manifest.FileName, data, resolver.CheckRange); err == nil {
				layers = append(layers, m.Config)
			}
		}
		app.warnUnread(manifest.FileName, err)
	}
	return manifest.Layer(layers...).Validate.Ignore
}

func (app *App) warnUnread(file string, err error) {
	if err != nil {
		app.report(diag.Warn(diag.ManifestInvalid, "%s cannot be read, so its [validate] table has no effect", file).WithCause(err))
	}
}

// projectLock reads skills.lock of the project here or above. root is the
// project's directory; lock is nil where there is none that can be read.
func (app *App) projectLock() (lock *lockfile.Lock, root string) {
	opt, err := app.options(false)
	if err != nil {
		return nil, ""
	}
	root, _, ok := workspace.Locate(opt)
	if !ok {
		return nil, ""
	}
	data, err := regular.Read(filepath.Join(root, lockfile.FileName), workspace.MaxFileBytes)
	if err != nil {
		return nil, ""
	}
	lock, err = lockfile.Parse(data)
	if err != nil {
		app.report(diag.Warn(diag.LockCorrupt, "%s cannot be read", lockfile.FileName).WithCause(err))
		return nil, ""
	}
	return lock, root
}

// lockedDeps answers requirements from the lock and from the skills beside, for
// validate --deps. Nothing is fetched.
func (app *App) lockedDeps() parse.DepsFunc {
	lock, _ := app.projectLock()
	return func(_ context.Context, edge parse.Edge) *diag.Error {
		name := string(edge.Dependency.Name)
		req := edge.Dependency.Requirement
		if req.Delegate != "" {
			return diag.New(diag.DelegateReserved, "the requirement on `%s` says delegate:%s, which is reserved", name, req.Delegate)
		}
		if lock != nil {
			if e := lock.Get(name); e != nil {
				return inLock(e, edge)
			}
		}
		if req.Source.IsZero() && beside(edge.Dir, name) {
			return nil
		}
		err := diag.New(diag.SubskillUnresolved, "nothing here answers to the requirement on `%s`", name).
			WithHint("neither the lock nor a skill beside it does; `skillpm lock` looks further, by network")
		return err.WithReason("not_found")
	}
}

// inLock judges the one candidate that the lock has for a requirement.
func inLock(e *lockfile.Entry, edge parse.Edge) *diag.Error {
	req := edge.Dependency.Requirement
	if req.Digest != "" && e.Digest != "" && req.Digest != e.Digest {
		return diag.New(diag.DigestMismatch, "`%s` is locked as %s, but %s is required", e.Key, e.Digest.Short(), req.Digest.Short())
	}
	if req.Ref != "" || req.Range == "*" || e.Version == "" {
		return nil
	}
	constraint, err := semver.NewConstraint(req.Range)
	if err != nil {
		return nil // its own finding says so
	}
	version, err := semver.StrictNewVersion(e.Version)
	if err != nil || !constraint.Check(version) {
		err := diag.New(diag.SubskillUnresolved, "`%s` is locked at %s, but `%s` is required", e.Key, e.Version, req.Range)
		return err.WithReason("no_matching_version")
	}
	return nil
}
