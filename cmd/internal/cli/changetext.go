package cli

import (
	"github.com/skillpm/skillpm/internal/decide"

	"fmt"
	"strings"

	"github.com/skillpm/skillpm/cmd/internal/ui"
	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/internal/install"
)

// changeResult prints what add, remove, install, lock and update did.
type changeResult struct{ *decide.Change }

// maxRows bounds how many skills a summary lists before it only counts.
const maxRows = 40

// Text implements Result. The report is for people, so it goes to Err.
func (c changeResult) Text(s *ui.Streams) {
	rows := c.rows(s)
	for i, row := range rows {
		if i == maxRows {
			s.Infof("… and %d more; `skillpm list` shows all\n", len(rows)-i)
			break
		}
		s.Infof("%s\n", row)
	}
	for _, e := range c.Explained {
		s.Infof("%s", explanation(e))
	}
	for _, b := range c.Behind {
		s.Infof("note: `%s` stays at %s although %s exists%s\n", b.Key, b.Version, b.Newest, because(b.Because))
	}
	for _, place := range c.Unmanaged {
		s.Infof("note: %s is a skill that no lock names; it is left alone\n", diag.Escape(place))
	}
	s.Infof("%s\n", c.summary())
}

// explanation tells why a skill has its version, one demand a line.
func explanation(e decide.Explanation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", diag.Escape(e.Key), e.Version)
	for _, d := range e.Demands {
		verb := "requires"
		if d.Chain {
			verb = "chains"
		}
		fmt.Fprintf(&b, "    %s %s %s\n", diag.Escape(strings.TrimSpace(d.By+" "+d.Version)), verb, diag.Escape(d.Demands))
	}
	if e.Overridden != "" {
		fmt.Fprintf(&b, "    [overrides] replaces all of these by %s\n", diag.Escape(e.Overridden))
	}
	if e.Newest != "" {
		fmt.Fprintf(&b, "    %s exists and was passed over%s\n", e.Newest, because(e.Because))
	}
	return b.String()
}

func because(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return ", because of " + strings.Join(keys, ", ")
}

func (c changeResult) rows(s *ui.Streams) []string {
	var rows []string
	for _, k := range c.Skills {
		if text := changeRow(s, k); text != "" {
			rows = append(rows, text)
		}
	}
	for _, place := range c.leftovers() {
		rows = append(rows, s.Paint(ui.Bad, "-")+" "+diag.Escape(place)+"  no longer named by the lock")
	}
	return rows
}

// leftovers are places that are cleared although the old lock did not name them:
// it was deleted, or an earlier run was told to leave the disk alone.
func (c changeResult) leftovers() []string {
	named := map[string]bool{}
	for _, k := range c.Skills {
		named[k.Key] = true
	}
	var places []string
	for _, a := range c.Plan {
		if a.Kind == install.Remove && !named[string(a.Key)] {
			places = append(places, a.Path())
		}
	}
	return places
}

// changeRow describes one skill, "" when nothing happened to it.
func changeRow(s *ui.Streams, k decide.SkillChange) string {
	mark, version, role := "", k.To, ui.Good
	switch k.Action {
	case decide.Added:
		mark = "+"
	case decide.Removed:
		mark, version, role = "-", k.From, ui.Bad
	case decide.Updated, decide.Moved:
		mark, version, role = "~", k.From+" -> "+k.To, ui.Warn
	case decide.Downgraded:
		mark, version, role = "!", k.From+" -> "+k.To+" (DOWNGRADE)", ui.Bad
	default:
		switch install.Kind(k.Disk) {
		case install.Create, install.Replace:
			mark, role = "=", ui.Accent
		default:
			return ""
		}
	}
	text := s.Paint(role, mark) + " " + s.Paint(ui.Strong, k.Key)
	if version != "" {
		text += " " + diag.Escape(version)
	}
	text += "  " + s.Paint(ui.Subdued, diag.Escape(k.Source))
	if k.Action == decide.Removed {
		return text
	}
	var facts []string
	if k.Signature != "" {
		facts = append(facts, k.Signature)
	}
	facts = append(facts, k.Carries...)
	if k.Transitive {
		facts = append(facts, "required by others")
	}
	if len(facts) > 0 {
		text += "  [" + strings.Join(facts, ", ") + "]"
	}
	return text
}

// summary is the last line: counts and where the skills are.
func (c changeResult) summary() string {
	counts := map[decide.Action]int{}
	restored := 0
	for _, k := range c.Skills {
		counts[k.Action]++
		if k.Action == decide.Kept && (k.Disk == string(install.Create) || k.Disk == string(install.Replace)) {
			restored++
		}
	}
	total := len(c.Skills) - counts[decide.Removed]
	var parts []string
	for _, a := range []decide.Action{decide.Added, decide.Updated, decide.Downgraded, decide.Moved, decide.Removed} {
		if counts[a] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[a], a))
		}
	}
	if restored > 0 {
		parts = append(parts, fmt.Sprintf("%d put in place", restored))
	} else if n := c.movedPlaces(); len(parts) == 0 && n > 0 {
		parts = append(parts, plural(n, "place")+" changed")
	}
	where := strings.Join(c.Targets, ", ")
	switch {
	case c.DryRun:
		return fmt.Sprintf("dry run: %s, nothing was written", orNothing(parts))
	case c.NoInstall && c.LockChanged:
		return fmt.Sprintf("skills.lock written: %s (%s)", plural(total, "skill"), orNothing(parts))
	case c.NoInstall:
		return fmt.Sprintf("skills.lock is up to date: %s", plural(total, "skill"))
	case c.UpToDate:
		return fmt.Sprintf("up to date: %s in %s", plural(total, "skill"), where)
	}
	return fmt.Sprintf("installed: %s in %s (%s)", plural(total, "skill"), where, orNothing(parts))
}

// movedPlaces counts the places that a change of targets, links or exposure
// filled or cleared.
func (c changeResult) movedPlaces() int {
	n := 0
	for _, a := range c.Plan {
		switch a.Kind {
		case install.Create, install.Replace, install.Remove:
			n++
		}
	}
	return n
}

func orNothing(parts []string) string {
	if len(parts) == 0 {
		return "no change"
	}
	return strings.Join(parts, ", ")
}

func wrapChange(c *decide.Change) Result { return changeResult{c} }
