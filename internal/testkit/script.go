package testkit

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// remotes is where scripts keep their repositories, below $WORK.
const remotes = ".remotes"

type stateKey struct{}

// state is what one script has running.
type state struct {
	root   string
	server *Server
	repos  map[string]*Repo
}

// Setup prepares a script's environment for Commands; call it from
// testscript.Params.Setup.
func Setup(env *testscript.Env) error {
	st := &state{root: filepath.Join(env.WorkDir, remotes), repos: map[string]*Repo{}}
	if env.Values == nil {
		env.Values = map[any]any{}
	}
	env.Values[stateKey{}] = st
	return os.MkdirAll(st.root, 0o755)
}

// Commands returns the script commands, to be merged into testscript.Params.Cmds:
//
//	gitrepo FILE…          replay repositories (see Replay); a name used before is
//	                       replaced. $GITROOT is the directory that holds them.
//	gitserve [FLAG…]       serve them: -stock, -v0, -multi-ack, -tls, -auth USER:PASSWORD.
//	                       Sets $GITURL and $GITHOST, with -tls $GITCA (a file), and
//	                       appends nothing to any other variable. A second call
//	                       replaces the first server.
//	gitrequests [N|<=N]    compare the number of requests since the last time, and
//	                       print the log; without an argument only forget it.
//	gitfault KIND [ARG…]   status N CODE [HEADER: VALUE] | truncate N BYTES | hang |
//	                       redirect FROM TO CODE | none
//	gitid VAR REPO REV     put the commit that REV (a ref) names into $VAR
//	gitdaemon              git:// over the same repositories; sets $GITDAEMON
//	sshserve               ssh over the same repositories; sets $GITSSH
//	                       (ssh://user@127.0.0.1:PORT/…/root), and writes key and
//	                       known_hosts into $HOME/.ssh
//	indexserve DIR         a discovery index of the skills below DIR (see ServeIndex);
//	                       sets $SITE
func Commands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	return map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"gitrepo":     cmdRepo,
		"gitserve":    cmdServe,
		"gitrequests": cmdRequests,
		"gitfault":    cmdFault,
		"gitid":       cmdID,
		"gitdaemon":   cmdDaemon,
		"sshserve":    cmdSSH,
		"indexserve":  cmdIndex,
	}
}

func stateOf(ts *testscript.TestScript, neg bool) *state {
	if neg {
		ts.Fatalf("this command cannot be negated")
	}
	st, ok := ts.Value(stateKey{}).(*state)
	if !ok {
		ts.Fatalf("testkit.Setup was not called")
	}
	return st
}

func cmdRepo(ts *testscript.TestScript, neg bool, args []string) {
	st := stateOf(ts, neg)
	for _, file := range args {
		repos, err := ReplayFile(st.root, ts.MkAbs(file))
		ts.Check(err)
		for name, r := range repos {
			st.repos[name] = r
		}
	}
	ts.Setenv("GITROOT", st.root)
}

func cmdServe(ts *testscript.TestScript, neg bool, args []string) {
	st := stateOf(ts, neg)
	var shape Shape
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "-stock":
			shape.Stock = true
		case "-v0":
			shape.V0 = true
		case "-multi-ack":
			shape.MultiAck = true
		case "-tls":
			shape.TLS = true
		case "-auth":
			if i++; i >= len(args) {
				ts.Fatalf("-auth needs USER:PASSWORD")
			}
			shape.User, shape.Password, _ = strings.Cut(args[i], ":")
		default:
			ts.Fatalf("unknown flag %s", args[i])
		}
	}
	s, err := Serve(st.root, shape)
	ts.Check(err)
	if st.server != nil {
		st.server.Close()
	}
	st.server = s
	ts.Defer(s.Close)
	ts.Setenv("GITURL", s.URL)
	ts.Setenv("GITHOST", s.Host())
	ts.Setenv("GITROOT", st.root)
	if s.CA != nil {
		file := filepath.Join(st.root, "ca.pem")
		ts.Check(os.WriteFile(file, s.CA, 0o644))
		ts.Setenv("GITCA", file)
	}
}

func cmdRequests(ts *testscript.TestScript, neg bool, args []string) {
	st := stateOf(ts, neg)
	if st.server == nil {
		ts.Fatalf("gitserve comes first")
	}
	log := st.server.Requests()
	for _, r := range log {
		ts.Logf("%s", r)
	}
	if len(args) == 0 {
		return
	}
	text, atMost := strings.CutPrefix(args[0], "<=")
	want, err := strconv.Atoi(text)
	ts.Check(err)
	if got := len(log); got > want || !atMost && got != want {
		ts.Fatalf("%d requests, want %s", got, args[0])
	}
}

func cmdFault(ts *testscript.TestScript, neg bool, args []string) {
	st := stateOf(ts, neg)
	if st.server == nil || len(args) == 0 {
		ts.Fatalf("usage: gitserve, then gitfault KIND")
	}
	number := func(i int) int64 {
		if i >= len(args) {
			ts.Fatalf("gitfault %s: too few arguments", args[0])
		}
		n, err := strconv.ParseInt(args[i], 10, 64)
		ts.Check(err)
		return n
	}
	switch args[0] {
	case "none":
		st.server.SetFault(nil)
	case "status":
		st.server.SetFault(FailFirst(number(1), int(number(2)), args[3:]...))
	case "truncate":
		st.server.SetFault(Truncate(number(1), number(2)))
	case "hang":
		st.server.SetFault(Hang())
	case "redirect":
		code := int(number(3))
		st.server.SetFault(Redirect(args[1], args[2], code))
	default:
		ts.Fatalf("unknown fault %s", args[0])
	}
}

func cmdID(ts *testscript.TestScript, neg bool, args []string) {
	st := stateOf(ts, neg)
	if len(args) != 3 {
		ts.Fatalf("usage: gitid VAR REPO REV")
	}
	repo := st.repos[args[1]]
	if repo == nil {
		ts.Fatalf("no repository %s", args[1])
	}
	for _, prefix := range []string{"", "refs/tags/", "refs/heads/"} {
		if id := repo.Ref(prefix + args[2]); id != "" {
			ts.Setenv(args[0], id)
			return
		}
	}
	ts.Fatalf("%s has no ref %s", args[1], args[2])
}

func cmdDaemon(ts *testscript.TestScript, neg bool, _ []string) {
	st := stateOf(ts, neg)
	d, err := ServeDaemon(st.root)
	ts.Check(err)
	ts.Defer(d.Close)
	ts.Setenv("GITDAEMON", d.URL)
}

func cmdIndex(ts *testscript.TestScript, neg bool, args []string) {
	stateOf(ts, neg)
	if len(args) != 1 {
		ts.Fatalf("usage: indexserve DIR")
	}
	s := ServeIndex(ts.MkAbs(args[0]))
	ts.Defer(s.Close)
	ts.Setenv("SITE", s.URL)
}

func cmdSSH(ts *testscript.TestScript, neg bool, _ []string) {
	st := stateOf(ts, neg)
	s, err := ServeSSH(st.root)
	ts.Check(err)
	ts.Defer(s.Close)
	ts.Check(s.WriteClientFiles(filepath.Join(ts.Getenv("HOME"), ".ssh")))
	ts.Setenv("GITSSH", s.URL)
}
