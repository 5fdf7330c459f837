package interop

import (
	"net/url"
	"path"
	"strings"

	"github.com/skillpm/skillpm/skill"
)

// git returns the source of a repository, spelled as other tools do: owner/repo,
// host/group/repo, a URL or scp form with or without .git. sub is a directory in
// it; "" with whole false leaves open which skill is meant.
func git(repo, sub string) (skill.Source, error) {
	src, err := skill.ParseSource(strings.TrimSuffix(repo, "/"))
	if err != nil {
		return src, err
	}
	if src.Kind() == skill.SourceIndex && sub == "" {
		return src, nil
	}
	if sub == "" {
		return src, nil
	}
	if sub = cleanSub(sub); sub == "." {
		return src.WithSubpath(""), nil
	}
	return skill.ParseSource(strings.TrimSuffix(src.Spelling(), "//") + "//" + escape(sub))
}

// escape lets a path with blanks and percent signs through ParseSource.
func escape(sub string) string {
	return strings.NewReplacer("%", "%25", " ", "%20", "?", "%3F", "#", "%23").Replace(sub)
}

// cleanSub turns the spellings of a directory in a repository into a clean slash
// path: of a SKILL.md its directory, "." for the root.
func cleanSub(sub string) string {
	sub = strings.ReplaceAll(sub, `\`, "/")
	if strings.EqualFold(path.Base(sub), "SKILL.md") {
		sub = path.Dir(sub)
	}
	return path.Clean(strings.TrimLeft(strings.TrimPrefix(sub, "./"), "/"))
}

// local returns a path source relative to the directory that is read.
func local(dir string) (skill.Source, error) {
	if u, ok := strings.CutPrefix(dir, "file://"); ok {
		if decoded, err := url.PathUnescape(u); err == nil {
			dir = decoded
		}
	}
	dir = strings.ReplaceAll(dir, `\`, "/")
	if strings.EqualFold(path.Base(dir), "SKILL.md") {
		dir = path.Dir(dir)
	}
	return skill.ParseSource("path:" + dir)
}

// cutRef splits TEXT#REF.
func cutRef(text string) (base, ref string) {
	base, ref, _ = strings.Cut(text, "#")
	return base, ref
}

// setRef puts what a file calls a ref where it belongs: a full commit, or a
// branch or tag.
func (i *Item) setRef(ref string) {
	ref = strings.TrimPrefix(strings.TrimPrefix(ref, "refs/heads/"), "refs/tags/")
	switch {
	case ref == "" || ref == "latest" || ref == "HEAD":
	case skill.IsObjectID(ref):
		i.Ref = ref
		if i.Commit == "" {
			i.Commit = ref
		}
	default:
		i.Ref = ref
	}
}

// fault reports why an item cannot be used, "" if it can: names and refs come
// from files that anybody may have written.
func (i *Item) fault() string {
	if i.Ref != "" {
		if err := skill.CheckRef(i.Ref); err != nil {
			return err.Error()
		}
	}
	if i.Tag != "" && skill.CheckRef(i.Tag) != nil {
		i.Tag = ""
	}
	if i.Commit != "" && !skill.IsObjectID(i.Commit) {
		i.Commit = "" // an abbreviated id pins nothing
	}
	if i.Key != "" {
		if _, err := skill.ParseKey(i.Key); err != nil {
			i.Key = ""
		}
	}
	return ""
}

// take adds an item whose source was just parsed, or skips it with the reason.
func (r *reading) take(i Item, src skill.Source, err error) {
	if err != nil {
		r.skip(i.Place, i.Name, err.Error())
		return
	}
	i.Source = src
	if why := i.fault(); why != "" {
		r.skip(i.Place, i.Name, why)
		return
	}
	r.add(i)
}
