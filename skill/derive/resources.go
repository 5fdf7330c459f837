package derive

import (
	"encoding/hex"
	"path"
	"strings"

	"github.com/skillpm/skillpm/skill"
)

// Kind says what a file of a skill is for, by the directory it lies in.
type Kind string

// The kinds. The Agent Skills specification names the three directories;
// everything else, SKILL.md apart, is other.
const (
	KindScript    Kind = "script"
	KindReference Kind = "reference"
	KindAsset     Kind = "asset"
	KindOther     Kind = "other"
)

// KindOf returns the kind of the file at path.
func KindOf(path string) Kind {
	first, _, nested := strings.Cut(path, "/")
	if !nested {
		return KindOther
	}
	switch first {
	case "scripts":
		return KindScript
	case "references":
		return KindReference
	case "assets":
		return KindAsset
	}
	return KindOther
}

// SummaryLength is the longest summary of a resource, in code points.
const SummaryLength = 300

// Resource is one file of a skill beside its SKILL.md.
type Resource struct {
	Path   string `json:"path"`
	Kind   Kind   `json:"kind"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // 64 hex digits
	Media  string `json:"media"`  // by extension; see MediaType
	// Summary is the beginning of a text file as one line; empty for other
	// files and where the limits or the lack of Read forbid reading.
	Summary string `json:"summary"`
}

// Resources returns every file of s but SKILL.md, in the order of the tree. It
// reads text files for their summaries; errors are those of s.Read.
func Resources(s *Skill) ([]Resource, error) {
	return resources(s, len(s.Tree.Files()))
}

// resources summarises the first n rows only.
func resources(s *Skill, n int) ([]Resource, error) {
	rows := make([]Resource, 0, len(s.Tree.Files()))
	rd := reader{skill: s}
	for _, f := range s.Tree.Files() {
		if f.Path == s.file() {
			continue
		}
		row := resourceOf(f)
		if len(rows) < n && isTextMedia(row.Media) {
			data, _, err := rd.text(f)
			if err != nil {
				return nil, err
			}
			row.Summary = summarize(data)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func resourceOf(f skill.File) Resource {
	return Resource{
		Path:   f.Path,
		Kind:   KindOf(f.Path),
		Size:   f.Size,
		SHA256: hex.EncodeToString(f.SHA256[:]),
		Media:  MediaType(f.Path),
	}
}

// summarize returns the beginning of a text without its shebang.
func summarize(data []byte) string {
	text := string(data[:min(len(data), SummaryLength*16)])
	if strings.HasPrefix(text, "#!") {
		_, text, _ = strings.Cut(text, "\n")
	}
	return oneLine(text, SummaryLength)
}

// MediaType returns the media type of a file by the extension of its name. The
// table is this package's own, since the operating system's differs from
// machine to machine; an unknown extension is application/octet-stream.
func MediaType(name string) string {
	if m, ok := mediaByExtension[extension(name)]; ok {
		return m
	}
	switch path.Base(name) {
	case "LICENSE", "NOTICE", "README", "Makefile", "Dockerfile", "COPYING", "AUTHORS", "CHANGELOG":
		return "text/plain"
	}
	return "application/octet-stream"
}

// isTextMedia reports whether files of this type are worth reading as text.
func isTextMedia(media string) bool {
	return strings.HasPrefix(media, "text/") || textApplications[media]
}

var textApplications = map[string]bool{
	"application/json": true, "application/yaml": true, "application/toml": true,
	"application/xml": true, "application/javascript": true, "application/sql": true,
	"image/svg+xml": false, // text, but a drawing: its first characters say nothing
}

// mediaByExtension holds the extensions met in public skill repositories.
var mediaByExtension = map[string]string{
	".md": "text/markdown", ".markdown": "text/markdown", ".txt": "text/plain", ".rst": "text/x-rst",
	".html": "text/html", ".htm": "text/html", ".css": "text/css", ".csv": "text/csv", ".tsv": "text/tab-separated-values",
	".json": "application/json", ".jsonl": "application/json", ".yaml": "application/yaml", ".yml": "application/yaml",
	".toml": "application/toml", ".xml": "application/xml", ".xsd": "application/xml", ".zon": "text/plain",
	".ini": "text/plain", ".cfg": "text/plain", ".conf": "text/plain", ".env": "text/plain", ".log": "text/plain",
	".py": "text/x-python", ".sh": "text/x-shellscript", ".bash": "text/x-shellscript", ".zsh": "text/x-shellscript",
	".fish": "text/x-shellscript", ".ps1": "text/x-powershell", ".bat": "text/x-batch", ".cmd": "text/x-batch",
	".js": "application/javascript", ".mjs": "application/javascript", ".cjs": "application/javascript",
	".ts": "text/x-typescript", ".tsx": "text/x-typescript", ".jsx": "application/javascript",
	".go": "text/x-go", ".rs": "text/x-rust", ".rb": "text/x-ruby", ".pl": "text/x-perl", ".php": "text/x-php",
	".lua": "text/x-lua", ".r": "text/x-r", ".java": "text/x-java", ".kt": "text/x-kotlin", ".swift": "text/x-swift",
	".c": "text/x-c", ".h": "text/x-c", ".cc": "text/x-c++", ".cpp": "text/x-c++", ".cs": "text/x-csharp",
	".sql": "application/sql", ".tex": "text/x-tex", ".bib": "text/x-bibtex", ".tmpl": "text/plain", ".j2": "text/plain",
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".svg": "image/svg+xml", ".ico": "image/x-icon", ".pdf": "application/pdf",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	".ttf":  "font/ttf", ".otf": "font/otf", ".woff": "font/woff", ".woff2": "font/woff2",
	".mp3": "audio/mpeg", ".wav": "audio/wav", ".mp4": "video/mp4",
	".zip": "application/zip", ".tar": "application/x-tar", ".gz": "application/gzip", ".tgz": "application/gzip",
	".wasm": "application/wasm", ".sqlite": "application/vnd.sqlite3",
}
