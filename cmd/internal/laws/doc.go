// Package laws holds tests alone: what must be so after every command, whatever
// the world looks like. A world is drawn from a seed: repositories of every shape
// on real git servers, a machine with a project, and then commands and events in
// turn. After each command the laws are checked by running the real binary.
//
//	go test ./cmd/internal/laws                                      the fixed set, as in CI
//	go test ./cmd/internal/laws -open                                what is known to be broken still
//	go test ./cmd/internal/laws -run TestWorlds -seed=17 -v          one world, told step by step
//	go test ./cmd/internal/laws -run TestWorlds -worlds=1000 -timeout=0   many worlds
//
// What is broken is reported by kind: the law, the command and how it failed, with
// the first seed and the number of times. The same seed is the same world in
// every run: dates are fixed, and nothing depends on a port.
//
// The table of commands (table_test.go) names every command and flag; one that
// is missing there fails the tests.
package laws
