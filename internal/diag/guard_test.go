package diag

import (
	"errors"
	"strings"
	"testing"
)

func TestGuard(t *testing.T) {
	want := errors.New("fault")
	if err := Guard(func() error { return want }); err != want {
		t.Errorf("an error became %v", err)
	}
	var none []int
	err := Guard(func() error { _ = none[len(none)]; return nil })
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Code != Internal || Exit(err) != 70 {
		t.Fatalf("a panic became %v", err)
	}
	if len(e.Details) == 0 || !strings.Contains(e.Details[0], "guard_test.go:") {
		t.Errorf("the finding names no place: %q", e.Details)
	}
}
