package resolver

import (
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// DefaultConflicts is how many conflicts a solve may meet before it gives up
// with resolution_budget_exceeded. Ordinary problems meet fewer than a hundred.
const DefaultConflicts = 100_000

// Candidate is one version of one skill from one source.
type Candidate struct {
	Name skill.Key
	// Source is the identity of where it lives (skill.Source.Identity). Two
	// candidates of one name and source with equal versions, build metadata
	// aside, are the same candidate; pseudo-versions are the same when their
	// commits are equal.
	Source string
	// Version is the zero Version for a path skill that declares none; such a
	// candidate satisfies every range.
	Version skill.Version
	// Commit is the commit it is read from, "" for a path skill. The version at
	// the commit of a parent that named it by look-up is preferred.
	Commit string
	// Local marks a path skill of the project. It ranks before everything but
	// the locked candidate.
	Local bool
	// Cached says that its bytes are at hand: under Input.Offline other
	// candidates, unless Local or locked, do not exist.
	Cached bool
	// Retracted says that the author or a registry withdrew it; it is then a
	// candidate only where locked or named exactly by the root. RetractedReason
	// is their words, or "".
	Retracted       bool
	RetractedReason string
	// Hidden is why the version may not be used although it exists, such as
	// "first seen 2 hours ago, min_age is 3d", or "". A locked candidate is
	// never hidden.
	Hidden string
	// Refusal refuses the whole solution if this candidate would be chosen, as
	// ambiguous_version does. It never makes the solver choose another.
	Refusal *diag.Error
}

// Edge is one requirement, settled: the caller has decided where it points.
type Edge struct {
	// Name is the key of what is required.
	Name skill.Key
	// Range is a Masterminds/semver/v3 range; "", "*" and "latest" mean any
	// stable version. It is ignored beside Ref and Exact.
	Range string
	// Ref is a branch, tag or full commit; Universe.At turns it into a
	// candidate. In the edge of a candidate only a full commit is allowed;
	// anything else is floating_dependency unless an override replaces it.
	Ref string
	// Digest pins the content; "" does not.
	Digest skill.Digest
	// Sources are the identities of the sources that may answer; candidates of
	// others are excluded. Usually one. Empty means that the look-up found
	// nothing: no candidate satisfies the edge, and Missing says why.
	Sources []string
	// Missing explains empty Sources: "no skill of that name in …".
	Missing string
	// OrLocked also admits the locked candidate of the name, whatever its
	// source: the requirement gave none, and a registry that now points
	// elsewhere must not move what is locked.
	OrLocked bool
	// OrRoot also admits, if the range is "*", whatever the root's own
	// requirement on the name admits, pseudo-versions included: the requirement
	// gave no source and was settled by the root's entry.
	OrRoot bool
	// LookedUp says that the source was found in the parent's own repository.
	LookedUp bool
	// Exact is the commit that a sibling without version tags must have: the
	// parent's. It is used only if the range is "*"; with any other range such
	// an edge has no candidate (no_versions).
	Exact string
	// Chain marks a member of metadata.chain. It constrains like any other edge.
	Chain bool
	// Delegate is the reserved word after "delegate:"; choosing the parent
	// refuses with delegate_reserved.
	Delegate string
	// Fault refuses the whole solution if the parent is chosen, as
	// ambiguous_skill does; the edge then constrains nothing. An override on
	// Name removes the fault, as it removes a floating ref, if it names a source
	// or the edge has one.
	Fault *diag.Error
}

// Override replaces range or ref of every requirement on Name and drops their
// digest pins; the source only where Source is not "".
type Override struct {
	Name   skill.Key
	Range  string
	Ref    string
	Source string
	// Digest pins what the override chose; "" does not.
	Digest skill.Digest
}

// Locked is an entry of the previous lock.
type Locked struct {
	Candidate
	// Digest is the locked content, "" if the lock has none.
	Digest skill.Digest
	// Refs are the refs, as requirements spell them, that the lock says this
	// candidate is at: an Edge with one of them accepts it and Universe.At is not
	// asked while it is held. A full commit needs no mention.
	Refs []string
	// Edges are the entry's requirements and chain members, settled.
	Edges []Edge
	// TagGone and RegistryChanged are facts that the caller learnt, if it did;
	// each makes a warning if the entry is kept.
	TagGone, RegistryChanged bool
}

// Input is a problem. Solve does not change it.
type Input struct {
	// Project is how messages call the root; "" means "project".
	Project string
	// RootName is the root's own name if other skills can require it, else "".
	RootName skill.Key
	// Root are the project's requirements, one a name.
	Root []Edge
	// Overrides are the root's, one a name.
	Overrides []Override
	// Lock is the previous lock. Path skills that are being edited do not
	// belong here, they are no facts; under Frozen their entries do, with Local.
	Lock []Locked
	// Unlock names the entries that the user asked to update; UnlockAll
	// releases all, as if there were no lock.
	Unlock    []skill.Key
	UnlockAll bool
	// Prefer are names of the root to bring to their newest version: first with
	// everything else held, then with other transitive entries free, and only
	// then an older one, with the warning older_chosen. `add NAME` and `update
	// NAME` set it; the names are unlocked.
	Prefer []skill.Key
	// Frozen demands that the lock is exactly what the root needs: nothing is
	// solved and the Universe is not asked. Every difference is reported as
	// lock_outdated.
	Frozen bool
	// Offline restricts candidates to cached, local and locked ones.
	Offline bool
	// Conflicts is the budget; 0 means DefaultConflicts.
	Conflicts int
	// Expired is asked now and then whether the time is over; nil means never.
	// It is the caller's clock (10 s in skillpm), so that the package has none.
	Expired func() bool
}

// State says whether a Universe has an answer.
type State int

const (
	// NotLoaded: unknown yet; Solve returns a *Need that asks for it.
	NotLoaded State = iota
	// Loaded: the answer is a fact and does not change between calls.
	Loaded
	// NotApproved: the repository may not be contacted without consent.
	NotApproved
	// Unavailable: offline, and not at hand.
	Unavailable
)

// Versions is what is known of one name at one source.
type Versions struct {
	State State
	// List are the versions, equal ones once, in any order; newest first costs
	// least, since then nothing is copied.
	List []Candidate
	// Untagged says that List is empty because the source has no version tags.
	Untagged bool
	// NotFound says why the source has no such skill at all, or "".
	NotFound string
	// Repository is what consent is asked for under NotApproved, such as
	// "github.com/acme/skills".
	Repository string
}

// Requirements is what is known of one candidate's SKILL.md.
type Requirements struct {
	State State
	// Edges are the requirements and chain members, in any order.
	Edges []Edge
	// Unreadable is why the SKILL.md cannot be read, or "". Such a version is no
	// candidate.
	Unreadable string
}

// Universe answers from memory. Its methods are called from one goroutine, are
// cheap, and give the same answer for the whole of one Solve; a Loaded answer
// stays for all later calls. Results are not modified.
type Universe interface {
	// Versions lists what source has of name.
	Versions(name skill.Key, source string) Versions
	// At returns the candidate, with a pseudo-version, that name has at a
	// branch, tag or full commit of source. The State is NotLoaded, Loaded,
	// NotApproved or Unavailable; a Loaded answer with Name "" means that there
	// is no such ref or no such skill at it.
	At(name skill.Key, source, ref string) (Candidate, State)
	// Requirements returns what c demands. It is not asked of locked candidates
	// whose entry was given in Input.Lock.
	Requirements(c Candidate) Requirements
	// Digest returns c's content digest; it is asked for pinned names only.
	Digest(c Candidate) (skill.Digest, State)
}

// Wanted is one thing to load; see the Universe's methods.
type Wanted struct {
	Name   skill.Key
	Source string
	// Ref is set for At alone.
	Ref string
	// Candidate is set for Requirements and Digest alone.
	Candidate Candidate
}

// Need is the outcome of a Solve that lacks facts: load them, in any order, and
// call Solve again. What is listed first is needed for certain; the rest will
// probably be (up to eight versions of a name, newest first, and the other names
// that the solve is about to decide), and loading less of it only costs rounds.
type Need struct {
	Versions     []Wanted
	At           []Wanted
	Requirements []Wanted
	Digests      []Wanted
}

// Unapproved is a repository that may be contacted only with consent.
type Unapproved struct {
	// Repository is Versions.Repository, or the source where that is "".
	Repository string
	// Source is the identity of the required skill's source.
	Source string
	// Name is what is wanted from it, By how the root comes to want it.
	Name skill.Key
	By   Path
}

// NeedConsent is the outcome of a Solve whose next decision needs a repository
// that is not approved. List holds every such repository known so far, ordered
// by repository and name; the one that stopped the solve is among them.
type NeedConsent struct {
	List []Unapproved
}

// Solution is a complete answer.
type Solution struct {
	// Chosen are the skills, in the order they were decided: depth, then name.
	Chosen []Chosen
	// Moves are the locked names whose candidate changed, Added the names that
	// were not locked, Dropped the locked names that nothing needs any more;
	// each sorted by name.
	Moves   []Move
	Added   []skill.Key
	Dropped []skill.Key
	// Warnings are override_active, override_unused, version_retracted,
	// tag_gone, registry_changed, older_chosen and fetch_offline (a newer
	// version may exist), sorted by name, one each.
	Warnings []Warning
	// Behind are the skills for which a newer version that every requirement on
	// them allows was passed over, sorted by name.
	Behind []Behind
	// Conflicts counts the conflicts met on the way.
	Conflicts int

	root []*edge
}

// Chosen is a decided skill.
type Chosen struct {
	Candidate
	// Depth is the distance from the root, 1 for the root's own requirements.
	Depth int
	// Edges are the candidate's requirements with overrides applied, sorted by
	// name, requirements before chain members.
	Edges []Edge
	// Kept says that it is the locked candidate.
	Kept bool
}

// Move is a locked name that got another candidate.
type Move struct {
	Name     skill.Key
	From, To Candidate
	// Downgrade says that the new version is lower.
	Downgrade bool
}

// Warning is something the user should know about a successful solve.
type Warning struct {
	Code    diag.Code
	Name    skill.Key
	Message string
	Hint    string
}

// Behind is a skill that is not at the newest version its requirements allow.
type Behind struct {
	Name           skill.Key
	Chosen, Newest skill.Version
	// Count is how many newer versions there are.
	Count int
	// Because names the chosen skills that Newest does not get along with, as
	// far as the solve found out; empty if the lock alone holds it.
	Because []skill.Key
}

// Reason refines a Failure's code for programs.
type Reason string

// The reasons of subskill_unresolved, in the JSON field "reason".
const (
	NotFound           Reason = "not_found"
	NoMatchingVersion  Reason = "no_matching_version"
	DisjointRanges     Reason = "disjoint_ranges"
	OnlyPrereleases    Reason = "only_prereleases"
	OnlyRetracted      Reason = "only_retracted"
	NameSourceConflict Reason = "name_source_conflict"
	DigestConflict     Reason = "digest_conflict"
	NoVersions         Reason = "no_versions"
	Offline            Reason = "offline"
	UnreadableSkill    Reason = "unreadable_skill"
)

// Path is a way from the root to a requirement: each step is a chosen or
// considered skill and what it requires next.
type Path []Step

// Step is one element of a Path. The first has the project as its Name.
type Step struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"` // "" for the project, for a path skill without version, and for an end that was not chosen
	// Requires is what this step demands of the next one ("" in the last step).
	Requires string `json:"requires,omitempty"`
	// Source is where this step's skill lives, "" for the project.
	Source string `json:"source,omitempty"`
	// Chain says that the demand on the next step is a chain member.
	Chain bool `json:"chain,omitempty"`
}

// Failure is a refusal. It is an error; Diag turns it into the finding that
// commands print.
type Failure struct {
	Code   diag.Code
	Reason Reason // "" unless Code is subskill_unresolved or no_versions
	// Headline names the fault, lower case, no full stop.
	Headline string
	// Proof are the lines of the derivation, without indentation or line end;
	// continuation lines begin with two blanks. Lines that are referred to
	// later carry their number, "(1)".
	Proof []string
	// Why are paths with versions from the root to the requirements at fault.
	Why []Path
	// Hint is one command or edit that would help, or "".
	Hint string
	// Cycle is the whole path of subskill_cycle_detected: from the root to the
	// first repeated skill, and round to it again. CycleStart is the index in
	// Cycle of the first element of the circle.
	Cycle      Path
	CycleStart int
	// Culprits are the skills at fault, sorted; for resolution_budget_exceeded
	// the three that met most conflicts, most first.
	Culprits []skill.Key
	// Refusals are the findings of chosen candidates and edges that refuse by
	// themselves; Code is then the first one's.
	Refusals diag.List
}
