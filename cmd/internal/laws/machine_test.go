package laws

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/skillpm/skillpm/lockfile"
)

// machine is a user's machine: a home, a configuration, a cache and a checkout
// with the project in it, all below one directory, so that a copy is a twin.
type machine struct {
	dir  string
	proj string // the project's place below dir
}

func (m *machine) path(elem ...string) string {
	return filepath.Join(append([]string{m.dir, m.proj}, elem...)...)
}

func (m *machine) cache() string { return filepath.Join(m.dir, "cache") }

func newMachine(dir, proj string) (*machine, error) {
	m := &machine{dir, proj}
	for _, d := range []string{"home", "config", "cache", proj} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// result is what one run of the program did.
type result struct {
	args        []string
	exit        int
	out, err    string
	requests    []string // method, path, bytes
	took        time.Duration
	result      json.RawMessage // of --json
	diagnostics []diagnostic
	isJSON      bool
}

type diagnostic struct {
	Code, Severity, Message, File, Hint, Reason, Cause string
	Line, Column                                       int
	Details                                            []string
}

// how changes a run; the zero value is the project's directory and nothing else.
type how struct {
	cwd string
	env []string
}

// patience bounds one run of the program.
const patience = 60 * time.Second

// run runs the program on a machine.
func (w *world) run(m *machine, h how, args ...string) *result {
	c := call{Dir: h.cwd, Env: append(m.environ(), h.env...), Args: args}
	if c.Dir == "" {
		c.Dir = m.path()
	}
	w.requests()
	w.ran++
	start := time.Now()
	a := w.execute(c)
	r := &result{args: args, exit: a.Exit, out: w.normal(m, a.Out), err: w.normal(m, a.Err), took: time.Since(start), requests: w.requests()}
	if slices.Contains(args, "--json") {
		r.parse()
	}
	return r
}

func (r *result) parse() {
	var e struct {
		Result      json.RawMessage
		Diagnostics []diagnostic
	}
	if json.Unmarshal([]byte(r.out), &e) != nil {
		return
	}
	r.isJSON, r.diagnostics = true, e.Diagnostics
	if string(e.Result) != "null" {
		r.result = e.Result
	}
}

// said is the first error, or the last line, for people who read a report.
func (r *result) said() string {
	for _, d := range r.diagnostics {
		if d.Severity == "error" {
			return d.text()
		}
	}
	lines := strings.Split(strings.TrimSpace(r.err+"\n"+r.out), "\n")
	for _, l := range lines {
		if strings.HasPrefix(l, "error") {
			return l
		}
	}
	return lines[len(lines)-1]
}

func (d diagnostic) text() string {
	s := fmt.Sprintf("%s[%s]: %s", d.Severity, d.Code, d.Message)
	if d.File != "" {
		s += " (" + d.File + ")"
	}
	if d.Cause != "" {
		s += ": " + d.Cause
	}
	return s
}

// code is the first error's code, or "".
func (r *result) code() string {
	for _, d := range r.diagnostics {
		if d.Severity == "error" {
			return d.Code
		}
	}
	_, rest, ok := strings.Cut(r.err, "error[")
	if code, _, found := strings.Cut(rest, "]"); ok && found {
		return code
	}
	return ""
}

func (r *result) outcome() string {
	if c := r.code(); c != "" {
		return fmt.Sprintf("exit %d %s", r.exit, c)
	}
	return fmt.Sprintf("exit %d", r.exit)
}

func (m *machine) environ() []string {
	return []string{
		"HOME=" + filepath.Join(m.dir, "home"),
		"XDG_CACHE_HOME=" + m.cache(),
		"XDG_CONFIG_HOME=" + filepath.Join(m.dir, "config"),
		"XDG_STATE_HOME=" + filepath.Join(m.dir, "state"),
		"PATH=" + binDir + string(filepath.ListSeparator) + os.Getenv("PATH"),
		"GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C", "NO_COLOR=1",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z",
		"GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z",
	}
}

// git runs git in the checkout and returns whether it succeeded.
func (m *machine) git(args ...string) (string, bool) {
	cmd := exec.Command("git", args...)
	cmd.Dir = m.path()
	cmd.Env = m.environ()
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

func (m *machine) read(name string) []byte {
	data, err := os.ReadFile(m.path(name))
	if err != nil {
		return nil
	}
	return data
}

func (m *machine) write(name string, data []byte) {
	file := m.path(filepath.FromSlash(name))
	must(os.MkdirAll(filepath.Dir(file), 0o755))
	must(os.WriteFile(file, data, 0o644))
}

func (m *machine) lock() *lockfile.Lock {
	data := m.read("skills.lock")
	if data == nil {
		return nil
	}
	l, err := lockfile.Parse(data)
	if err != nil {
		return nil
	}
	return l
}

// state is everything that a command may leave in the project.
type state struct {
	toml, lock string
	files      map[string]string // all else: slash path to what is there
}

func (m *machine) state() state {
	s := state{toml: string(m.read("skills.toml")), lock: string(m.read("skills.lock")), files: map[string]string{}}
	base := m.path()
	must(filepath.WalkDir(base, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(base, name)
		if err != nil {
			return err
		}
		switch {
		case (d.Name() == ".git" || d.Name() == ".skillpm") && d.IsDir():
			return fs.SkipDir // bookkeeping, with times and places in it
		case d.IsDir(), rel == "skills.toml", rel == "skills.lock":
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			s.files[filepath.ToSlash(rel)] = "-> " + target
			return err
		default:
			data, err := os.ReadFile(name)
			info, ierr := d.Info()
			if ierr != nil {
				return ierr
			}
			s.files[filepath.ToSlash(rel)] = fmt.Sprintf("%s %x", info.Mode().Perm(), sha256.Sum256(data))
			return err
		}
		return nil
	}))
	return s
}

// differs names the parts in which two states differ, "" for none.
func (s state) differs(t state) string {
	var list []string
	if s.toml != t.toml {
		list = append(list, "skills.toml")
	}
	if s.lock != t.lock {
		list = append(list, "skills.lock")
	}
	for name, v := range s.files {
		if t.files[name] != v {
			list = append(list, name)
		}
	}
	for name := range t.files {
		if _, ok := s.files[name]; !ok {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	if len(list) > 4 {
		list = append(list[:4], fmt.Sprintf("… %d in all", len(list)))
	}
	return strings.Join(list, ", ")
}

// twin copies the machine.
func (w *world) twin(m *machine) *machine {
	w.twins++
	t := &machine{filepath.Join(w.dir, fmt.Sprintf("m%06d", w.twins)), m.proj}
	must(copyTree(m.dir, t.dir))
	return t
}

// fresh is another machine with the checkout's own files: manifest, lock and
// the skills kept in it, but neither a cache nor anything installed.
func (w *world) fresh(m *machine) *machine {
	w.twins++
	t, err := newMachine(filepath.Join(w.dir, fmt.Sprintf("m%06d", w.twins)), m.proj)
	must(err)
	for _, name := range []string{"skills.toml", "skills.lock", "team.json"} {
		if data := m.read(name); data != nil {
			t.write(name, data)
		}
	}
	if _, err := os.Stat(m.path("house")); err == nil {
		must(copyTree(m.path("house"), t.path("house")))
	}
	return t
}

func (w *world) drop(list ...*machine) {
	for _, m := range list {
		_ = filepath.WalkDir(m.dir, func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				_ = os.Chmod(name, 0o755)
			}
			return nil
		})
		must(os.RemoveAll(m.dir))
	}
}

func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		dest := filepath.Join(to, rel)
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			return os.MkdirAll(dest, info.Mode().Perm()|0o700)
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			if err != nil {
				return err
			}
			return os.Symlink(target, dest)
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(dest, data, info.Mode().Perm()); err != nil {
			return err
		}
		return os.Chtimes(dest, info.ModTime(), info.ModTime())
	})
}

// must ends the test run: the harness itself is broken.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
