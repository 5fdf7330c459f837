package parse

import (
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
)

// specFields are the top-level fields of the specification (agentskills.io,
// agentskills/agentskills 69ef37e), in its order.
var specFields = []string{"name", "description", "license", "compatibility", "metadata", "allowed-tools"}

// clientFields names the client whose own top-level field a key is. Sources:
// the clients' documentation, August 2026.
var clientFields = map[string]string{
	"agent":                    "Claude Code",
	"argument-hint":            "Claude Code",
	"arguments":                "Claude Code",
	"context":                  "Claude Code",
	"disable-model-invocation": "Claude Code",
	"disallowed-tools":         "Claude Code",
	"effort":                   "Claude Code",
	"hooks":                    "Claude Code",
	"model":                    "Claude Code",
	"paths":                    "Claude Code",
	"shell":                    "Claude Code",
	"user-invocable":           "Claude Code",
	"when_to_use":              "Claude Code",
	"allow-scripts":            "Agently",
	"allowed-actions":          "Agently",
	"mcp":                      "Agently",
	"mcpServers":               "Agently",
	"command-arg-mode":         "OpenClaw",
	"command-dispatch":         "OpenClaw",
	"command-tool":             "OpenClaw",
	"toolhive.requires":        "ToolHive",
}

// dependencyFields are the spellings of dependencies that skillpm never
// resolves: in the wild they mostly name packages or binaries.
var dependencyFields = map[string]bool{
	"dependencies": true, "depends": true, "depends-on": true, "depends_on": true,
	"requires": true, "requirements": true, "prerequisites": true,
	"skill-dependencies": true, "skill_dependencies": true,
	"depends-on-skills": true, "depends_on_skills": true,
	"requires-skills": true, "required-skills": true, "requires_skills": true,
	"skills": true, "toolhive.requires": true,
}

// metadataFields are top-level fields that belong under metadata.
var metadataFields = map[string]bool{
	"author": true, "category": true, "homepage": true, "keywords": true, "repository": true, "tags": true, "version": true,
}

// hostNames are words that one host keeps for itself in skill names. The first
// two may stand anywhere in a name, the last only alone.
var hostNames = []struct{ word, host string }{
	{"anthropic", "claude.ai"},
	{"claude", "claude.ai"},
}

// nearestField returns the specification's field that key was probably meant to
// be, or "".
func nearestField(key string) string {
	folded := strings.NewReplacer("_", "-", " ", "-").Replace(strings.ToLower(key))
	if len(folded) > 32 { // longer than any field and its slips; keys may be huge
		return ""
	}
	for _, f := range specFields {
		if diag.Distance(folded, f) <= len(f)/5 {
			return f
		}
	}
	if folded == "tools" || folded == "allowedtools" {
		return "allowed-tools"
	}
	return ""
}
