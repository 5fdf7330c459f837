// Package testkit has real servers for tests: git over smart HTTP in the shapes
// that hosts have (Server), git daemon (Daemon), sshd (SSHServer), over
// repositories written as git objects by hand (Repo) or replayed from text
// (Replay). Everything listens on loopback and lives in a directory of the
// test's own; dates are fixed, so object ids are the same in every run.
//
// Go tests call the functions; scripts use the commands of Commands after Setup:
//
//	gitrepo repo.txtar        # (re)make the repositories that the file describes
//	gitserve                  # serve them; $GITURL is http://127.0.0.1:PORT
//	exec skillpm add $GITURL/acme/skills//skills/pdf
//	gitrequests 4             # so many requests since the last time
//
// It needs git, and sshd (Debian's openssh-server) for SSHServer. A missing
// program is an error, never a skip.
package testkit
