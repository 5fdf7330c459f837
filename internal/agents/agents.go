// Package agents knows which directories coding agents read skills from. It is
// data with look-ups: agents.tsv has one line an agent and changes as the agents
// do. It opens nothing; what exists on a machine is told by the caller.
//
//	a, ok := agents.Get("claude-code")
//	a.ProjectDir                     // ".claude/skills"
//	a.UserPath(home, os.Getenv)      // "/home/me/.claude/skills", true
package agents

import (
	_ "embed"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

//go:embed agents.tsv
var data string

// Agent is one line of the table.
type Agent struct {
	ID, Name string
	// ProjectDir is a slash path relative to the project.
	ProjectDir string
	// UserDir is "~/…" with slashes, or "" for an agent without one.
	UserDir string
	// AlsoProject and AlsoUser are further directories that other sources or older
	// versions name; a skill there may shadow one of ours.
	AlsoProject, AlsoUser []string

	env, envBase string   // the variable that stands for a base such as ~/.config
	detect       []string // "~/…" for the user, else relative to the project
}

var table = sync.OnceValue(parse)

func parse() []Agent {
	var list []Agent
	header := true
	for line := range strings.Lines(data) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if header {
			header = false
			continue
		}
		f := strings.Split(line, "\t")
		a := Agent{ID: f[0], Name: f[1], ProjectDir: f[2], UserDir: f[3]}
		a.env, a.envBase, _ = strings.Cut(f[4], "=")
		a.detect = strings.Fields(f[5])
		a.AlsoProject, a.AlsoUser = strings.Fields(f[6]), strings.Fields(f[7])
		list = append(list, a)
	}
	return list
}

// All returns every agent by id. The caller must not change the slice.
func All() []Agent { return table() }

// Get returns the agent of an id.
func Get(id string) (Agent, bool) {
	i, ok := slices.BinarySearchFunc(table(), id, func(a Agent, id string) int { return strings.Compare(a.ID, id) })
	if !ok {
		return Agent{}, false
	}
	return table()[i], true
}

// Similar returns ids that a person may have meant by one that does not exist:
// those that contain it or that it contains, by id.
func Similar(id string) []string {
	var ids []string
	id = strings.ToLower(id)
	for _, a := range table() {
		if len(id) > 1 && (strings.Contains(a.ID, id) || strings.Contains(id, a.ID)) || strings.EqualFold(a.Name, id) {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// UserPath returns the agent's user directory on this machine, the agent's own
// variable (such as CLAUDE_CONFIG_DIR) honoured; false if it has none.
func (a Agent) UserPath(home string, getenv func(string) string) (string, bool) {
	if a.UserDir == "" {
		return "", false
	}
	return a.expand(a.UserDir, home, getenv), true
}

// expand turns "~/x" into a path of this machine.
func (a Agent) expand(dir, home string, getenv func(string) string) string {
	if base := a.override(getenv); base != "" {
		if rest, ok := strings.CutPrefix(dir, a.envBase); ok && (rest == "" || rest[0] == '/') {
			return filepath.Join(base, filepath.FromSlash(rest))
		}
	}
	return filepath.Join(home, filepath.FromSlash(strings.TrimPrefix(dir, "~/")))
}

// override returns the value of the agent's variable; a relative one is ignored,
// as the XDG base directory specification demands.
func (a Agent) override(getenv func(string) string) string {
	if a.env == "" {
		return ""
	}
	if base := getenv(a.env); filepath.IsAbs(base) {
		return base
	}
	return ""
}

// Detect returns the agents in use: those with a sign in the project, or, if no
// agent has one, those with a sign in the user's home. exists reports whether a
// path of this machine exists.
func Detect(project, home string, getenv func(string) string, exists func(string) bool) []Agent {
	found := detect(func(a Agent, sign string) bool {
		return !strings.HasPrefix(sign, "~/") && exists(filepath.Join(project, filepath.FromSlash(sign)))
	})
	if len(found) > 0 {
		return found
	}
	return detect(func(a Agent, sign string) bool {
		return strings.HasPrefix(sign, "~/") && exists(a.expand(sign, home, getenv))
	})
}

func detect(shows func(a Agent, sign string) bool) []Agent {
	var found []Agent
	for _, a := range table() {
		if slices.ContainsFunc(a.detect, func(sign string) bool { return shows(a, sign) }) {
			found = append(found, a)
		}
	}
	return found
}
