// Package registrykit runs Debian's docker-registry for tests: a real OCI
// registry on loopback, with a throw-away configuration and directory.
//
//	r, err := registrykit.Start(t.TempDir(), registrykit.Config{Delete: true})
//	if err != nil { … }
//	t.Cleanup(r.Close)
//	mirror := "oci://" + r.Host + "/skills"
//
// Scripts use Commands. A missing program is an error, never a skip: CI installs
// docker-registry.
package registrykit

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// Config is what a test wants of the registry.
type Config struct {
	// Delete allows deletion, which the registry forbids by default.
	Delete bool
	// Realm and Certificate switch on token authentication: the address of the
	// token server, and a PEM file with its certificate.
	Realm, Certificate string
}

// Registry is a running registry.
type Registry struct {
	Host string // 127.0.0.1:PORT
	cmd  *exec.Cmd
}

var listening = regexp.MustCompile(`listening on (127\.0\.0\.1:\d+)`)

// Start runs a registry that keeps everything in dir, and returns once it
// listens.
func Start(dir string, cfg Config) (*Registry, error) {
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		return nil, fmt.Errorf("tests need Debian's docker-registry (apt-get install docker-registry): %w", err)
	}
	file := filepath.Join(dir, "config.yml")
	if err := os.WriteFile(file, cfg.file(dir), 0o644); err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "serve", file)
	cmd.Env = append(os.Environ(), "OTEL_TRACES_EXPORTER=none")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := &Registry{cmd: cmd}
	if r.Host, err = waitFor(stderr); err != nil {
		r.Close()
		return nil, err
	}
	go io.Copy(io.Discard, stderr) // or it would block on a full pipe
	return r, nil
}

func (c Config) file(dir string) []byte {
	text := fmt.Sprintf(`version: 0.1
log: {level: info, accesslog: {disabled: true}}
storage:
  filesystem: {rootdirectory: %q}
  delete: {enabled: %t}
http: {addr: "127.0.0.1:0"}
`, filepath.Join(dir, "data"), c.Delete)
	if c.Realm != "" {
		text += fmt.Sprintf("auth:\n  token: {realm: %q, service: registry.test, issuer: tokens.test, rootcertbundle: %q}\n", c.Realm, c.Certificate)
	}
	return []byte(text)
}

// waitFor reads the log until the registry says where it listens; from then on
// it answers.
func waitFor(log io.Reader) (host string, err error) {
	lines := bufio.NewScanner(log)
	var said []string
	for lines.Scan() {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			return m[1], nil
		}
		said = append(said, lines.Text())
	}
	return "", fmt.Errorf("docker-registry ended: %s", strings.Join(said, "\n"))
}

// Close ends the registry.
func (r *Registry) Close() {
	_ = r.cmd.Process.Kill() // it may have ended by itself
	_ = r.cmd.Wait()
}

// Commands returns the script commands, to be merged into
// testscript.Params.Cmds:
//
//	registry [-delete]    run a registry until the script ends; sets $REGISTRY to
//	                      its 127.0.0.1:PORT
func Commands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	return map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"registry": func(ts *testscript.TestScript, neg bool, args []string) {
			if neg || len(args) > 1 || len(args) == 1 && args[0] != "-delete" {
				ts.Fatalf("usage: registry [-delete]")
			}
			dir, err := os.MkdirTemp(ts.Getenv("WORK"), ".registry-")
			ts.Check(err)
			r, err := Start(dir, Config{Delete: len(args) == 1})
			ts.Check(err)
			ts.Defer(r.Close)
			ts.Setenv("REGISTRY", r.Host)
		},
	}
}
