// Package install makes the directories that agents read equal to what is
// wanted, as one transaction: old or new, never mixed, whatever ends the run.
//
// A run looks at the disk, plans (a pure function of what is wanted, the
// receipt and what was seen), stages new directories inside the private
// directory, hashing every byte it copies, writes a journal, swaps by rename,
// and writes the receipt and then the project's files, the lock last. The next
// Begin finishes what a killed run had journalled, or undoes it.
//
// What may be replaced or removed is ours: what the receipt names with the
// digest that is on disk, or what equals the digest that the old or the new
// lock names for that key. Everything else is the user's and is only reported.
//
//	s, err := install.Begin(ctx, layout, opt)
//	defer s.Close()
//	plan, err := s.Plan(ctx, want)
//	result, err := s.Apply(ctx, plan, install.FileChange{Path: lockPath, Data: lock})
//
// It opens no connection and no index, and does not read SKILL.md files.
package install
