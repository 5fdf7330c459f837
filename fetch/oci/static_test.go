package oci_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/skillpm/skillpm/fetch/oci"
	"github.com/skillpm/skillpm/internal/diag"
)

const testUser, testPassword = "robot", "s3cret-password"

// A static mirror takes credentials from its URL and shows them to nobody.
func TestStaticCredentials(t *testing.T) {
	dir := t.TempDir()
	list := samples(t, 1)
	push(t, open(t, "dir:"+dir, oci.Options{Write: true}), items(list), oci.RunOptions{})
	files := http.FileServer(http.Dir(dir))
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != testUser || password != testPassword {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	good := strings.Replace(web.URL, "://", "://"+testUser+":"+testPassword+"@", 1)
	m := open(t, good, oci.Options{})
	list[0].mustRead(t, m)
	if strings.Contains(m.String(), testPassword) {
		t.Errorf("the spec prints as %s", m)
	}
	_, _, err := read(t.Context(), open(t, strings.Replace(good, testPassword, "another-secret", 1), oci.Options{}), list[0].tree.Digest())
	if diag.CodeOf(err) != diag.FetchAuth || strings.Contains(err.Error(), "another-secret") {
		t.Errorf("got %v", err)
	}
}
