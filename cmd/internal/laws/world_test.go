package laws

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/skillpm/skillpm/internal/testkit"
)

// world is hosts with repositories, a machine, and what happened so far.
type world struct {
	name      string
	seed      int64
	dir       string
	prefix    string // 127.A.B., the hosts' network
	address   *regexp.Regexp
	hosts     []*host
	upstreams []*upstream
	me        *machine
	twins     int
	keys      int // for new names

	log    []string // steps so far, for people
	broken []violation
	// edited are keys whose requirement a person changed since the last lock.
	edited map[string]bool
	local  map[string]bool // keys whose installed files a person edited
	ran    int             // runs of the program
	worker *worker
	// reserved keeps the network for this world.
	reserved net.Listener
}

type law string

// violation is a law broken once.
type violation struct {
	Law      law
	Command  string // the label of the command in the table
	Shape    string // what went wrong, without names and numbers
	Evidence string
	World    string
	Seed     int64
	Steps    []string
}

const port = 8418

var networks atomic.Int64

// newWorld makes hosts without repositories and a machine without a project.
func newWorld(name string, seed int64, hosts int, dir string) (*world, error) {
	w := &world{name: name, seed: seed, dir: dir, edited: map[string]bool{}, local: map[string]bool{}}
	if err := w.listen(hosts); err != nil {
		return nil, err
	}
	var err error
	w.me, err = newMachine(filepath.Join(dir, "m000000"), "proj") // as long as a twin's, since paths are counted
	return w, err
}

// listen opens the hosts at 127.A.B.1, 127.A.B.2 and so on, for the first A and
// B that nobody uses: a world's hosts sort alike in every run.
func (w *world) listen(n int) error {
	var last error
	for range 500 {
		c := networks.Add(1) - 1
		w.prefix = fmt.Sprintf("127.%d.%d.", 1+(int64(os.Getpid())+c/250)%250, 1+c%250)
		if w.reserved, last = net.Listen("tcp", fmt.Sprintf("%s250:%d", w.prefix, port)); last != nil {
			continue // another process has this network, also while its hosts are down
		}
		w.address = regexp.MustCompile(regexp.QuoteMeta(w.prefix) + fmt.Sprintf(`(\d):%d`, port))
		last = w.listenHere(n)
		if last == nil {
			return nil
		}
		w.close()
	}
	return last
}

func (w *world) listenHere(n int) error {
	w.hosts = nil
	for i := range n {
		root := filepath.Join(w.dir, fmt.Sprintf("host%d", i+1))
		if err := os.MkdirAll(root, 0o755); err != nil {
			return err
		}
		srv, err := testkit.Serve(root, testkit.Shape{Address: fmt.Sprintf("%s%d:%d", w.prefix, i+1, port)})
		if err != nil {
			return err
		}
		h := &host{srv: srv, memo: &testkit.Memo{}}
		srv.SetFault(h.memo.Fault())
		w.hosts = append(w.hosts, h)
	}
	return nil
}

func (w *world) close() {
	if w.worker != nil {
		w.worker.stop()
		w.worker = nil
	}
	for _, h := range w.hosts {
		h.srv.Close()
	}
	_ = w.reserved.Close()
}

// changed says that a repository of host h did.
func (w *world) changed(h int) { w.hosts[h].memo.Forget() }

// requests returns what the hosts answered since the last call, host by host.
func (w *world) requests() []string {
	var list []string
	for i, h := range w.hosts {
		for _, r := range h.srv.Requests() {
			list = append(list, fmt.Sprintf("host%d %s", i+1, r))
		}
	}
	return list
}

// without runs f with the given hosts refusing connections.
func (w *world) without(hosts []int, f func()) {
	for _, i := range hosts {
		w.hosts[i].srv.Down()
	}
	defer func() {
		for _, i := range hosts {
			if !w.hosts[i].dead {
				must(w.hosts[i].srv.Up())
			}
		}
	}()
	f()
}

func (w *world) kill(h int) {
	w.hosts[h].dead = true
	w.hosts[h].srv.Down()
}

func (w *world) revive(h int) {
	w.hosts[h].dead = false
	must(w.hosts[h].srv.Up())
}

// normal replaces what differs between two runs or two machines.
func (w *world) normal(m *machine, s string) string {
	return w.address.ReplaceAllString(strings.ReplaceAll(s, m.dir, "$DIR"), "host$1")
}

func (w *world) say(format string, args ...any) {
	w.log = append(w.log, w.normal(w.me, fmt.Sprintf(format, args...)))
}

// describe is the world in short.
func (w *world) describe() []string {
	var list []string
	for _, u := range w.upstreams {
		var skills []string
		for _, s := range u.skills {
			t := s.dir
			if t == "" {
				t = "(root)"
			}
			if len(s.chain) > 0 {
				t += " chain=" + strings.Join(s.chain, ",")
			}
			for name, req := range s.requires {
				t += fmt.Sprintf(" requires %s=%q", name, w.normal(w.me, req))
			}
			if s.dangling {
				t += " dangling link"
			}
			skills = append(skills, t)
		}
		list = append(list, fmt.Sprintf("host%d/%s (%s %s): %s", u.host+1, u.name, u.style, strings.Join(slices.Compact(slices.Clone(u.versions)), " "), strings.Join(skills, "; ")))
	}
	return list
}

var (
	hexRun   = regexp.MustCompile(`\b[0-9a-f]{7,64}\b`)
	quoted   = regexp.MustCompile("`[^`]*`|\"[^\"]*\"")
	urlLike  = regexp.MustCompile(`(?:http://)?host\d+[^\s,;:)]*`)
	digitRun = regexp.MustCompile(`\d+`)
	skillish = regexp.MustCompile(`\b(?:` + strings.Join(words, "|") + `)(?:-?\d+)?\b`)
)

// shape leaves out of a message what belongs to one world alone.
func shape(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	s = quoted.ReplaceAllString(s, "`…`")
	s = urlLike.ReplaceAllString(s, "URL")
	s = skillish.ReplaceAllString(s, "NAME")
	s = hexRun.ReplaceAllString(s, "HEX")
	s = digitRun.ReplaceAllString(s, "N")
	if len(s) > 160 {
		s = s[:160] + "…"
	}
	return s
}

// fail records a broken law.
func (w *world) fail(l law, command, shape, format string, args ...any) {
	steps := append(append(w.describe(), "--"), w.log...)
	w.broken = append(w.broken, violation{l, command, shape, fmt.Sprintf(format, args...), w.name, w.seed, steps})
}

// pick returns one of list.
func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }
