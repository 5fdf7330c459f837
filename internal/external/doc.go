// Package external stands for the tests that need more than Go and git: sshd,
// docker-registry, python3 and node. They lie beside what they test, in files
// with the build tag external, and a plain run leaves them out and says so with
// one line:
//
//	?   	github.com/skillpm/skillpm/internal/external	[no test files]
//
// With -tags external all of them run, and a missing program is a failure. That
// is how .ci/run runs them.
package external
