package oci_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/skillpm/skillpm/fetch/oci"
)

var update = flag.Bool("update", false, "write testdata/mirror/golden.tar anew")

const goldenFile = "../../testdata/mirror/golden.tar"

// goldenItems are what golden.tar holds: a tree, a signature, and versions.
func goldenItems(t *testing.T) (sample, []byte, *oci.Versions, []oci.Item) {
	s := newSample(t, map[string]string{
		"SKILL.md":       "---\nname: golden\ndescription: The example of docs/mirrors.md.\n---\nBody\n",
		"scripts/run.sh": "#!/bin/sh\nexit 0\n",
		"references/ä b": "UTF-8 and a blank in the name\n",
	})
	bundle := []byte(`{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","dsseEnvelope":{"payload":""}}` + "\n")
	v := exampleVersions()
	v.Candidates[0].Digest = s.tree.Digest()
	return s, bundle, v, []oci.Item{s.item(), bundleItem(bundle), oci.VersionsItem(v)}
}

// golden.tar is the format as it was first published: it must stay readable,
// and packing the same content must give the same bytes. A Go release with
// another deflate is the one good reason to run with -update.
func TestGolden(t *testing.T) {
	s, bundle, v, all := goldenItems(t)
	name := filepath.Join(t.TempDir(), "new.tar")
	if *update {
		name = goldenFile
	}
	report := push(t, open(t, "tar:"+name, oci.Options{Write: true}), all, oci.RunOptions{})

	m := open(t, "tar:"+goldenFile, oci.Options{})
	s.mustRead(t, m)
	got, err := m.Bundle(t.Context(), bundleItem(bundle).Ref.Digest)
	if err != nil || string(got) != string(bundle) {
		t.Errorf("bundle: %q, %v", got, err)
	}
	if read, err := m.Versions(t.Context(), v.Source); err != nil || len(read.Candidates) != 1 {
		t.Errorf("versions: %+v, %v", read, err)
	}
	was, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	now, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(was) != string(now) {
		t.Errorf("the archive of the same items is another one: %s", report.Archive)
	}
}
