package cli

import (
	"github.com/skillpm/skillpm/internal/views"
	"github.com/skillpm/skillpm/internal/world"

	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/diag"
)

type outdatedResult struct{ *views.OutdatedResult }

// Text prints one row for every skill about which there is something to say.
func (r outdatedResult) Text(s *ui.Streams) {
	var rows [][]string
	for i := range r.Skills {
		k := &r.Skills[i]
		if k.State == views.RowCurrent {
			continue
		}
		rows = append(rows, []string{
			diag.Escape(k.Key), k.Locked, orDash(k.Wanted), orDash(k.Latest), diag.Escape(k.Range), diag.Escape(rowText(k)),
		})
	}
	if len(rows) == 0 {
		s.Infof("every skill is at its newest version\n")
		return
	}
	s.Printf("%s", ui.Table([]string{"NAME", "LOCKED", "IN RANGE", "NEWEST", "RANGE", ""}, rows, s.Width))
}

// rowText says what a row's states mean, "" where the versions say it all.
func rowText(k *views.OutdatedRow) string {
	var notes []string
	for _, state := range append([]views.RowState{k.State}, k.Also...) {
		if text := stateText(k, state); text != "" {
			notes = append(notes, text)
		}
	}
	return strings.Join(notes, "; ")
}

func stateText(k *views.OutdatedRow, state views.RowState) string {
	switch state {
	case views.RowUnreachable:
		text := fmt.Sprintf("does not answer (%s)", k.Code)
		if k.AsOf != nil {
			text += ", last seen " + k.AsOf.UTC().Format("2006-01-02 15:04 MST")
		}
		return text
	case views.RowTagMoved:
		return "tag moved"
	case views.RowRepointed:
		return "a registry now names " + k.Source
	case views.RowHeld:
		return "held"
	case views.RowGone:
		text := "gone upstream, stays locked"
		if len(k.NowAt) > 0 {
			text += "; now at " + strings.Join(k.NowAt, " or ") + "?"
		}
		return text
	case views.RowRetracted:
		return "retracted: " + k.Retracted
	case views.RowRefGone:
		return "the branch or tag is gone, stays locked"
	case views.RowTagGone:
		return "tag gone"
	case views.RowPinned:
		return "pinned"
	case views.RowNewer, views.RowPastRange:
		if !k.Content {
			return "same files"
		}
	}
	return ""
}

func newOutdatedCmd(app *App) *cobra.Command {
	var s scope
	var exitCode bool
	cmd := &cobra.Command{
		Use: "outdated", Short: "Show which skills have newer versions", Args: cobra.NoArgs,
		Long: `Show every skill that is not simply at its newest version: newer versions in and
past its range, branches that moved, skills that are gone upstream, retracted,
held or pinned, tags that moved. A repository that does not answer makes the
status 1; the other rows are shown, and its own say what was last known.`,
	}
	s.add(cmd)
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit 3 if any skill has one, held ones aside")
	return app.command(cmd, "outdated", func(ctx context.Context, _ []string) (Result, error) {
		return app.with(world.Open, s, nil, func(p *world.World) (Result, error) {
			r, err := views.Outdated(ctx, p)
			if err == nil && exitCode && countNewer(r) > 0 {
				err = shown(diag.New(diag.LockOutdated, "%s", newerText(countNewer(r))))
			}
			return resultOr(r, err, func(r *views.OutdatedResult) Result { return outdatedResult{r} })
		})
	})
}

func countNewer(r *views.OutdatedResult) int {
	n := 0
	for i := range r.Skills {
		if r.Skills[i].HasNewer() {
			n++
		}
	}
	return n
}

func newerText(n int) string {
	if n == 1 {
		return "1 skill has a newer version"
	}
	return fmt.Sprintf("%d skills have newer versions", n)
}
