package oci_test

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func discardLogger() *log.Logger { return log.New(io.Discard, "", 0) }

// registryConfig is what a test wants of Debian's docker-registry.
type registryConfig struct {
	delete bool
	// realm and certificate switch on token authentication.
	realm, certificate string
}

var listening = regexp.MustCompile(`listening on (127\.0\.0\.1:\d+)`)

// dockerRegistry starts the real registry on a free loopback port, with a
// throw-away configuration and directory, and returns its spec and address.
func dockerRegistry(t testing.TB, cfg registryConfig) (spec, address string) {
	t.Helper()
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		t.Fatalf("the tests need Debian's docker-registry (apt-get install docker-registry): %v", err)
	}
	dir := t.TempDir()
	text := fmt.Sprintf(`version: 0.1
log: {level: info, accesslog: {disabled: true}}
storage:
  filesystem: {rootdirectory: %q}
  delete: {enabled: %t}
http: {addr: "127.0.0.1:0"}
`, filepath.Join(dir, "data"), cfg.delete)
	if cfg.realm != "" {
		text += fmt.Sprintf("auth:\n  token: {realm: %q, service: registry.test, issuer: tokens.test, rootcertbundle: %q}\n", cfg.realm, cfg.certificate)
	}
	file := filepath.Join(dir, "config.yml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "serve", file)
	cmd.Env = append(os.Environ(), "OTEL_TRACES_EXPORTER=none")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	// The registry says where it listens; from then on it answers.
	lines := bufio.NewScanner(stderr)
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			go io.Copy(io.Discard, stderr)
			return "oci://" + m[1] + "/team/skills", m[1]
		}
	}
	t.Fatalf("docker-registry ended: %q", said)
	return "", ""
}

// proxyTo forwards to a registry, so that its requests can be counted.
func proxyTo(t testing.TB, spec string) http.Handler {
	t.Helper()
	host, _, _ := strings.Cut(strings.TrimPrefix(spec, "oci://"), "/")
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: host})
			r.Out.Host = r.In.Host // the registry makes its upload addresses from it
		},
		ErrorLog: discardLogger(),
	}
}
