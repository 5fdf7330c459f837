package lockfile

import "github.com/skillpm/skillpm/skill"

// Item is what a catalogue says of one skill: the first tier, some fifty tokens
// a skill, from the lock alone.
type Item struct {
	Key         string
	Name        string // as declared
	Description string
	Version     string
	Digest      skill.Digest
	// Path is the install directory, relative to the project.
	Path   string
	Signer string
	Size   Size
	// Use is "required", "optional" or "".
	Use string
	// Prompt is false for a skill that its training.zon calls trainable: a target
	// of training, not a text for a prompt.
	Prompt bool
}

// List returns the catalogue in the lock's order. It opens no file. A path skill
// is locked without description: read its SKILL.md.
func (l *Lock) List() []Item {
	list := make([]Item, len(l.Skills))
	for i, e := range l.Skills {
		list[i] = Item{
			Key: e.Key, Name: e.Name(), Description: e.Description, Version: e.Version,
			Digest: e.Digest, Path: l.InstallPath(e.Key), Signer: e.Signature.Signer(),
			Size: e.Size, Use: e.Use,
			Prompt: e.Training == nil || e.Training.Mode != "trainable",
		}
	}
	return list
}
