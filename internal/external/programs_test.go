//go:build external

package external

import (
	"os/exec"
	"testing"
)

// Every program that a test with this tag may start is there.
func TestPrograms(t *testing.T) {
	for program, debian := range map[string]string{
		"sshd": "openssh-server", "ssh": "openssh-client", "docker-registry": "docker-registry",
		"python3": "python3", "node": "nodejs",
	} {
		if _, err := exec.LookPath(program); err != nil {
			t.Errorf("install %s (Debian's %s), and have it on PATH: %v", program, debian, err)
		}
	}
}
