package oci_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/fetch/oci"
	"github.com/skillpm/skillpm/skill"
)

func exampleVersions() *oci.Versions {
	id := strings.Repeat("a", 40)
	return &oci.Versions{
		Source: "github.com/acme/skills//skills/deploy", Head: "refs/heads/main", HeadCommit: id,
		Refs: []oci.VersionRef{{Name: "refs/tags/v2.0.0", ID: id}, {Name: "refs/tags/v1.0.0", ID: strings.Repeat("b", 40), Peeled: strings.Repeat("c", 40)}},
		Candidates: []oci.Candidate{{
			Commit: id, Path: "skills/deploy", Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("x", 3600)),
			Tree: strings.Repeat("d", 40), Digest: skill.DigestOf(nil), File: "SKILL.md", Text: []byte("---\nname: deploy\n---\n\xff not UTF-8"),
		}},
	}
}

func TestVersions(t *testing.T) {
	reg, _ := serve(t, inProcess())
	for name, spec := range map[string]string{"folder": "dir:" + t.TempDir(), "registry": reg} {
		t.Run(name, func(t *testing.T) {
			m := open(t, spec, oci.Options{Write: true})
			v := exampleVersions()
			report := push(t, m, []oci.Item{oci.VersionsItem(v)}, oci.RunOptions{})
			if report.Count(oci.Done) != 1 {
				t.Errorf("%+v", report)
			}
			got, err := m.Versions(t.Context(), v.Source)
			if err != nil {
				t.Fatal(err)
			}
			want := exampleVersions()
			want.Refs[0], want.Refs[1] = want.Refs[1], want.Refs[0]
			want.Candidates[0].Time = time.Date(2026, 1, 2, 2, 4, 5, 0, time.UTC)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if report := push(t, m, []oci.Item{oci.VersionsItem(v)}, oci.RunOptions{}); report.Count(oci.Present) != 1 {
				t.Errorf("the same versions again: %+v", report)
			}
			checkMerge(t, m, v)
			report, err = m.Verify(t.Context(), []oci.Want{{Ref: oci.VersionsRef(v.Source)}}, oci.RunOptions{})
			if err != nil || report.Err() != nil {
				t.Errorf("verify: %v, %v", err, report.Err())
			}
			copied := open(t, "tar:"+filepath.Join(t.TempDir(), "m.tar"), oci.Options{Write: true})
			if report, err := oci.Copy(t.Context(), m, copied, nil, oci.RunOptions{}); err != nil || report.Count(oci.Done) != 1 {
				t.Errorf("copy: %v, %+v", err, report)
			}
		})
	}
}

// checkMerge adds a newer listing: it moves a tag, adds one, and drops nothing.
func checkMerge(t *testing.T, m *oci.Mirror, v *oci.Versions) {
	t.Helper()
	moved := strings.Repeat("e", 40)
	newer := &oci.Versions{
		Source: v.Source,
		Refs:   []oci.VersionRef{{Name: "refs/tags/v2.0.0", ID: moved}, {Name: "refs/tags/v3.0.0", ID: moved}},
		Candidates: []oci.Candidate{
			{Commit: moved, Path: "skills/deploy", File: "SKILL.md", Text: []byte("new")},
		},
	}
	changed, err := m.PutVersions(t.Context(), newer)
	if err != nil || !changed {
		t.Fatalf("changed %t, %v", changed, err)
	}
	if err := m.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := m.Versions(t.Context(), v.Source)
	if err != nil {
		t.Fatal(err)
	}
	var refs []string
	for _, r := range got.Refs {
		refs = append(refs, r.Name+" "+r.ID[:1])
	}
	if diff := cmp.Diff([]string{"refs/tags/v1.0.0 b", "refs/tags/v2.0.0 e", "refs/tags/v3.0.0 e"}, refs); diff != "" {
		t.Error(diff)
	}
	if len(got.Candidates) != 2 || got.Head != "refs/heads/main" {
		t.Errorf("merged: %+v", got)
	}
}

// Versions of a year that JSON cannot write are refused, not a crash.
func TestVersionsBeyondTime(t *testing.T) {
	v := exampleVersions()
	v.Candidates[0].Time = time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC)
	m := open(t, "dir:"+t.TempDir(), oci.Options{Write: true})
	report, err := m.Push(t.Context(), []oci.Item{oci.VersionsItem(v)}, oci.RunOptions{})
	if err != nil || report.Count(oci.Failed) != 1 || report.Err() == nil {
		t.Errorf("%v, %v", err, report.Err())
	}
}
