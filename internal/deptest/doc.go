// Package deptest holds the rules of this repository that a test can check:
// which package may import which and what it may reach of network, disk, clock and
// chance, how much it may hold, who may print, exit or write files, that every
// package is documented, and that every code of package diag has its entry in
// docs/errors.md and a script that provokes it.
//
// It contains tests only. Each failure says which rule was broken and why the
// rule is there; a rule that is in the way is changed here, in the same commit
// as the code that needs it, with its reason.
package deptest
