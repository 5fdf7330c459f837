//go:build external

package oci_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skillpm/skillpm/fetch/oci"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/testkit/registrykit"
	"github.com/skillpm/skillpm/skill"
)

// tokenServer is an authorization server of the distribution project's token
// scheme: a 401 names it, it takes basic credentials and signs what is allowed.
type tokenServer struct {
	key  *ecdsa.PrivateKey
	cert string // PEM file, for the registry
	log  *requestLog
	url  string
}

func newTokenServer(t testing.TB) *tokenServer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tokens.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "tokens.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644); err != nil {
		t.Fatal(err)
	}
	s := &tokenServer{key: key, cert: file}
	s.log = newRequestLog(http.HandlerFunc(s.issue))
	srv := httptest.NewServer(s.log)
	t.Cleanup(srv.Close)
	s.url = srv.URL + "/token"
	return s
}

func (s *tokenServer) issue(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	if user != testUser || password != testPassword {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	type access struct {
		Type    string   `json:"type"`
		Name    string   `json:"name"`
		Actions []string `json:"actions"`
	}
	var granted []access
	for _, scope := range r.URL.Query()["scope"] {
		if part := strings.Split(scope, ":"); len(part) == 3 {
			granted = append(granted, access{part[0], part[1], strings.Split(part[2], ",")})
		}
	}
	now := time.Now()
	token := s.sign(map[string]any{
		"iss": "tokens.test", "sub": user, "aud": r.URL.Query().Get("service"), "jti": "1",
		"exp": now.Add(time.Minute).Unix(), "nbf": now.Add(-time.Minute).Unix(), "iat": now.Unix(), "access": granted,
	})
	json.NewEncoder(w).Encode(map[string]any{"token": token, "expires_in": 60})
}

// sign makes a JWT with ES256, whose key id is the one libtrust computes.
func (s *tokenServer) sign(claims map[string]any) string {
	enc := base64.RawURLEncoding
	head := mustJSON(map[string]any{"typ": "JWT", "alg": "ES256", "kid": keyID(s.key.Public())})
	text := enc.EncodeToString(head) + "." + enc.EncodeToString(mustJSON(claims))
	sum := sha256.Sum256([]byte(text))
	r, sig, err := ecdsa.Sign(rand.Reader, s.key, sum[:])
	if err != nil {
		panic(err)
	}
	raw := make([]byte, 64)
	r.FillBytes(raw[:32])
	sig.FillBytes(raw[32:])
	return text + "." + enc.EncodeToString(raw)
}

func keyID(pub crypto.PublicKey) string {
	der, err := x509.MarshalPKIXPublicKey(pub)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(der)
	s := strings.TrimRight(base32.StdEncoding.EncodeToString(sum[:30]), "=")
	var parts []string
	for ; len(s) > 0; s = s[4:] {
		parts = append(parts, s[:4])
	}
	return strings.Join(parts, ":")
}

// dockerConfig writes a config.json with credentials for the registry, plain or
// behind a credential helper as docker calls it.
func dockerConfig(t testing.TB, address, user, password string, helper bool) string {
	t.Helper()
	dir := t.TempDir()
	text := fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, address, base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
	if helper {
		text = fmt.Sprintf(`{"credHelpers":{%q:"skillpm-test"}}`, address)
		script := fmt.Sprintf("#!/bin/sh\nread host\nprintf '{\"ServerURL\":\"%%s\",\"Username\":\"%s\",\"Secret\":\"%s\"}' \"$host\"\n", user, password)
		if err := os.WriteFile(filepath.Join(dir, "docker-credential-skillpm-test"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	file := filepath.Join(dir, "config.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// docker-registry with token authentication: 401, token, work; one token serves
// a whole run.
func TestTokenAuthentication(t *testing.T) {
	for _, helper := range []bool{false, true} {
		t.Run(fmt.Sprintf("helper=%t", helper), func(t *testing.T) {
			tokens := newTokenServer(t)
			spec, address := dockerRegistry(t, registrykit.Config{Realm: tokens.url, Certificate: tokens.cert})
			opt := oci.Options{Write: true, DockerConfig: dockerConfig(t, address, testUser, testPassword, helper)}
			list := samples(t, 10)
			push(t, open(t, spec, opt), items(list), oci.RunOptions{})
			tokens.log.take()
			opt.Write = false
			m := open(t, spec, opt)
			for _, s := range list {
				s.mustRead(t, m)
			}
			if n := len(tokens.log.take()); n != 1 {
				t.Errorf("%d tokens for one run, want 1", n)
			}
		})
	}
}

func TestWrongCredentials(t *testing.T) {
	tokens := newTokenServer(t)
	spec, address := dockerRegistry(t, registrykit.Config{Realm: tokens.url, Certificate: tokens.cert})
	for name, file := range map[string]string{
		"wrong password": dockerConfig(t, address, testUser, "another-secret", false),
		"none":           dockerConfig(t, "elsewhere.test", testUser, testPassword, false),
	} {
		t.Run(name, func(t *testing.T) {
			m := open(t, spec, oci.Options{DockerConfig: file})
			_, _, err := read(t.Context(), m, skill.DigestOf(nil))
			if diag.CodeOf(err) != diag.FetchAuth || diag.Exit(err) != 1 {
				t.Errorf("got %v (%s)", err, diag.CodeOf(err))
			}
			for _, secret := range []string{"another-secret", testPassword, base64.StdEncoding.EncodeToString([]byte(testUser + ":another-secret"))} {
				if strings.Contains(fmt.Sprintf("%v %+v", err, diag.All(err)), secret) {
					t.Errorf("the error holds a secret: %v", err)
				}
			}
		})
	}
}
