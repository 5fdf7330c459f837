package cli

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/diag"
)

func TestEscapeJSON(t *testing.T) {
	text := "é \u009b31m \u202etxt \U000e0041 \\ \" 字"
	data, err := json.MarshalIndent(map[string]string{"a": text}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got := escapeJSON(string(data) + "\n")
	for _, r := range "\u009b\u202e\U000e0041" {
		if strings.ContainsRune(got, r) {
			t.Errorf("%U stands in %s", r, got)
		}
	}
	if !strings.Contains(got, "é") || !strings.Contains(got, "字") || !strings.HasSuffix(got, "}\n") {
		t.Errorf("what is harmless was changed: %s", got)
	}
	var back map[string]string
	if err := json.Unmarshal([]byte(got), &back); err != nil || back["a"] != text {
		t.Errorf("it means %q, %v", back["a"], err)
	}
}

// A mistake of ours ends with status 70 and still prints one object.
func TestPanic(t *testing.T) {
	var out strings.Builder
	app := &App{UI: &ui.Streams{Out: &out, Err: &strings.Builder{}}, LookupEnv: func(string) (string, bool) { return "", false }}
	app.flags.json = true
	cmd := app.command(&cobra.Command{Use: "list"}, "list", func(context.Context, []string) (Result, error) { panic("impossible") })
	err := cmd.ExecuteContext(t.Context())
	if done, ok := errors.AsType[*finished](err); !ok || done.status != 70 {
		t.Errorf("it ended with %v", err)
	}
	var got envelope
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if got.Schema != "skillpm/list/1" || got.Exit != 70 || got.Result != nil || len(got.Diagnostics) != 1 || got.Diagnostics[0].Code != string(diag.Internal) {
		t.Errorf("it printed %s", out.String())
	}
}
