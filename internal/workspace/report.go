package workspace

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
)

// gathered is a finding that many skills may share, told once.
type gathered struct {
	keys []string
	// first is the first skill's own finding, told as it is if it stays the only one.
	first *diag.Error
}

// Gather keeps a finding about one skill for reportGathered.
func (p *Project) Gather(code diag.Code, key string, e *diag.Error) {
	g := p.gathered[code]
	if g == nil {
		g = &gathered{first: e}
		p.gathered[code] = g
	}
	if !slices.Contains(g.keys, key) {
		g.keys = append(g.keys, key)
	}
}

// gatheredTexts are the headlines of what is told about skills together.
var gatheredTexts = map[diag.Code]string{
	diag.Unsigned:            "not signed",
	diag.SignerUnverified:    "signed, but no trust rule names the signer",
	diag.VersionRetracted:    "retracted since they were locked",
	diag.TagGone:             "the locked tag no longer exists",
	diag.TagMoved:            "the locked tag now names another commit",
	diag.TagsMixed:           "repository-wide tags are newer than those of the skill, and do not count",
	diag.KeyNotName:          "the declared name is not the directory's, so runtimes that demand that will not load it",
	diag.VersionDiffers:      "SKILL.md names another version than the tag, which decides",
	diag.SkillGitRules:       "they have git files of their own, by which another clone would not get what is installed here",
	diag.FrontmatterRepaired: "a value in the frontmatter is no YAML and was read as if quoted",
}

// MaxNamed bounds how many skills a gathered finding names.
const MaxNamed = 5

// FirstNames names the first MaxNamed of keys, and how many more there are.
func FirstNames(keys []string) string {
	names := strings.Join(keys[:min(len(keys), MaxNamed)], ", ")
	if more := len(keys) - MaxNamed; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return names
}

// ReportGathered tells what was gathered, one finding a code.
func (p *Project) ReportGathered() {
	for _, code := range slices.Sorted(maps.Keys(p.gathered)) {
		g := p.gathered[code]
		if len(g.keys) == 1 && g.first != nil {
			p.Opt.Report(g.first)
			continue
		}
		text, ok := gatheredTexts[code]
		if !ok {
			info, _ := diag.Lookup(code)
			text = info.Meaning
		}
		e := diag.Warn(code, "%s: %s", text, FirstNames(g.keys))
		switch code {
		case diag.Unsigned, diag.SignerUnverified, diag.TagsMixed, diag.KeyNotName, diag.VersionDiffers:
			e.Severity = diag.SeverityNote
		case diag.VersionRetracted:
			e.WithHint("`skillpm outdated` shows why, and what stands")
		case diag.SkillGitRules:
			e.WithHint("keep them out of git, and `skillpm install` brings them to every clone; `skillpm help skill_git_rules` says more")
		case diag.TagGone, diag.TagMoved:
			e.WithHint("the locked commits stay installable from the cache and from mirrors")
		default:
			e.WithHint("they are installed as they are; `skillpm validate PATH` says where, `[install] validation = \"strict\"` refuses them")
		}
		e.Data = map[string]any{"skills": g.keys}
		p.Opt.Report(e)
	}
	clear(p.gathered)
}

// Usage is a usage error.
func Usage(format string, args ...any) *diag.Error { return diag.New(diag.Usage, format, args...) }

// FirstError returns the first finding that is an error, nil if there is none.
func FirstError(list diag.List) error {
	for _, e := range list {
		if e.Severity == diag.SeverityError || e.Severity == "" {
			return e
		}
	}
	return nil
}

// Nearest returns the word of list that is closest to s by edit distance, if it
// is close enough to be meant, else "".
func Nearest(s string, list []string) string {
	best, bestDistance := "", len(s)/2+1
	for _, w := range list {
		if d := diag.Distance(s, w); d < bestDistance {
			best, bestDistance = w, d
		}
	}
	return best
}

// SortedKeys returns the keys of m in byte order.
func SortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
