package testkit

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
)

// ServeIndex serves the skills in the directories below dir as a discovery index
// (version 0.2.0), made anew for each request: a skill of one file as skill-md,
// any other as a gzipped archive. The caller closes it.
func ServeIndex(dir string) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		files, err := indexFiles(dir)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		body, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(body)
	}))
}

// indexFiles returns what a site with the skills below dir serves, by path.
func indexFiles(dir string) (map[string][]byte, error) {
	type entry struct {
		Name        string `json:"name"`
		Type        string `json:"type"`
		Description string `json:"description"`
		URL         string `json:"url"`
		Digest      string `json:"digest"`
	}
	list := []entry{}
	served := map[string][]byte{}
	dirs, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, d := range dirs {
		e := entry{Name: d.Name(), Type: "skill-md", Description: "Skill " + d.Name() + ".", URL: "/skills/" + d.Name() + ".md"}
		names, err := os.ReadDir(filepath.Join(dir, d.Name()))
		if err != nil {
			return nil, err
		}
		var body []byte
		if len(names) == 1 && names[0].Name() == "SKILL.md" {
			body, err = os.ReadFile(filepath.Join(dir, d.Name(), "SKILL.md"))
		} else {
			e.Type, e.URL = "archive", "/skills/"+d.Name()+".tar.gz"
			body, err = archiveOf(filepath.Join(dir, d.Name()))
		}
		if err != nil {
			return nil, err
		}
		e.Digest = fmt.Sprintf("sha256:%x", sha256.Sum256(body))
		served[e.URL] = body
		list = append(list, e)
	}
	served["/.well-known/agent-skills/index.json"], err = json.Marshal(map[string]any{
		"$schema": "https://schemas.agentskills.io/discovery/0.2.0/schema.json", "skills": list,
	})
	return served, err
}

// archiveOf returns the regular files below dir as a gzipped tar archive; equal
// content gives equal bytes.
func archiveOf(dir string) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, dir+string(filepath.Separator)))
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data)), Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	})
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = z.Close()
	}
	return b.Bytes(), err
}
