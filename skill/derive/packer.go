package derive

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/skill"
)

// Pack builds a context pack of skills, in their order. Each skill may use an
// equal share of what is left of the budget, its guidance first; what it does
// not use goes to those after it. Texts are cut at the end of a line where that
// loses less than half, else at a code point. Errors are those of Read, and a
// *skill.Error with code usage for an impossible budget.
func Pack(skills []*Skill, opt PackOptions) (*ContextPack, error) {
	if opt.Budget == 0 {
		opt.Budget = DefaultPackBudget
	}
	if opt.Budget < 0 || opt.Budget > MaxPackBudget {
		return nil, &skill.Error{
			Code: "usage", Offset: -1,
			Message: fmt.Sprintf("a budget is 1 to %d characters, found %d", MaxPackBudget, opt.Budget),
		}
	}
	p := &packer{opt: opt, terms: terms(opt.Task + " " + opt.Intent), pack: &ContextPack{
		Schema: PackSchema, SchemaVersion: PackSchema,
		Task: opt.Task, Intent: opt.Intent, BudgetChars: opt.Budget,
		Skills: []PackSkill{}, Citations: []Citation{}, Diagnostics: []PackDiagnostic{},
	}}
	for i, s := range skills {
		share := (opt.Budget - p.pack.UsedChars) / (len(skills) - i)
		if err := p.add(s, share); err != nil {
			return nil, err
		}
	}
	return p.pack, nil
}

type packer struct {
	opt   PackOptions
	terms []string
	pack  *ContextPack
}

func (p *packer) add(s *Skill, share int) error {
	out := PackSkill{
		SkillID: SkillID(s.key()), DisplayName: s.Name, Description: s.Description, Digest: s.Tree.Digest(),
		References: []PackResource{}, Examples: []PackResource{}, Assets: []PackResource{}, ResourceIndex: []PackIndexRow{},
	}
	share -= p.guidance(s, &out, share)
	if err := p.resources(s, &out, share); err != nil {
		return err
	}
	p.index(s, &out)
	p.pack.Skills = append(p.pack.Skills, out)
	return nil
}

// guidance takes the body and returns the code points it used.
func (p *packer) guidance(s *Skill, out *PackSkill, share int) int {
	body := strings.ToValidUTF8(strings.TrimSpace(string(s.Body())), "\ufffd")
	excerpt, used, truncated := cutText(body, share)
	if truncated {
		p.note("guidance_cut", out.SkillID, s.file(), fmt.Sprintf("the first %d characters of the guidance fit the budget", used))
	}
	if excerpt == "" {
		return 0
	}
	out.Guidance = &PackGuidance{Path: s.file(), Excerpt: excerpt, Truncated: truncated, Citation: citation(out.SkillID, s.file())}
	if f, ok := s.Tree.File(s.file()); ok {
		p.cite(out, f)
	}
	p.pack.UsedChars += used
	return used
}

// candidate is a resource that may go into the pack.
type candidate struct {
	file  skill.File
	kind  string
	score int
}

func (p *packer) resources(s *Skill, out *PackSkill, share int) error {
	rd := reader{skill: s}
	for _, c := range p.candidates(s) {
		if share <= 0 {
			p.leftOut(out.SkillID, c)
			continue
		}
		data, why, err := rd.text(c.file)
		if err != nil {
			return err
		}
		if why != "" {
			p.note("resource_not_text", out.SkillID, c.file.Path, "left out: "+why)
			continue
		}
		content, used, truncated := cutText(string(data), min(share, maxPackResource))
		if used == 0 {
			continue
		}
		share -= used
		p.pack.UsedChars += used
		p.take(out, c, content, truncated)
	}
	return nil
}

func (p *packer) take(out *PackSkill, c candidate, content string, truncated bool) {
	r := PackResource{
		Path: c.file.Path, Kind: c.kind, Content: content, Size: c.file.Size, SHA256: hex.EncodeToString(c.file.SHA256[:]),
		Score: c.score, Truncated: truncated, Citation: citation(out.SkillID, c.file.Path),
	}
	if truncated {
		p.note("resource_cut", out.SkillID, c.file.Path, "the beginning fits the budget")
	}
	switch c.kind {
	case "reference":
		out.References = append(out.References, r)
	case "example":
		out.Examples = append(out.Examples, r)
	default:
		out.Assets = append(out.Assets, r)
	}
	p.cite(out, c.file)
}

