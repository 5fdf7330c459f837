package accept

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/lockfile"
)

// reservedNames are names that the host keeps for its own tools and validations,
// in lower case, with the line that reserves each, 0 if unknown.
type reservedNames map[string]int

// maxReserved bounds the names of one file.
const maxReserved = 100_000

// readReserved reads a file of reserved names: one a line, blank lines and lines
// that begin with # left out, or a JSON array of strings.
func readReserved(path, file string) (reservedNames, error) {
	data, err := workspace.ReadBounded(path)
	if err != nil {
		return nil, diag.New(diag.Usage, "--reserved-names: %s cannot be read", file).WithCause(err)
	}
	out := reservedNames{}
	text := strings.TrimPrefix(string(data), "\ufeff")
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		var names []string
		if err := json.Unmarshal([]byte(text), &names); err != nil {
			return nil, diag.New(diag.Usage, "--reserved-names: %s is no JSON array of strings", file).WithCause(err)
		}
		for _, name := range names {
			out[strings.ToLower(strings.TrimSpace(name))] = 0
		}
	} else {
		line := 0
		for name := range strings.Lines(text) {
			line++
			if name = strings.ToLower(strings.TrimSpace(name)); name != "" && name[0] != '#' {
				out[name] = line
			}
		}
	}
	if len(out) > maxReserved {
		return nil, workspace.Usage("--reserved-names: %s has more than %d names", file, maxReserved)
	}
	return out, nil
}

// CheckReserved refuses entries whose key or declared name the host has taken: a
// skill becomes a tool record there, and two of one name cannot be told apart.
func CheckReserved(p *workspace.Project, file string, l *lockfile.Lock) error {
	if file == "" {
		return nil
	}
	path := file
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.Opt.Dir, file)
	}
	reserved, err := readReserved(path, file)
	if err != nil {
		return err
	}
	var list diag.List
	for _, e := range l.Skills {
		name := e.Key
		line, taken := reserved[strings.ToLower(name)]
		if !taken {
			name = e.Name()
			line, taken = reserved[strings.ToLower(name)]
		}
		if taken {
			list = append(list, diag.New(diag.NameReserved, "the host keeps the name `%s` for itself", name).At(file, line, 0).
				WithDetail("skill `%s` from %s", e.Key, workspace.SourceText(e)).
				WithHint("free the name in the host, or leave the skill out; a key of your own changes the directory alone"))
		}
	}
	return list.Err()
}
