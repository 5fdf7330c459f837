// Package adopt begins projects: it writes a first skills.toml, and takes over what
// other tools' files list, with their commits and agents. Their files stay as they
// are.
package adopt
