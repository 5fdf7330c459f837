package derive

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// NeedKind is one of the six capability words that hosts use as policy keys.
type NeedKind string

// The capability words, in the order needs are listed.
const (
	NeedWebSearch      NeedKind = "web_search"
	NeedWebBrowse      NeedKind = "web_browse"
	NeedWorkspaceWrite NeedKind = "workspace_write"
	NeedScriptRun      NeedKind = "script_run"
	NeedShell          NeedKind = "shell"
	NeedMCP            NeedKind = "mcp"
)

var needKinds = []NeedKind{NeedWebSearch, NeedWebBrowse, NeedWorkspaceWrite, NeedScriptRun, NeedShell, NeedMCP}

// Need says that a skill's text or files suggest a capability. It is advice to
// the host and never a grant: a host matches Kind against its own policy.
type Need struct {
	Kind NeedKind `json:"kind"`
	// Confidence is between 0 and 1: how strongly the evidence together
	// suggests the need. Declared tools weigh most, a word in passing least.
	Confidence float64 `json:"confidence"`
	// Source is always "deterministic": no model was asked.
	Source string `json:"source"`
	// Evidence is where it was found, in the order of the text, the strongest
	// few; EvidenceTotal counts all.
	Evidence      []Evidence `json:"evidence"`
	EvidenceTotal int        `json:"evidence_total"`
}

// Evidence is one place that suggests a need.
type Evidence struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"` // from 1; absent where the whole file is the evidence
	// Field is the frontmatter field the line belongs to, "body", or "file".
	Field string `json:"field"`
	// Match is the phrase that was recognised.
	Match  string  `json:"match"`
	Weight float64 `json:"weight"`
}

// maxEvidence is the most places a need lists.
const maxEvidence = 5

// maxConfidence: words can suggest, not prove.
const maxConfidence = 0.95

// Needs scans the first MaxScan bytes of SKILL.md and the names of the files
// for the six capabilities and returns those with any evidence. It reads no
// file of the tree and takes time linear in the text.
func Needs(s *Skill) []Need {
	sc := &scan{skill: s, found: map[NeedKind][]Evidence{}}
	sc.text()
	sc.files()
	sc.fields()

	var needs []Need
	for _, kind := range needKinds {
		if all := sc.found[kind]; len(all) > 0 {
			needs = append(needs, Need{
				Kind: kind, Confidence: confidence(all), Source: "deterministic",
				Evidence: strongest(all), EvidenceTotal: len(all),
			})
		}
	}
	return needs
}

// scan collects the evidence in one skill.
type scan struct {
	skill *Skill
	found map[NeedKind][]Evidence
}

// add records evidence in line n of the skill file.
func (sc *scan) add(kind NeedKind, n int, field, match string, weight float64) {
	sc.found[kind] = append(sc.found[kind], Evidence{
		Path: sc.skill.file(), Line: n, Field: field, Match: match, Weight: math.Round(weight*100) / 100,
	})
}

// confidence joins the weights of different phrases as independent hints; a
// phrase said twice counts once, with its larger weight.
func confidence(all []Evidence) float64 {
	best := map[string]float64{}
	for _, e := range all {
		best[e.Match] = max(best[e.Match], e.Weight)
	}
	weights := make([]float64, 0, len(best))
	for _, w := range best {
		weights = append(weights, w)
	}
	slices.Sort(weights) // float products depend on their order
	doubt := 1.0
	for _, w := range weights {
		doubt *= 1 - w
	}
	return math.Round(min(1-doubt, maxConfidence)*100) / 100
}

