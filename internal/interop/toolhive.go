package interop

import (
	"strings"

	"github.com/skillpm/skillpm/skill"
)

// readToolhive reads toolhive.lock.yaml, version 1. Skills from git carry over
// with their commit; its digests are of OCI artefacts and by rules of its own.
// The recorded signer is told, so that a trust rule can be written.
func readToolhive(r *reading) error {
	f, root, err := r.tree("toolhive.lock.yaml")
	if err != nil {
		return err
	}
	if err := f.version(root, "version", "1", "v1"); err != nil {
		return err
	}
	for _, s := range root.get("skills").list() {
		at, name := f.at(s), s.str("name")
		if len(s.get("requiredBy").list()) > 0 && s.str("explicit") != "true" {
			r.note(at, "`%s` is there because another skill requires it; it comes with that one", name)
			continue
		}
		i := Item{Place: at, Name: name, Key: name}
		reference := s.str("source")
		if !strings.HasPrefix(reference, "git://") {
			reference = s.str("resolvedReference")
		}
		rest, ok := strings.CutPrefix(reference, "git://")
		if !ok {
			r.skip(at, name, "it is an OCI artefact; name the git repository it was built from")
			continue
		}
		repo, ref, sub := toolhiveReference(rest)
		i.setRef(ref)
		if _, locked, _ := toolhiveReference(strings.TrimPrefix(s.str("resolvedReference"), "git://")); skill.IsObjectID(locked) {
			i.Commit = locked
		}
		if sub == "" {
			i.Pick = []string{name}
		}
		if p := s.get("provenance"); p.str("signerIdentity") != "" {
			r.note(f.at(p), "`%s` was signed by %s (issuer %s); a rule under [trust] can demand that", name, p.str("signerIdentity"), p.str("certIssuer"))
		}
		src, err := git(repo, sub)
		r.take(i, src, err)
	}
	if n := len(root.get("plugins").list()); n > 0 {
		r.note(f.at(root.get("plugins")), "%d plugins stay behind: they are no skills", n)
	}
	return nil
}

// toolhiveReference splits host/owner/repo[@ref][#path].
func toolhiveReference(text string) (repo, ref, sub string) {
	text, sub, _ = strings.Cut(text, "#")
	repo, ref, _ = strings.Cut(text, "@")
	return repo, ref, sub
}
