// Package oci reads and writes mirrors: copies of locked skills that need no
// git host. A mirror is OCI, so one format serves a folder (an image layout), a
// static web server over such a folder, a tar archive of it, and any registry.
// docs/mirrors.md describes the format.
//
//	m, err := oci.Open(ctx, "oci://registry.example/skills", oci.Options{})
//	if err != nil { … }
//	defer m.Close()
//	tree, err := m.Tree(ctx, digest, func(f skill.File, data []byte) error {
//		return stage.Add(f.Path, f.Exec, data)
//	})
//	if errors.Is(err, oci.ErrMiss) { … } // ask the next source
//
// A mirror is never trusted. What Tree and Bundle return without error has the
// digest that was asked for; a wrong, truncated or hostile mirror can cause an
// error and nothing else. The package knows no lock, no cache and no git: the
// caller says which digests it wants and where their bytes come from.
package oci
