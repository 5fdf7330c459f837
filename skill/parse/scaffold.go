package parse

import (
	"fmt"
	"strings"

	"github.com/skillpm/skillpm/skill"
)

// Scaffold returns the SKILL.md of a new skill. It has no problems, so that an
// author begins from a good state; what is to be filled in is noted
// (placeholder_left) until it is.
func Scaffold(name skill.Name) []byte {
	title := strings.ReplaceAll(string(name), "-", " ")
	title = strings.ToUpper(title[:1]) + title[1:]
	return fmt.Appendf(nil, scaffold, name, placeholderDescription, title, placeholderBody)
}

// What an author has to replace.
const (
	placeholderDescription = "Says what this skill does. Use when the user asks for it; name the words and files that should trigger it."
	placeholderBody        = "Write here what an agent must know to do the task, step by step."
)

const scaffold = `---
name: %s
description: "%s"
---

# %s

%s

## Steps

1. Look at what is there.
2. Do the work.
3. Check the result.

## When it goes wrong

Say how a failure looks and what to do then. Long detail belongs into files
under references/, programs under scripts/, templates under assets/.
`
