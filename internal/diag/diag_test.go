package diag_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

// What failed is heard once, however the errors were put together.
func TestAll(t *testing.T) {
	a, b := diag.New(diag.DiskFull, "a"), diag.New(diag.FetchFailed, "b")
	list := diag.List{a, b}
	value := &skill.Error{Code: "path_unsafe", Message: "v"}
	plain := errors.New("plain")
	for name, c := range map[string]struct {
		err  error
		want []string
	}{
		"nothing":                     {nil, nil},
		"a finding":                   {a, []string{"disk_full a"}},
		"a list":                      {list, []string{"disk_full a", "fetch_failed b"}},
		"a wrapped list":              {fmt.Errorf("read: %w", list), []string{"disk_full a", "fetch_failed b"}},
		"joined":                      {errors.Join(a, b), []string{"disk_full a", "fetch_failed b"}},
		"joined in a join":            {errors.Join(errors.Join(nil, a), fmt.Errorf("close: %w", b)), []string{"disk_full a", "fetch_failed b"}},
		"a list and a finding":        {errors.Join(list, diag.New(diag.Internal, "c")), []string{"disk_full a", "fetch_failed b", "internal c"}},
		"the same twice":              {errors.Join(a, list, a), []string{"disk_full a", "fetch_failed b"}},
		"a list as cause":             {diag.New(diag.LockCorrupt, "outer").WithCause(list), []string{"lock_corrupt outer: a; b"}},
		"a cause joined again":        {errors.Join(diag.New(diag.LockCorrupt, "outer").WithCause(a), a), []string{"lock_corrupt outer: a"}},
		"a value's error":             {fmt.Errorf("read: %w", value), []string{"path_unsafe read: v"}},
		"a finding and a value's":     {errors.Join(a, value), []string{"disk_full a", "path_unsafe v"}},
		"no finding":                  {fmt.Errorf("read: %w", plain), []string{"internal read: plain"}},
		"two that are none":           {errors.Join(plain, errors.New("other")), []string{"internal plain\nother"}},
		"one that is none, beside":    {errors.Join(a, plain), []string{"disk_full a [also: plain]"}},
		"one that is none, in front":  {errors.Join(plain, a, b), []string{"disk_full a [also: plain]", "fetch_failed b"}},
		"one that is none, in a list": {errors.Join(fmt.Errorf("x: %w", errors.Join(b, plain)), a), []string{"fetch_failed b [also: plain]", "disk_full a"}},
	} {
		var got []string
		for _, e := range diag.All(c.err) {
			line := string(e.Code) + " " + e.Error()
			if len(e.Details) > 0 {
				line += fmt.Sprint(" ", e.Details)
			}
			got = append(got, line)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if len(a.Details) > 0 {
		t.Errorf("a finding was changed: %q", a.Details)
	}
}

// An error that two things caused ends with the status of the graver one.
func TestExitHearsAll(t *testing.T) {
	err := errors.Join(diag.New(diag.DigestMismatch, "a"), diag.New(diag.Usage, "b"))
	if got := diag.Exit(err); got != 64 {
		t.Errorf("status %d, want 64", got)
	}
}

func TestSort(t *testing.T) {
	at := func(e *diag.Error, file string, line, column int) *diag.Error { return e.At(file, line, column) }
	want := diag.List{
		at(diag.New(diag.Usage, "1"), "a", 1, 1),
		at(diag.New(diag.Internal, "2"), "b", 1, 1),
		at(diag.New(diag.Usage, "3"), "b", 1, 1),
		at(diag.Warn(diag.Internal, "4"), "b", 1, 1),
		at(diag.Note(diag.FetchFailed, "5"), "b", 1, 1),
		at(diag.New(diag.Usage, "6"), "b", 1, 2),
		at(diag.Note(diag.Usage, "7"), "b", 2, 1),
	}
	want[2].Severity = "" // which means error
	got := slices.Clone(want)
	slices.Reverse(got)
	got.Sort()
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %s, want %s", i, got[i].Message, want[i].Message)
		}
	}
}
