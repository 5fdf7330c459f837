package signing

import (
	"crypto/sha256"
	"testing"

	"github.com/skillpm/skillpm/skill"
)

func newFile(path, data string, exec bool) skill.File {
	return skill.File{Path: path, Exec: exec, Size: int64(len(data)), SHA256: sha256.Sum256([]byte(data))}
}

func newTree(t testing.TB, files ...skill.File) *skill.Tree {
	t.Helper()
	tree, err := skill.NewTree(files, skill.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
