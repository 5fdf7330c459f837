package derive

import (
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
	found := map[NeedKind][]Evidence{}
	add := func(kind NeedKind, e Evidence) { found[kind] = append(found[kind], e) }
	scanText(s, add)
	scanFiles(s, add)
	scanFields(s, add)

	var needs []Need
	for _, kind := range needKinds {
		if all := found[kind]; len(all) > 0 {
			needs = append(needs, Need{
				Kind: kind, Confidence: confidence(all), Source: "deterministic",
				Evidence: strongest(all), EvidenceTotal: len(all),
			})
		}
	}
	return needs
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

// strongest keeps the heaviest evidence, in the order it was found.
func strongest(all []Evidence) []Evidence {
	if len(all) <= maxEvidence {
		return all
	}
	ranked := slices.Clone(all)
	slices.SortStableFunc(ranked, func(a, b Evidence) int {
		switch {
		case a.Weight > b.Weight:
			return -1
		case a.Weight < b.Weight:
			return 1
		}
		return 0
	})
	ranked = ranked[:maxEvidence]
	slices.SortStableFunc(ranked, func(a, b Evidence) int {
		if a.Path != b.Path {
			return strings.Compare(a.Path, b.Path)
		}
		return a.Line - b.Line
	})
	return ranked
}

// scanText walks SKILL.md line by line: the frontmatter fields that can carry a
// hint, then the body with its code blocks.
func scanText(s *Skill, add func(NeedKind, Evidence)) {
	var offset int
	var field, fence string
	for n, line := range lines(s.Text) {
		inBody := offset >= s.BodyStart
		offset += len(line) + 1
		low := lower(line)
		if !inBody {
			field = frontmatterField(line, field)
			if field == "allowed-tools" {
				scanTools(low, n, add)
			} else if hintField(field) {
				scanLine(low, n, field, add)
			}
			continue
		}
		fence = scanFence(low, n, fence, add)
		scanLine(low, n, "body", add)
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

// scanFence notes code blocks by language and returns the fence that is open
// after line.
func scanFence(line string, n int, open string, add func(NeedKind, Evidence)) string {
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
		add(kind, Evidence{Path: SkillFile, Line: n, Field: "body", Match: mark + language, Weight: fenceWeight})
	}
	return mark
}

func scanLine(line string, n int, field string, add func(NeedKind, Evidence)) {
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
		add(rule.kind, Evidence{Path: SkillFile, Line: n, Field: field, Match: rule.phrase, Weight: math.Round(weight*100) / 100})
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

// scanTools reads the declared tools: the author's own list of what is used.
func scanTools(line string, n int, add func(NeedKind, Evidence)) {
	line = strings.TrimPrefix(line, "allowed-tools:")
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" ,[]\"'\t", r) })
	for _, word := range words {
		tool, _, _ := strings.Cut(word, "(")
		kind, ok := toolNeeds[tool]
		if strings.HasPrefix(tool, "mcp__") || strings.HasPrefix(tool, "mcp:") {
			kind, ok = NeedMCP, true
		}
		if ok {
			add(kind, Evidence{Path: SkillFile, Line: n, Field: "allowed-tools", Match: tool, Weight: toolWeight})
		}
	}
}

// scanFiles takes the scripts a skill carries as a hint that they get run.
func scanFiles(s *Skill, add func(NeedKind, Evidence)) {
	for _, f := range s.Tree.Files() {
		if KindOf(f.Path) == KindScript && !isData(f.Path) {
			add(NeedScriptRun, Evidence{Path: f.Path, Field: "file", Match: "scripts/", Weight: fileWeight})
		}
		if f.Path == ".mcp.json" {
			add(NeedMCP, Evidence{Path: f.Path, Field: "file", Match: ".mcp.json", Weight: toolWeight})
		}
	}
}

// scanFields takes frontmatter fields outside the specification that name a
// capability. They are no grants either.
func scanFields(s *Skill, add func(NeedKind, Evidence)) {
	for _, field := range s.Other {
		if kind, ok := fieldNeeds[lower(field)]; ok {
			add(kind, Evidence{Path: SkillFile, Line: fieldLine(s, field), Field: field, Match: field, Weight: toolWeight})
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
