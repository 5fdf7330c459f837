package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
)

// Replay makes the repositories that a txtar archive describes under root, as
// root/<name>.git, replacing those that exist. The archive's comment has one
// command a line; # begins a comment:
//
//	repo NAME [sha256]     the repository that what follows is about (acme/skills)
//	at TIME                time of the next commit (RFC 3339); each is a minute later
//	commit DIR [MESSAGE]   commit exactly the archive's files below DIR/ to the branch
//	branch NAME [REV]      go to branch NAME, made at REV (a ref or commit) if given
//	orphan NAME            go to branch NAME, whose next commit has no parent
//	tag NAME [REV]         lightweight tag of the branch's head
//	tag -a NAME [REV]      annotated tag
//	delete REF             remove refs/…
//	exec PATH              in later commits PATH is executable
//	link PATH TARGET       … PATH is a symbolic link
//	submodule PATH COMMIT  … PATH is a commit of another repository
//	remove PATH            … PATH is plain again, or absent
//	config KEY VALUE       a line for the repository's config, as uploadpack.allowFilter
//
// It returns the repositories by name.
func Replay(root string, archive []byte) (map[string]*Repo, error) {
	ar := txtar.Parse(archive)
	p := &player{root: root, ar: ar, repos: map[string]*Repo{}, peeled: map[string]string{}}
	for n, line := range strings.Split(string(ar.Comment), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if err := p.do(fields[0], fields[1:]); err != nil {
			return nil, fmt.Errorf("line %d: %s: %w", n+1, fields[0], err)
		}
	}
	return p.repos, nil
}

// ReplayFile is Replay of a file.
func ReplayFile(root, file string) (map[string]*Repo, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	repos, err := Replay(root, b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return repos, nil
}

type player struct {
	root    string
	ar      *txtar.Archive
	repos   map[string]*Repo
	repo    *Repo
	branch  string
	special map[string]File   // links, submodules; Data "" with mode 100755 for exec
	peeled  map[string]string // tag object to commit
}

func (p *player) do(verb string, args []string) error {
	if verb != "repo" && p.repo == nil {
		return fmt.Errorf("a repo line comes first")
	}
	arg := func(i int) string {
		if i < len(args) {
			return args[i]
		}
		return ""
	}
	switch verb {
	case "repo":
		return p.open(arg(0), arg(1) == "sha256")
	case "at":
		t, err := time.Parse(time.RFC3339, arg(0))
		p.repo.Now = t
		return err
	case "commit":
		return p.commit(arg(0), strings.Join(args[min(1, len(args)):], " "))
	case "branch", "orphan":
		p.branch = "refs/heads/" + arg(0)
		if verb == "branch" && arg(1) != "" {
			start := p.rev(arg(1))
			if commit := p.peeled[start]; commit != "" {
				start = commit
			}
			return p.repo.SetRef(p.branch, start)
		}
		return nil
	case "tag":
		return p.tag(args)
	case "delete":
		return p.repo.SetRef(arg(0), "")
	case "exec":
		p.special[arg(0)] = File{Mode: "100755"}
	case "link":
		p.special[arg(0)] = File{Mode: "120000", Data: arg(1)}
	case "submodule":
		p.special[arg(0)] = File{Mode: "160000", Data: arg(1)}
	case "remove":
		delete(p.special, arg(0))
	case "config":
		return p.config(arg(0), arg(1))
	default:
		return fmt.Errorf("unknown command")
	}
	return nil
}

func (p *player) open(name string, sha256 bool) error {
	dir := filepath.Join(p.root, filepath.FromSlash(name)+".git")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	repo, err := NewRepo(dir, sha256)
	if err != nil {
		return err
	}
	p.repos[name], p.repo = repo, repo
	p.branch, p.special = "refs/heads/main", map[string]File{}
	return nil
}

func (p *player) commit(dir, message string) error {
	files := map[string]File{}
	for _, f := range p.ar.Files {
		if name, ok := strings.CutPrefix(f.Name, dir+"/"); ok {
			files[name] = File{Data: string(f.Data)}
		}
	}
	for name, f := range p.special {
		if f.Mode != "100755" {
			files[name] = f
		} else if old, ok := files[name]; ok {
			files[name] = File{Mode: f.Mode, Data: old.Data}
		}
	}
	tree, err := p.repo.Files(files)
	if err != nil {
		return err
	}
	if message == "" {
		message = dir
	}
	var parents []string
	if head := p.repo.Ref(p.branch); head != "" {
		parents = append(parents, head)
	}
	id, err := p.repo.Commit(tree, message, parents...)
	if err != nil {
		return err
	}
	return p.repo.SetRef(p.branch, id)
}

func (p *player) tag(args []string) error {
	annotated := len(args) > 0 && args[0] == "-a"
	if annotated {
		args = args[1:]
	}
	if len(args) == 0 {
		return fmt.Errorf("needs a name")
	}
	target := p.repo.Ref(p.branch)
	if len(args) > 1 {
		target = p.rev(args[1])
	}
	if annotated {
		id, err := p.repo.TagObject(args[0], target, "commit", args[0])
		if err != nil {
			return err
		}
		p.peeled[id], target = target, id
	}
	return p.repo.SetRef("refs/tags/"+args[0], target)
}

func (p *player) rev(s string) string {
	for _, prefix := range []string{"", "refs/heads/", "refs/tags/"} {
		if id := p.repo.Ref(prefix + s); id != "" {
			return id
		}
	}
	return s
}

// config writes section.key = value, or section.sub.key.
func (p *player) config(key, value string) error {
	section, rest, _ := strings.Cut(key, ".")
	f, err := os.OpenFile(filepath.Join(p.repo.Dir, "config"), os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "[%s]\n\t%s = %s\n", section, rest, value)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
