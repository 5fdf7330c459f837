package deptest

// grants are what packages may use of the world. A package that is not here is
// given everything by its caller, which is how its tests are fast and its answers
// the same everywhere: the solver, the formats and the readers of foreign files
// know no network, no disk, no clock and no chance.
var grants = []grant{
	{"cache", "disk", "it is the store on disk"},
	{"cache", "clock", "entries age, and a run waits for the index for so long"},
	{"cache", "random", "names of temporary files"},
	{"cmd/internal/cli", "disk", "arguments name files and directories"},
	{"cmd/internal/cli", "environment", "it hands the environment to everybody else"},
	{"cmd/internal/cli", "clock", "it hands the time to everybody else"},
	{"cmd/internal/cli", "random", "it hands randomness to key generation"},
	{"cmd/skillpm", "environment", "the program's arguments"},
	{"fetch", "clock", "waiting between attempts, and how long a fetch took"},
	{"fetch/git", "network", "it is a client of git servers"},
	{"fetch/git", "disk", "repositories on disk, and the user's settings of git and ssh"},
	{"fetch/git", "clock", "time limits of servers that stall"},
	{"fetch/git", "environment", "ssh takes the name of the user"},
	{"fetch/git", "programs", "git, ssh and credential helpers, where the library cannot do it"},
	{"fetch/index", "network", "it is a client of registries"},
	{"fetch/internal/web", "network", "it makes every HTTP client of package fetch"},
	{"fetch/internal/web", "clock", "time limits of servers that stall"},
	{"fetch/internal/web", "disk", "certificate authorities of the user's own"},
	{"fetch/local", "disk", "a source is a directory"},
	{"fetch/oci", "network", "it is a client of OCI registries and static mirrors"},
	{"fetch/oci", "disk", "a mirror may be a directory or an archive"},
	{"fetch/oci", "environment", "a proxy of the user's, as every HTTP client takes it"},
	{"internal/author", "clock", "a commit that is made to be looked at needs a time"},
	{"internal/author", "disk", "it reads the skill that is tagged or signed"},
	{"internal/author", "environment", "git, which it starts, needs the user's"},
	{"internal/author", "programs", "tags are made by git, with the user's keys"},
	{"internal/flock", "disk", "a lock is a file"},
	{"internal/flock", "clock", "it waits for so long"},
	{"internal/fsx", "disk", "it is the way to the disk"},
	{"internal/fsx", "clock", "a file in use is tried again, on Windows"},
	{"internal/fsx", "random", "names of temporary files"},
	{"internal/install", "disk", "it compares what is installed with what is wanted"},
	{"internal/install", "clock", "the journal says when a run began"},
	{"internal/adopt", "disk", "it looks for agents and for other tools' files"},
	{"internal/decide", "clock", "the search for an answer ends after so long"},
	{"internal/mirroring", "disk", "locks are found below a directory"},
	{"internal/project", "programs", "git, for the merge driver"},
	{"internal/regular", "disk", "it opens files that must not be pipes or devices"},
	{"internal/views", "disk", "what agents would load is looked up in their directories"},
	{"internal/views", "programs", "doctor says which programs there are"},
	{"internal/workspace", "disk", "it searches the project and reads its files"},
	{"internal/workspace", "clock", "it hands the time to the rooms above"},
	{"internal/world", "disk", "path skills, and installed ones as they are"},
	{"internal/world", "network", "it passes on the guarded client of package fetch"},
	{"lockfile", "disk", "reading and verifying an installed skill, for runtimes"},
	{"signing", "random", "signatures need it"},
	{"skill/parse", "disk", "validation walks a directory"},
	{"skill/parse/inspect", "disk", "a directory's files"},
}

// comparers are the files that may look at an error itself, and why.
var comparers = map[string]string{}

// ceilings say how much a package may hold. Those above the rest are what there
// is today: they get lower, and nobody's gets higher.
var ceilings = []ceiling{
	{"lines", 5500, map[string]int{}, lines, "beyond that nobody reads a package through; there are two in it"},
	{"exported names", 50, map[string]int{
		"internal/diag":  224, // a constant for every code
		"signing":        62,
		"internal/views": 94, // an answer's type for every command that only shows
		"skill/derive":   69,
	}, exportedNames, "a caller has to know them all"},
	{"files in one cycle", 6, map[string]int{
		"cmd/internal/cli": 42,
		"fetch/git":        24,
		"fetch/oci":        23,
		"internal/choose":  7,
		"internal/decide":  11,
		"internal/install": 16,
		"internal/interop": 17,
		"internal/views":   15,
		"internal/world":   11,
		"lockfile":         12,
		"resolver":         25,
		"signing":          22,
		"skill/parse":      21,
	}, largestCycle, "files that all need each other can only be understood and tested together"},
}
