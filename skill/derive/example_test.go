package derive_test

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/skillpm/skillpm/skill"
	"github.com/skillpm/skillpm/skill/derive"
	"github.com/skillpm/skillpm/skill/parse"
)

const front = `---
name: pdf
description: Reads PDF files. Use for <forms>.
---
`

const body = `
# PDF

Run the script on the file:

` + "```bash\npython scripts/extract.py in.pdf\n```" + `

See references/forms.md for forms.
`

// pdf is a skill of three files.
func pdf() *derive.Skill {
	content := map[string]string{
		"SKILL.md":            front + body,
		"references/forms.md": "# Forms\n\nFill in the fields.\n",
		"scripts/extract.py":  "#!/usr/bin/env python3\nprint('text')\n",
	}
	var files []skill.File
	for path, text := range content {
		files = append(files, skill.File{Path: path, Size: int64(len(text)), SHA256: sha256.Sum256([]byte(text))})
	}
	tree, err := skill.NewTree(files, skill.DefaultLimits)
	if err != nil {
		panic(err)
	}
	return &derive.Skill{
		Name: "pdf", Description: "Reads PDF files. Use for <forms>.",
		Text: []byte(front + body), BodyStart: len(front), Tree: tree,
		Read: func(path string) ([]byte, error) { return []byte(content[path]), nil },
	}
}

// Of takes what skill/parse read; the tree and the bytes come from wherever the
// runtime keeps its skills.
func ExampleOf() {
	text := []byte(front + body)
	parsed, findings := parse.Read(text, parse.Options{Dir: "pdf"})
	if parsed == nil {
		panic(findings)
	}
	s := derive.Of(parsed, text, pdf().Tree, pdf().Read)
	counts := derive.CountTokens(s)
	fmt.Println(s.Name, counts.Metadata, counts.Body)
	// Output: pdf 11 38
}

func ExampleNewCard() {
	card, err := derive.NewCard(pdf())
	if err != nil {
		panic(err)
	}
	fmt.Println(card.SkillID, card.Tokens.Metadata, "tokens in every prompt")
	for _, s := range card.Scripts {
		fmt.Println("script", s.Path, s.Interpreter)
	}
	fmt.Println("fetches at run time:", card.FetchesAtRuntime)
	// Output:
	// pdf 11 tokens in every prompt
	// script scripts/extract.py python
	// fetches at run time: false
}

func ExampleNeeds() {
	for _, n := range derive.Needs(pdf()) {
		fmt.Printf("%s %.2f, first seen at %s:%d\n", n.Kind, n.Confidence, n.Evidence[0].Path, n.Evidence[0].Line)
	}
	// Output:
	// script_run 0.95, first seen at SKILL.md:8
	// shell 0.50, first seen at SKILL.md:10
}

func ExampleResources() {
	rows, err := derive.Resources(pdf())
	if err != nil {
		panic(err)
	}
	for _, r := range rows {
		fmt.Println(r.Kind, r.Path, r.Media, r.Summary)
	}
	// Output:
	// reference references/forms.md text/markdown # Forms Fill in the fields.
	// script scripts/extract.py text/x-python print('text')
}

func ExamplePack() {
	pack, err := derive.Pack([]*derive.Skill{pdf()}, derive.PackOptions{Intent: "forms", Budget: 60})
	if err != nil {
		panic(err)
	}
	fmt.Println(pack.Schema, pack.UsedChars, "of", pack.BudgetChars)
	for _, c := range pack.Citations {
		fmt.Println("cites", c.Path)
	}
	for _, d := range pack.Diagnostics {
		fmt.Println(d.Code, d.Path)
	}
	// Output:
	// agently.skills.context_pack.v1 60 of 60
	// cites SKILL.md
	// cites references/forms.md
	// guidance_cut SKILL.md
	// resource_cut references/forms.md
}

func ExamplePromptXML() {
	fmt.Println(derive.PromptXML([]derive.PromptEntry{
		{Name: "pdf", Description: "Reads PDF files. Use for <forms>.", Location: "/app/.agents/skills/pdf/SKILL.md"},
	}))
	// Output:
	// <available_skills>
	// <skill>
	// <name>
	// pdf
	// </name>
	// <description>
	// Reads PDF files. Use for &lt;forms&gt;.
	// </description>
	// <location>
	// /app/.agents/skills/pdf/SKILL.md
	// </location>
	// </skill>
	// </available_skills>
}

func ExampleClever() {
	data, err := derive.Clever([]derive.Installed{
		{Name: "pdf", Path: ".agents/skills/pdf", Digest: pdf().Tree.Digest()},
	})
	if err != nil {
		panic(err)
	}
	fmt.Print(strings.ReplaceAll(string(data), pdf().Tree.Digest().Hex(), "…"))
	// Output:
	// agent_skills:
	//   - path: ".agents/skills/pdf"
	//     name: "pdf"
	//     source_tag: agent_skill
	//     digest: sha256:…
}

func ExampleAgently() {
	files, err := derive.Agently(pdf(), derive.Origin{Type: "git", URL: "https://github.com/acme/skills", Ref: "v1.2.0"})
	if err != nil {
		panic(err)
	}
	for _, f := range files {
		fmt.Println(f.Path)
	}
	// Output:
	// checksums.json
	// decision_card.json
	// install.json
	// resource_index.json
}

func ExampleChock() {
	data, err := derive.Chock([]derive.LayerSkills{
		{Layer: derive.LayerProject, Path: ".agents/skills", Skills: []derive.Installed{
			{Name: "drill", Description: "Trains.", Path: ".agents/skills/drill", TrainingMode: "trainable"},
		}},
	})
	if err != nil {
		panic(err)
	}
	fmt.Print(string(data))
	// Output:
	// {
	//   "schema": "skillpm.chock.v1",
	//   "layers": [
	//     {
	//       "layer": "project",
	//       "path": ".agents/skills",
	//       "action": "skill.read.project",
	//       "default": "ask",
	//       "skills": [
	//         {
	//           "name": "drill",
	//           "description": "Trains.",
	//           "path": ".agents/skills/drill",
	//           "prompt": false
	//         }
	//       ]
	//     }
	//   ]
	// }
}

func ExampleLockedTokens() {
	fmt.Printf("%+v\n", derive.LockedTokens("pdf", "Reads PDF files.", 4812, 21034))
	// Output: {Metadata:6 Body:1203 Resources:5259}
}
