// Package fetch reads skills out of remote repositories. It knows what a skill
// is in a git tree, not how a repository is reached: that is a Source, of which
// fetch/git has the implementation for git hosts.
//
// A caller lists refs, decides on a commit with Versions or ResolveRef, opens a
// Snapshot of it and then reads what it needs:
//
//	refs, err := src.Refs(ctx, repo, "HEAD", "refs/tags/")
//	list := fetch.Versions(refs, fetch.PlaceOf(repo))
//	snap, err := src.Open(ctx, repo, []fetch.Want{list.Candidates[0].Want()})
//	defer snap.Close()
//	content, err := fetch.Load(ctx, snap, commit, "skills/pdf", opt, sink)
//
// Sources compose by wrapping: Once (equal calls are made once), Retry
// (temporary failures), Log (each call is reported), Offline (no call is made).
//
// Nothing here writes files, executes anything fetched, or keeps package-level
// state. Everything that comes from a Source is treated as hostile: ids are
// verified by the Source, paths, links, sizes and counts here. Errors are
// *diag.Error, or wrap one.
package fetch