func (p *packer) leftOut(id string, c candidate) {
	p.pack.Truncated = true
	p.note("resource_left_out", id, c.file.Path, "the budget is used up")
}

// candidates returns the resources that options, task and intent ask for, best
// first, then by path.
func (p *packer) candidates(s *Skill) []candidate {
	var list []candidate
	for _, f := range s.Tree.Files() {
		kind := packKind(f.Path)
		if kind == "" || f.Path == s.file() || !isTextMedia(MediaType(f.Path)) {
			continue
		}
		c := candidate{file: f, kind: kind, score: p.score(f.Path)}
		if p.wanted(c) {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return b.score - a.score })
	return list
}

// packKind returns the sort of a file for packs, empty for what never goes in.
// Documents beside SKILL.md are references in most real skills.
func packKind(path string) string {
	first, _, nested := strings.Cut(path, "/")
	switch {
	case nested && (first == "examples" || first == "example"):
		return "example"
	case KindOf(path) == KindReference, nested && first == "reference":
		return "reference"
	case KindOf(path) == KindAsset:
		return "asset"
	case !nested && MediaType(path) == "text/markdown":
		return "reference"
	}
	return ""
}

func (p *packer) wanted(c candidate) bool {
	mode := map[string]Include{"reference": p.opt.References, "example": p.opt.Examples, "asset": p.opt.Assets}[c.kind]
	switch {
	case mode == IncludeAlways:
		return true
	case mode == IncludeNever:
		return false
	case c.kind == "reference":
		return c.score > 0 || len(p.terms) == 0
	case c.kind == "example":
		return c.score > 0 || slices.Contains(p.terms, "code") || slices.Contains(p.terms, "generate")
	}
	return false
}

// score counts the words of task and intent that the path holds.
func (p *packer) score(path string) int {
	words := terms(path)
	n := 0
	for _, t := range p.terms {
		if slices.Contains(words, t) {
			n++
		}
	}
	return n
}

// terms returns the distinct words of s of three letters or more, in lower case.
func terms(s string) []string {
	words := strings.FieldsFunc(strings.ToLower(s[:min(len(s), 64<<10)]), func(r rune) bool {
		return r < 0x80 && (r < '0' || r > '9') && (r < 'a' || r > 'z')
	})
	words = slices.DeleteFunc(words, func(w string) bool { return len(w) < 3 })
	slices.Sort(words)
	return slices.Compact(words)
}

func (p *packer) index(s *Skill, out *PackSkill) {
	for _, f := range s.Tree.Files() {
		if f.Path == s.file() {
			continue
		}
		if len(out.ResourceIndex) == maxIndexRows {
			p.note("index_cut", out.SkillID, "", fmt.Sprintf("the index lists %d of %d files", maxIndexRows, len(s.Tree.Files())-1))
			return
		}
		out.ResourceIndex = append(out.ResourceIndex, PackIndexRow{
			Path: f.Path, Kind: KindOf(f.Path), Size: f.Size, SHA256: hex.EncodeToString(f.SHA256[:]),
		})
	}
}

func (p *packer) cite(out *PackSkill, f skill.File) {
	p.pack.Citations = append(p.pack.Citations, Citation{
		SkillID: out.SkillID, Path: f.Path, Digest: skill.DigestFromSum(f.SHA256), Tree: out.Digest,
	})
}

func (p *packer) note(code, id, path, message string) {
	if strings.HasSuffix(code, "_cut") {
		p.pack.Truncated = true
	}
	p.pack.Diagnostics = append(p.pack.Diagnostics, PackDiagnostic{Level: "note", Code: code, SkillID: id, Path: path, Message: message})
}

func citation(id, path string) string { return "skills/" + id + "/" + path }

// cutText returns at most n code points of s, how many, and whether that is not
// all.
func cutText(s string, n int) (text string, used int, truncated bool) {
	if n <= 0 {
		return "", 0, s != ""
	}
	text, truncated = cutRunes(s, n)
	if truncated {
		if i := strings.LastIndexByte(text, '\n'); i > len(text)/2 {
			text = text[:i+1]
		}
	}
	return text, len([]rune(text)), truncated
}
