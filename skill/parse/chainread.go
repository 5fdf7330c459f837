package parse

import (
	"path"
	"strconv"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
	yaml "go.yaml.in/yaml/v4"
)

// maxSteps bounds a chain; the longest proposed one has 8 members.
const maxSteps = 1000

// chain reads metadata.chain and, only where there is one, the options beside
// it. The words mean nothing elsewhere.
func (r *fieldReader) chain(entries []field) {
	byKey := map[string]field{}
	for _, e := range entries {
		byKey[e.key.Value] = e
	}
	e, ok := byKey["chain"]
	if !ok {
		return
	}
	c := &Chain{Position: r.at(e.value), Policy: DefaultPolicy, ValidateOnLoad: true}
	if !r.steps(c, e) {
		return
	}
	for _, o := range chainOptions {
		if f, ok := byKey[o.key]; ok {
			r.chainOption(c, o, f)
		}
	}
	if !c.Parallel {
		for _, key := range []string{"parallel_limit", "race_mode"} {
			if f, ok := byKey[key]; ok && strings.TrimSpace(nodeText(f.value)) != "false" {
				r.note(diag.ChainOptionUnused, r.at(f.value), "`%s` has no effect on a chain that is not `async: \"true\"`", key)
			}
		}
	}
	r.skill.Chain = c
}

// steps reads the members, from a list or from a comma string.
func (r *fieldReader) steps(c *Chain, e field) bool {
	switch e.value.Kind {
	case yaml.SequenceNode:
		c.List = true
		for _, m := range e.value.Content {
			if m.Kind != yaml.ScalarNode {
				r.problem(diag.DependencyName, r.at(m), "a member of the chain is %s; expected a skill's name", kindWords(m))
				return false
			}
			if !r.step(c, strings.TrimSpace(nodeText(m)), r.at(m)) {
				return false
			}
		}
	case yaml.ScalarNode:
		for part := range strings.SplitSeq(nodeText(e.value), ",") {
			if !r.step(c, strings.TrimSpace(part), r.at(e.value)) {
				return false
			}
		}
	default:
		r.problem(diag.ChainOptionValue, r.at(e.value), "`metadata.chain` is a mapping; expected names in one string").
			WithHint("write chain: \"first, second\"")
		return false
	}
	if len(c.Steps) == 0 {
		r.problem(diag.ChainOptionValue, r.at(e.value), "`metadata.chain` names no skill").WithHint("write chain: \"first, second\", or leave it out")
		return false
	}
	return true
}

func (r *fieldReader) step(c *Chain, text string, at Position) bool {
	if why := climbs(text); why != "" {
		r.problem(diag.ChainEscapes, at, "the chain's member `%s` %s; members lie beside the chain or deeper", text, why).
			WithHint("name the skill alone: `%s`", path.Base(strings.ReplaceAll(text, `\`, "/")))
		return false
	}
	clean := strings.TrimSuffix(path.Clean(text), "/"+FileName)
	name, err := skill.ParseName(path.Base(clean))
	if text == "" || err != nil {
		e := r.problem(diag.DependencyName, at, "the chain's member `%s` is no skill name", text)
		if err != nil && text != "" {
			e.Message += ": " + err.Error()
		}
		return false
	}
	if len(c.Steps) == maxSteps {
		r.problem(diag.ChainOptionValue, at, "the chain has more than %d members", maxSteps)
		return false
	}
	c.Steps = append(c.Steps, Step{Name: name, Path: clean, Position: at})
	return true
}

// climbs says how a member's path leaves the directory that holds the chain.
func climbs(text string) string {
	slashed := strings.ReplaceAll(text, `\`, "/")
	switch {
	case strings.HasPrefix(slashed, "/") || strings.HasPrefix(slashed, "~") || len(slashed) > 1 && slashed[1] == ':':
		return "is absolute"
	case strings.Contains(slashed, "://"):
		return "is an address"
	}
	for element := range strings.SplitSeq(slashed, "/") {
		if element == ".." {
			return "climbs with `..`"
		}
	}
	return ""
}

// chainOption is one option beside metadata.chain. set returns what was
// expected, or "" if it took the text.
type chainOption struct {
	key string
	set func(c *Chain, text string) (expected string)
}

// chainOptions are in the order of the proposal that defines them.
var chainOptions = []chainOption{
	{"async", boolOption(func(c *Chain) *bool { return &c.Parallel })},
	{"continue_on_error", boolOption(func(c *Chain) *bool { return &c.Policy.ContinueOnError })},
	{"timeout", intOption(0, func(c *Chain) *int { return &c.Policy.Timeout })},
	{"max_depth", intOption(1, func(c *Chain) *int { return &c.Policy.MaxDepth })},
	{"parallel_limit", intOption(1, func(c *Chain) *int { return &c.Policy.ParallelLimit })},
	{"validate_on_load", boolOption(func(c *Chain) *bool { return &c.ValidateOnLoad })},
	{"cleanup_after", boolOption(func(c *Chain) *bool { return &c.Policy.CleanupAfter })},
	{"early_exit_on", wordOption(func(c *Chain) *string { return &c.Policy.EarlyExitOn }, "none", "failure", "success", "critical")},
	{"continue_on_success", boolOption(func(c *Chain) *bool { return &c.Policy.ContinueOnSuccess })},
	{"pass_state", boolOption(func(c *Chain) *bool { return &c.Policy.PassState })},
	{"retry_count", intOption(1, func(c *Chain) *int { return &c.Policy.RetryCount })},
	{"retry_until", wordOption(func(c *Chain) *string { return &c.Policy.RetryUntil }, "none", "stable", "success")},
	{"race_mode", boolOption(func(c *Chain) *bool { return &c.Policy.RaceMode })},
}

func (r *fieldReader) chainOption(c *Chain, o chainOption, f field) {
	expected, found := "", kindWords(f.value)
	if f.value.Kind == yaml.ScalarNode {
		text := strings.TrimSpace(nodeText(f.value))
		if expected = o.set(c, text); expected == "" {
			return
		}
		found = "`" + shorten(text, 40) + "`"
	} else {
		expected = o.set(c, "\x00") // no option takes it, so this names what is expected
	}
	r.problem(diag.ChainOptionValue, r.at(f.value), "the chain's option `%s` is %s; expected %s", o.key, found, expected)
}

func boolOption(at func(*Chain) *bool) func(*Chain, string) string {
	return func(c *Chain, text string) string {
		switch text {
		case "true", "True", "TRUE":
			*at(c) = true
		case "false", "False", "FALSE":
			*at(c) = false
		default:
			return "true or false"
		}
		return ""
	}
}

// maxOption bounds the integers, so that they fit a 32-bit runtime.
const maxOption = 1<<31 - 1

func intOption(least int, at func(*Chain) *int) func(*Chain, string) string {
	return func(c *Chain, text string) string {
		n, err := strconv.Atoi(text)
		if err != nil || n < least || n > maxOption || strconv.Itoa(n) != text {
			return "a whole number from " + strconv.Itoa(least)
		}
		*at(c) = n
		return ""
	}
}

func wordOption(at func(*Chain) *string, words ...string) func(*Chain, string) string {
	return func(c *Chain, text string) string {
		for _, w := range words {
			if text == w {
				*at(c) = w
				return ""
			}
		}
		return "one of " + strings.Join(words, ", ")
	}
}