// strongest returns the heaviest evidence, by path and line.
func strongest(all []Evidence) []Evidence {
	ranked := slices.Clone(all)
	slices.SortStableFunc(ranked, func(a, b Evidence) int { return cmp.Compare(b.Weight, a.Weight) })
	ranked = ranked[:min(len(ranked), maxEvidence)]
	slices.SortStableFunc(ranked, func(a, b Evidence) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
	return ranked
}

// text walks SKILL.md line by line: the frontmatter fields that can carry a
// hint, then the body with its code blocks.
func (sc *scan) text() {
	s := sc.skill
	var offset int
	var field, fence string
	for n, line := range lines(s.Text) {
		inBody := offset >= s.BodyStart
		offset += len(line) + 1
		low := lower(line)
		if !inBody {
			field = frontmatterField(line, field)
			if field == "allowed-tools" {
				sc.tools(low, n)
			} else if hintField(field) {
				sc.line(low, n, field)
			}
			continue
		}
		fence = sc.fence(low, n, fence)
		sc.line(low, n, "body")
	}
}

// frontmatterField returns the top-level key that line begins, else the one it
// continues.
func frontmatterField(line, current string) string {
	if line == "" || line[0] == ' ' || line[0] == '\t' || line[0] == '-' || line[0] == '#' {
		return current
	}
	key, _, ok := strings.Cut(line, ":")
	if !ok {
		return current
	}
	return strings.Trim(strings.TrimSpace(key), `"'`)
}

func hintField(field string) bool {
	return field == "description" || field == "compatibility" || field == "metadata"
}

// fence notes code blocks by language and returns the fence that is open
// after line.
func (sc *scan) fence(line string, n int, open string) string {
	trimmed := strings.TrimLeft(line, " ")
	mark := ""
	for _, m := range []string{"```", "~~~"} {
		if strings.HasPrefix(trimmed, m) {
			mark = m
		}
	}
	switch {
	case mark == "":
		return open
	case open != "":
		if mark == open {
			return ""
		}
		return open
	}
	language, _, _ := strings.Cut(strings.TrimSpace(strings.TrimLeft(trimmed, "`~")), " ")
	if kind, ok := fenceNeeds[language]; ok {
		sc.add(kind, n, "body", mark+language, fenceWeight)
	}
	return mark
}

// line notes the phrases in one line, in lower case.
func (sc *scan) line(line string, n int, field string) {
	if line == "" {
		return
	}
	for _, rule := range phraseRules {
		at := phraseAt(line, rule.phrase)
		if at < 0 {
			continue
		}
		weight := rule.weight
		if field == "compatibility" {
			weight = min(maxConfidence, weight+0.2) // a statement of requirements, not prose
		}
		if negated(line[:at]) {
			weight /= 4
		}
		sc.add(rule.kind, n, field, rule.phrase, weight)
	}
}

// negated reports whether the words just before a phrase deny it.
func negated(before string) bool {
	if len(before) > 40 {
		before = before[len(before)-40:]
	}
	for _, no := range []string{"do not ", "don't ", "never ", "without ", "no ", "not "} {
		if hasPhrase(before, no) {
			return true
		}
	}
	return false
}

// tools reads the declared tools: the author's own list of what is used.
func (sc *scan) tools(line string, n int) {
	line = strings.TrimPrefix(line, "allowed-tools:")
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" ,[]\"'\t", r) })
	for _, word := range words {
		tool, _, _ := strings.Cut(word, "(")
		kind, ok := toolNeeds[tool]
		if strings.HasPrefix(tool, "mcp__") || strings.HasPrefix(tool, "mcp:") {
			kind, ok = NeedMCP, true
		}
		if ok {
			sc.add(kind, n, "allowed-tools", tool, toolWeight)
		}
	}
}

// files takes the scripts a skill carries as a hint that they get run.
func (sc *scan) files() {
	for _, f := range sc.skill.Tree.Files() {
		if KindOf(f.Path) == KindScript && isScript(f) {
			sc.addFile(NeedScriptRun, f.Path, "scripts/", fileWeight)
		}
		if f.Path == ".mcp.json" {
			sc.addFile(NeedMCP, f.Path, f.Path, toolWeight)
		}
	}
}

func (sc *scan) addFile(kind NeedKind, path, match string, weight float64) {
	sc.found[kind] = append(sc.found[kind], Evidence{Path: path, Field: "file", Match: match, Weight: weight})
}

// fields takes frontmatter fields outside the specification that name a
// capability. They are no grants either.
func (sc *scan) fields() {
	for _, field := range sc.skill.Other {
		if kind, ok := fieldNeeds[lower(field)]; ok {
			sc.add(kind, fieldLine(sc.skill, field), field, field, toolWeight)
		}
	}
}

// fieldLine returns the line of a top-level frontmatter field, 0 if not found.
func fieldLine(s *Skill, field string) int {
	var offset int
	for n, line := range lines(s.Text) {
		if offset >= s.BodyStart {
			break
		}
		offset += len(line) + 1
		if frontmatterField(line, "") == field {
			return n
		}
	}
	return 0
}
