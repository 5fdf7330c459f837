package git

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	gitconfig "github.com/go-git/go-git/v5/plumbing/format/config"
)

// gitConfig is what the user's and the system's git configuration says, in
// order: key in lower case (its subsection as written), and value.
type gitConfig struct{ pairs []configPair }

type configPair struct{ section, subsection, name, value string }

// maxConfigDepth is git's own limit on files that include files.
const maxConfigDepth = 10

// config returns the configuration, read once.
func (s *Source) config() *gitConfig { return s.configOnce() }

func (s *Source) readConfig() *gitConfig {
	c := &gitConfig{}
	if s.getenv("GIT_CONFIG_NOSYSTEM") == "" {
		file := s.getenv("GIT_CONFIG_SYSTEM")
		if file == "" {
			file = "/etc/gitconfig"
		}
		c.read(file, s.opt.Home, 0)
	}
	if file := s.getenv("GIT_CONFIG_GLOBAL"); file != "" {
		c.read(file, s.opt.Home, 0)
	} else if s.opt.Home != "" {
		xdg := s.getenv("XDG_CONFIG_HOME")
		if xdg == "" {
			xdg = filepath.Join(s.opt.Home, ".config")
		}
		c.read(filepath.Join(xdg, "git", "config"), s.opt.Home, 0)
		c.read(filepath.Join(s.opt.Home, ".gitconfig"), s.opt.Home, 0)
	}
	count, _ := strconv.Atoi(s.getenv("GIT_CONFIG_COUNT")) // absent is none
	for i := range min(count, 1000) {
		c.add(s.getenv(fmt.Sprintf("GIT_CONFIG_KEY_%d", i)), s.getenv(fmt.Sprintf("GIT_CONFIG_VALUE_%d", i)))
	}
	return c
}

// add adds "section[.subsection].name".
func (c *gitConfig) add(key, value string) {
	first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
	if first < 0 {
		return
	}
	p := configPair{section: strings.ToLower(key[:first]), name: strings.ToLower(key[last+1:]), value: value}
	if last > first {
		p.subsection = key[first+1 : last]
	}
	c.pairs = append(c.pairs, p)
}

// read adds a file's pairs. One that is not there or cannot be understood adds
// nothing: git itself will say so where it matters.
func (c *gitConfig) read(file, home string, depth int) {
	f, err := os.Open(file)
	if err != nil || depth > maxConfigDepth {
		return
	}
	defer f.Close()
	raw := gitconfig.New()
	if err := gitconfig.NewDecoder(io.LimitReader(f, 1<<20)).Decode(raw); err != nil {
		return
	}
	for _, s := range raw.Sections {
		section := strings.ToLower(s.Name)
		for _, o := range s.Options {
			c.pairs = append(c.pairs, configPair{section, "", strings.ToLower(o.Key), o.Value})
			if section == "include" && strings.EqualFold(o.Key, "path") {
				c.read(relativeTo(file, expandHome(o.Value, home)), home, depth+1)
			}
		}
		for _, sub := range s.Subsections {
			for _, o := range sub.Options {
				c.pairs = append(c.pairs, configPair{section, sub.Name, strings.ToLower(o.Key), o.Value})
			}
		}
	}
}

func relativeTo(file, p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(filepath.Dir(file), p)
}

// get returns the last value of "section.name".
func (c *gitConfig) get(key string) string {
	section, name, _ := strings.Cut(key, ".")
	value := ""
	for _, p := range c.pairs {
		if p.section == section && p.subsection == "" && p.name == name {
			value = p.value
		}
	}
	return value
}

// forURL returns the value of http.<url>.name where url is the longest that
// fits address. One without a URL does not count: what goes to every host must
// not hold a secret, and headers do.
func (c *gitConfig) forURL(address, name string) string {
	best, value := -1, ""
	for _, p := range c.pairs {
		if p.section != "http" || p.name != name {
			continue
		}
		prefix := strings.TrimSuffix(p.subsection, "/")
		fits := prefix != "" && (address == prefix || strings.HasPrefix(address, prefix+"/"))
		if fits && len(prefix) >= best {
			best, value = len(prefix), p.value
		}
	}
	return value
}

// rewrite applies url.<base>.insteadOf, the longest that fits.
func (c *gitConfig) rewrite(address string) (string, bool) {
	best, base := "", ""
	for _, p := range c.pairs {
		if p.section == "url" && p.name == "insteadof" && len(p.value) > len(best) && strings.HasPrefix(address, p.value) {
			best, base = p.value, p.subsection
		}
	}
	if best == "" {
		return address, false
	}
	return base + address[len(best):], true
}
