package agents

// Rule says which of several skills with one name a runtime loads.
type Rule string

// The rules of the runtimes that are known.
const (
	FirstWins    Rule = "first"        // the directory of higher precedence
	KeepsAll     Rule = "all"          // every one, under the same name
	Undetermined Rule = "undetermined" // whichever happens to be read last
)

// Scope is whose directory a root is.
type Scope string

// The scopes.
const (
	ScopeProject Scope = "project"
	ScopeUser    Scope = "user"
	ScopeSystem  Scope = "system" // came with the machine or the environment
)

// Root is one directory that a runtime reads skills from.
type Root struct {
	Scope Scope
	// Dir is a slash path: relative to the project, "~/…", or absolute.
	Dir string
	// Up says that the same directory of every parent is read too, up to the top
	// of the git work tree.
	Up bool
}

// Loader is how one runtime finds skills: what is known from its source or its
// documentation, as of agents.tsv. It describes; nothing here decides.
type Loader struct {
	ID string
	// Roots stand by precedence, highest first, where Rule is FirstWins.
	Roots []Root
	Rule  Rule
	// ByDirectory: a skill's name is its directory's, whatever SKILL.md says.
	ByDirectory bool
	// Contained: a skill of the project that is a link out of it is refused.
	Contained bool
	// Cap is how many skills reach the prompt, 0 without a fixed number.
	Cap int
}

// loaders are by id. Claude Code and Chock put a person's skills over the
// project's, Gemini CLI and Goose the other way round: the reason to look at both.
var loaders = []Loader{
	{ID: "chock", Rule: FirstWins, Contained: true, Cap: 32, Roots: []Root{
		{Scope: ScopeUser, Dir: "~/.config/chock/skills"},
		{Scope: ScopeProject, Dir: ".agents/skills"},
	}},
	{ID: "claude-code", Rule: FirstWins, ByDirectory: true, Roots: []Root{
		{Scope: ScopeUser, Dir: "~/.claude/skills"},
		{Scope: ScopeProject, Dir: ".claude/skills", Up: true},
	}},
	{ID: "codex", Rule: KeepsAll, Roots: []Root{
		{Scope: ScopeProject, Dir: ".agents/skills", Up: true},
		{Scope: ScopeProject, Dir: ".codex/skills"},
		{Scope: ScopeUser, Dir: "~/.agents/skills"},
		{Scope: ScopeUser, Dir: "~/.codex/skills"},
		{Scope: ScopeSystem, Dir: "/etc/codex/skills"},
	}},
	{ID: "gemini-cli", Rule: FirstWins, Roots: []Root{
		{Scope: ScopeProject, Dir: ".agents/skills"},
		{Scope: ScopeProject, Dir: ".gemini/skills"},
		{Scope: ScopeUser, Dir: "~/.agents/skills"},
		{Scope: ScopeUser, Dir: "~/.gemini/skills"},
	}},
	{ID: "goose", Rule: FirstWins, Roots: []Root{
		{Scope: ScopeProject, Dir: ".agents/skills"},
		{Scope: ScopeProject, Dir: ".goose/skills"},
		{Scope: ScopeProject, Dir: ".claude/skills"},
		{Scope: ScopeUser, Dir: "~/.config/goose/skills"},
		{Scope: ScopeUser, Dir: "~/.config/agents/skills"},
		{Scope: ScopeUser, Dir: "~/.claude/skills"},
	}},
	{ID: "opencode", Rule: Undetermined, Roots: []Root{
		{Scope: ScopeProject, Dir: ".agents/skills", Up: true},
		{Scope: ScopeProject, Dir: ".claude/skills", Up: true},
		{Scope: ScopeProject, Dir: ".opencode/skills", Up: true},
		{Scope: ScopeProject, Dir: ".opencode/skill", Up: true},
		{Scope: ScopeUser, Dir: "~/.config/opencode/skills"},
		{Scope: ScopeUser, Dir: "~/.config/opencode/skill"},
		{Scope: ScopeUser, Dir: "~/.agents/skills"},
		{Scope: ScopeUser, Dir: "~/.claude/skills"},
	}},
}

// Loaders returns the runtimes whose precedence is known, by id. The caller must
// not change the slice. "chock" is among them and no agent of the table: it is
// told its directories and has none of its own.
func Loaders() []Loader { return loaders }

// LoaderOf returns how the runtime id finds skills. For an agent whose
// precedence nobody has read, it is the table's directories with the rule
// Undetermined; false means that the id is unknown.
func LoaderOf(id string) (Loader, bool) {
	for _, l := range loaders {
		if l.ID == id {
			return l, true
		}
	}
	a, ok := Get(id)
	if !ok {
		return Loader{}, false
	}
	l := Loader{ID: id, Rule: Undetermined}
	for _, dir := range append([]string{a.ProjectDir}, a.AlsoProject...) {
		l.Roots = append(l.Roots, Root{Scope: ScopeProject, Dir: dir})
	}
	for _, dir := range append([]string{a.UserDir}, a.AlsoUser...) {
		if dir != "" {
			l.Roots = append(l.Roots, Root{Scope: ScopeUser, Dir: dir})
		}
	}
	return l, true
}

// UserDir returns where a "~/…" root of the runtime lies on this machine, its own
// variable (such as CLAUDE_CONFIG_DIR) honoured.
func (l Loader) UserDir(dir, home string, getenv func(string) string) string {
	a, _ := Get(l.ID) // a runtime outside the table has no variable
	return a.expand(dir, home, getenv)
}
