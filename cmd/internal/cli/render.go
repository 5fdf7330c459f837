package cli

import (
	"github.com/skillpm/skillpm/internal/workspace"

	"slices"
	"strings"

	"github.com/skillpm/skillpm/cmd/internal/report"
	"github.com/skillpm/skillpm/docs"
	"github.com/skillpm/skillpm/internal/diag"
)

// sortedNames returns the keys of m in order.
func sortedNames(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// rendered turns findings into a foreign document; err still decides the status.
// Their files are relative to dir, and to the checkout in the document.
func (app *App) rendered(format, suite, dir string, cases []report.Case, err error) (Result, error) {
	for i, c := range cases {
		moved := make(diag.List, len(c.Findings))
		for k, e := range c.Findings {
			named := *e
			named.File = workspace.CheckoutPath(dir, e.File)
			moved[k] = &named
		}
		cases[i].Findings = moved
	}
	data, renderErr := report.Render(format, suite, report.Tool{Version: buildVersion(), Explain: explain}, cases)
	if renderErr != nil {
		return nil, renderErr
	}
	app.diagnostics = nil
	return Raw{data}, shown(err)
}

// explain returns a code's entry in the catalogue, "" if it has none.
func explain(code diag.Code) string {
	text, _ := docs.Entry(string(code))
	return text
}

// escapeLines escapes each line of a text that came from outside.
func escapeLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		body, ended := strings.CutSuffix(line, "\n")
		b.WriteString(diag.Escape(body))
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}
