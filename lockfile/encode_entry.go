package lockfile

import "slices"

func (w *writer) root(r *Root) {
	w.field("requires", func() { w.stringMap(r.Requires) })
	w.optionalMap("overrides", r.Overrides)
	w.unknown(r.Unknown)
}

func (w *writer) entry(e *Entry) {
	w.optional("version", e.Version)
	w.optional("declaredName", e.DeclaredName)
	w.optional("description", e.Description)
	w.field("source", func() { w.object(func() { w.source(&e.Source) }) })
	w.optional("digest", string(e.Digest))
	w.optionalMap("requires", e.Requires)
	w.optionalStrings("dependencies", sortedSet(e.Dependencies))
	w.optional("allowedTools", e.AllowedTools)
	if !e.Size.IsZero() {
		w.field("size", func() { w.object(func() { w.size(&e.Size) }) })
	}
	if e.Signature != nil {
		w.field("signature", func() { w.object(func() { w.signature(e.Signature) }) })
	}
	w.optional("use", e.Use)
	w.optional("retracted", e.Retracted)
	if e.Chain != nil {
		w.field("chain", func() { w.object(func() { w.chain(e.Chain) }) })
	}
	if e.Training != nil {
		w.field("training", func() { w.object(func() { w.training(e.Training) }) })
	}
	w.unknown(e.Unknown)
}

func sortedSet(list []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}

func (w *writer) source(s *Source) {
	w.str("type", s.Type)
	w.optional("url", s.URL)
	w.optional("path", s.Path)
	w.optional("tag", s.Tag)
	w.optional("ref", s.Ref)
	w.optional("commit", s.Commit)
	w.optional("tree", s.Tree)
	w.optional("artifact", s.Artifact)
	w.optional("sha256", s.SHA256)
	w.unknown(s.Unknown)
}

func (w *writer) size(s *Size) {
	w.number("body", s.Body)
	w.number("resources", s.Resources)
	w.number("files", s.Files)
	w.unknown(s.Unknown)
}

func (w *writer) signature(s *Signature) {
	w.str("kind", s.Kind)
	w.optional("issuer", s.Issuer)
	w.optional("identity", s.Identity)
	w.optional("subject", s.Subject)
	w.optional("hint", s.Hint)
	w.optional("key", s.Key)
	w.str("bundle", string(s.Bundle))
	w.unknown(s.Unknown)
}

func (w *writer) chain(c *Chain) {
	w.str("mode", c.Mode)
	w.optionalStrings("steps", c.Steps)
	w.optionalStrings("unresolved", c.Unresolved)
	w.number("depth", c.Depth)
	w.field("policy", func() { w.object(func() { w.policy(&c.Policy) }) })
	w.unknown(c.Unknown)
}

func (w *writer) policy(p *Policy) {
	w.boolean("continue_on_error", p.ContinueOnError)
	w.number("timeout", p.Timeout)
	w.number("max_depth", p.MaxDepth)
	w.number("parallel_limit", p.ParallelLimit)
	w.boolean("cleanup_after", p.CleanupAfter)
	w.str("early_exit_on", p.EarlyExitOn)
	w.boolean("continue_on_success", p.ContinueOnSuccess)
	w.boolean("pass_state", p.PassState)
	w.number("retry_count", p.RetryCount)
	w.str("retry_until", p.RetryUntil)
	w.boolean("race_mode", p.RaceMode)
	w.unknown(p.Unknown)
}

func (w *writer) training(t *Training) {
	w.str("mode", t.Mode)
	w.str("sha256", t.SHA256)
	if s := t.Suites; s != nil {
		w.field("suites", func() {
			w.object(func() {
				w.suite("train", &s.Train)
				w.suite("validation", &s.Validation)
				w.suite("test", &s.Test)
				w.unknown(s.Unknown)
			})
		})
	}
	w.unknown(t.Unknown)
}

func (w *writer) suite(name string, s *Suite) {
	w.field(name, func() {
		w.object(func() {
			w.str("path", s.Path)
			w.str("sha256", s.SHA256)
			w.unknown(s.Unknown)
		})
	})
}
