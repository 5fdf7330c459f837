package testkit

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Repo is a bare git repository that is written object by object, without git,
// so that it may hold what git itself would refuse to make.
type Repo struct {
	Dir    string
	SHA256 bool // object format
	// Now is the time of the next commit or tag; each of them moves it a minute on.
	Now time.Time
}

// Epoch is the time of a new Repo's first commit.
var Epoch = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// NewRepo makes an empty bare repository in dir, which must not exist or be
// empty. Its HEAD is refs/heads/main.
func NewRepo(dir string, sha256 bool) (*Repo, error) {
	r := &Repo{Dir: dir, SHA256: sha256, Now: Epoch}
	for _, d := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return nil, err
		}
	}
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
	if sha256 {
		config = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectFormat = sha256\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o644); err != nil {
		return nil, err
	}
	return r, r.SetHead("refs/heads/main")
}

// Entry is one line of a tree.
type Entry struct {
	Mode string // as stored: 100644, 100755, 40000, 120000, 160000
	Name string
	ID   string
}

// Object writes an object of any type with any content and returns its id.
func (r *Repo) Object(kind string, data []byte) (string, error) {
	raw := append(fmt.Appendf(nil, "%s %d\x00", kind, len(data)), data...)
	id := r.hash(raw)
	return id, r.Store(id, raw)
}

func (r *Repo) hash(raw []byte) string {
	if r.SHA256 {
		sum := sha256.Sum256(raw)
		return hex.EncodeToString(sum[:])
	}
	sum := sha1.Sum(raw)
	return hex.EncodeToString(sum[:])
}

// Store writes raw (header and content) under id, right or wrong.
func (r *Repo) Store(id string, raw []byte) error {
	name := filepath.Join(r.Dir, "objects", id[:2], id[2:])
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	var b bytes.Buffer
	w, _ := zlib.NewWriterLevel(&b, zlib.BestSpeed)
	if _, err := w.Write(raw); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o444)
}

// Blob writes a file's content.
func (r *Repo) Blob(data string) (string, error) { return r.Object("blob", []byte(data)) }

// Tree writes a tree with entries in the order given, right or wrong.
func (r *Repo) Tree(entries ...Entry) (string, error) {
	var b bytes.Buffer
	for _, e := range entries {
		id, err := hex.DecodeString(e.ID)
		if err != nil {
			return "", fmt.Errorf("tree entry %q: %w", e.Name, err)
		}
		fmt.Fprintf(&b, "%s %s\x00", e.Mode, e.Name)
		b.Write(id)
	}
	return r.Object("tree", b.Bytes())
}

// SortEntries puts entries into git's order.
func SortEntries(entries []Entry) {
	key := func(e Entry) string {
		if e.Mode == "40000" {
			return e.Name + "/"
		}
		return e.Name
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(key(a), key(b)) })
}

// File is what stands at one path: Data with Mode 100644 unless Mode says
// otherwise; for a submodule (160000) Data is the commit's id.
type File struct {
	Mode string
	Data string
}

// Files writes the tree that holds files, keyed by slash path, and all trees
// below it.
func (r *Repo) Files(files map[string]File) (string, error) {
	below := map[string]map[string]File{}
	var entries []Entry
	for name, f := range files {
		if dir, rest, ok := strings.Cut(name, "/"); ok {
			if below[dir] == nil {
				below[dir] = map[string]File{}
			}
			below[dir][rest] = f
			continue
		}
		e := Entry{Mode: f.Mode, Name: name, ID: f.Data}
		if e.Mode == "" {
			e.Mode = "100644"
		}
		if e.Mode != "160000" {
			var err error
			if e.ID, err = r.Blob(f.Data); err != nil {
				return "", err
			}
		}
		entries = append(entries, e)
	}
	for dir, sub := range below {
		id, err := r.Files(sub)
		if err != nil {
			return "", err
		}
		entries = append(entries, Entry{Mode: "40000", Name: dir, ID: id})
	}
	SortEntries(entries)
	return r.Tree(entries...)
}

const ident = "A U Thor <author@example.com>"

// Commit writes a commit of tree at Now.
func (r *Repo) Commit(tree, message string, parents ...string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", tree)
	for _, p := range parents {
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	stamp := r.tick()
	fmt.Fprintf(&b, "author %s %d +0000\ncommitter %s %d +0000\n\n%s\n", ident, stamp, ident, stamp, message)
	return r.Object("commit", []byte(b.String()))
}

// TagObject writes an annotated tag of target, an object of type kind.
func (r *Repo) TagObject(name, target, kind, message string) (string, error) {
	return r.Object("tag", fmt.Appendf(nil, "object %s\ntype %s\ntag %s\ntagger %s %d +0000\n\n%s\n", target, kind, name, ident, r.tick(), message))
}

func (r *Repo) tick() int64 {
	stamp := r.Now.Unix()
	r.Now = r.Now.Add(time.Minute)
	return stamp
}

// SetRef points the full ref name at id; id "" removes it.
func (r *Repo) SetRef(name, id string) error {
	file := filepath.Join(r.Dir, filepath.FromSlash(path.Clean(name)))
	if id == "" {
		return os.Remove(file)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(id+"\n"), 0o644)
}

// SetHead makes HEAD a symbolic ref to the full ref name.
func (r *Repo) SetHead(name string) error {
	return os.WriteFile(filepath.Join(r.Dir, "HEAD"), []byte("ref: "+name+"\n"), 0o644)
}

// Ref returns what the full ref name points at, "" if it does not exist.
func (r *Repo) Ref(name string) string {
	b, err := os.ReadFile(filepath.Join(r.Dir, filepath.FromSlash(name)))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
