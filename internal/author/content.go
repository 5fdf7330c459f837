package author

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/skillpm/skillpm/fetch"
	"github.com/skillpm/skillpm/fetch/git"
	"github.com/skillpm/skillpm/fetch/local"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/signing"
	"github.com/skillpm/skillpm/skill/parse"
)

// State says what a skill's content was read from.
type State string

// The states. The first two are of git work trees.
const (
	Committed State = "committed"                           // git has it as it is
	Changed   State = "with changes that are not committed" // as git would record it now
	Directory State = "directory"                           // git publishes nothing of it
)

// content is a skill as an installer would get it.
type content struct {
	*fetch.Content // nil where err is set
	err            error
	state          State
}

// LoadDirectories reads directories as they lie on disk, whatever git would make
// of them: what is installed is not published from there. It is a parse.LoadFunc.
func LoadDirectories(ctx context.Context, places []parse.Place) ([]parse.Loaded, error) {
	out := make([]parse.Loaded, len(places))
	for i, p := range places {
		c, err := loadDirectory(ctx, p.Dir)
		if err != nil {
			return nil, err
		}
		out[i] = c.judged(ctx, p.Name)
	}
	return out, nil
}

// Load reads skills as an installer would get them, and judges what validation
// alone cannot see. It is a parse.LoadFunc.
func Load(ctx context.Context, places []parse.Place) ([]parse.Loaded, error) {
	contents, err := loadAll(ctx, places)
	if err != nil {
		return nil, err
	}
	out := make([]parse.Loaded, len(places))
	for i, c := range contents {
		out[i] = c.judged(ctx, places[i].Name)
	}
	return out, nil
}

// judged adds what is wrong with the signature, whoever made it. That it is of
// another content is only noted while that is being edited.
func (c content) judged(ctx context.Context, name string) parse.Loaded {
	if c.err != nil {
		return parse.Loaded{Err: c.err, State: string(c.state)}
	}
	l := parse.Loaded{Tree: c.Tree, State: string(c.state)}
	if c.Signature != nil {
		v := signing.Verify(ctx, signing.Input{Name: name, Tree: c.Tree, Bundle: c.Signature, Now: time.Now()})
		l.Err = forAuthors(v.Err())
	}
	for _, e := range diag.All(l.Err) {
		if c.state == Changed && stale(e.Code) {
			e.Severity = diag.SeverityNote
		}
	}
	return l
}

// loadAll reads the skills in directories, which are absolute, with one look at
// each work tree.
func loadAll(ctx context.Context, places []parse.Place) ([]content, error) {
	out := make([]content, len(places))
	trees := map[string][]int{} // of a work tree's root
	var roots []string
	for i, p := range places {
		root, err := workTree(ctx, p.Dir)
		if err != nil {
			return nil, err
		}
		if root != "" && trees[root] == nil {
			roots = append(roots, root)
		}
		trees[root] = append(trees[root], i)
	}
	for _, root := range roots {
		if err := loadWorkTree(ctx, root, places, trees[root], out); err != nil {
			return nil, err
		}
	}
	for i, c := range out {
		if c.Content != nil || c.err != nil {
			continue
		}
		var err error
		if out[i], err = loadDirectory(ctx, places[i].Dir); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// workTree returns the root of the git work tree around dir, "" if there is none,
// or no git to ask.
func workTree(ctx context.Context, dir string) (string, error) {
	if !inWorkTree(dir) {
		return "", nil
	}
	if _, err := exec.LookPath("git"); err != nil {
		return "", nil
	}
	r, err := openRepository(ctx, dir)
	if hasReason(err, noWorkTree) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return r.root, nil
}

// loadWorkTree fills in out for the places with the indexes which, except for
// those of which git publishes nothing.
func loadWorkTree(ctx context.Context, root string, places []parse.Place, which []int, out []content) error {
	r := &repository{root: root}
	dirs := make([]string, len(which))
	for n, i := range which {
		var err error
		if dirs[n], err = r.within(places[i].Dir); err != nil {
			return err
		}
	}
	src, err := git.New(git.Options{Environ: os.Environ()})
	if err != nil {
		return err
	}
	defer src.Close()
	w, err := src.OpenWorkTree(ctx, root, dirs)
	if err != nil {
		return err
	}
	defer w.Close()
	loaded, err := loadFrom(ctx, w, w.Recorded, dirs)
	if err != nil {
		return err
	}
	var head []fetch.SkillFile
	if w.Head != "" {
		if head, err = fetch.SkillFiles(ctx, w, skillsAt(w.Head, dirs)); err != nil {
			return err
		}
	}
	for n, i := range which {
		if !w.Published[n] {
			continue
		}
		out[i] = loaded[n]
		if out[i].state = Changed; head != nil && out[i].Content != nil && head[n].GitTree == out[i].GitTree {
			out[i].state = Committed
		}
	}
	return nil
}

func skillsAt(commit fetch.ID, dirs []string) []fetch.SkillAt {
	at := make([]fetch.SkillAt, len(dirs))
	for i, dir := range dirs {
		at[i] = fetch.SkillAt{Commit: commit, Path: inRepository(dir)}
	}
	return at
}

// inRepository returns a directory as package fetch names it.
func inRepository(dir string) string {
	if dir == "." {
		return ""
	}
	return dir
}

// loadFrom loads the skills of a commit.
func loadFrom(ctx context.Context, s fetch.Snapshot, commit fetch.ID, dirs []string) ([]content, error) {
	loaded, err := fetch.LoadMany(ctx, s, skillsAt(commit, dirs), fetch.LoadOptions{}, nil)
	if err != nil {
		return nil, err
	}
	out := make([]content, len(loaded))
	for i, l := range loaded {
		out[i] = content{Content: l.Content, err: forAuthors(l.Err)}
		for _, e := range diag.All(l.Err) {
			e.Message = strings.TrimPrefix(strings.TrimPrefix(e.Message, "the repository's root: "), dirs[i]+": ")
		}
	}
	return out, nil
}

func loadDirectory(ctx context.Context, dir string) (content, error) {
	s, err := local.Open(dir)
	if err != nil {
		return content{}, err
	}
	defer s.Close()
	list, err := loadFrom(ctx, s, local.Commit, []string{"."})
	if err != nil {
		return content{}, err
	}
	list[0].state = Directory
	return list[0], nil
}

// forAuthors puts advice for those who can change the skill in the place of
// advice for those who install it.
func forAuthors(err error) error {
	for _, e := range diag.All(err) {
		switch e.Code {
		case diag.SubmoduleInSkill:
			e.Hint = "put the files themselves there: installers get one repository's files"
		case diag.LfsPointer:
			e.Hint = "commit the file itself"
		case diag.SignatureMalformed, diag.SignatureNameMismatch:
			e.Hint = signAgain
		}
		if stale(e.Code) {
			e.Hint = signAgain
		}
	}
	return err
}

const signAgain = "`skillpm sign` signs what is there now"

// stale reports whether a code says that a signature is of another content.
func stale(c diag.Code) bool {
	return c == diag.SignatureContentChanged || c == diag.SignatureContentMissing || c == diag.SignatureContentUnsigned
}
