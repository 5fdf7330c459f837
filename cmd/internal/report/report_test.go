package report_test

import (
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillpm/skillpm/cmd/internal/report"
	"github.com/skillpm/skillpm/internal/diag"
)

var tool = report.Tool{Version: "1.0.0", Explain: func(code diag.Code) string {
	if code == diag.NameCharset {
		return "name_charset\n\nThe name has other characters.\n\nWhy: loaders.\n"
	}
	return ""
}}

func twoCases() []report.Case {
	return []report.Case{
		{Name: "skills/good", Findings: diag.List{
			diag.Note(diag.BodyLong, "the body has 501 lines").At("skills/good/SKILL.md", 5, 1),
		}},
		{Name: "skills/a b", Findings: diag.List{
			diag.New(diag.NameCharset, "the name contains ' '\n::error::forged").At("skills/a b/SKILL.md", 2, 7).WithHint("100%% legal: `a-b`"),
			diag.New(diag.SymlinkEscapes, "the link leads out").At("skills/a b/SKILL.md", 0, 0),
		}},
	}
}

func TestGitHubEscapesWhatWouldBeACommand(t *testing.T) {
	want := strings.Join([]string{
		"::notice file=skills/good/SKILL.md,line=5,col=1,title=body_long::the body has 501 lines",
		"::error file=skills/a b/SKILL.md,line=2,col=7,title=name_charset::the name contains ' '%0A::error::forged; 100%25 legal: `a-b`",
		"::error file=skills/a b/SKILL.md,title=symlink_escapes::the link leads out",
		"",
	}, "\n")
	got, err := report.Render("github", "validate", tool, twoCases())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("annotations differ (-want +got):\n%s", diff)
	}
}

// A finding about no file has no empty one.
func TestGitHubWithoutFile(t *testing.T) {
	got := string(report.GitHub(diag.List{diag.New(diag.Unsigned, "not signed")}))
	if want := "::error title=unsigned::not signed\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSARIFNamesEveryRuleOnce(t *testing.T) {
	text, err := report.Render("sarif", "validate", tool, twoCases())
	if err != nil {
		t.Fatal(err)
	}
	var log struct {
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID    string
				RuleIndex int
				Level     string
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           *struct{ StartLine, StartColumn int }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(text, &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	if log.Version != "2.1.0" || len(run.Tool.Driver.Rules) != 3 || len(run.Results) != 3 {
		t.Fatalf("version %s, %d rules, %d results", log.Version, len(run.Tool.Driver.Rules), len(run.Results))
	}
	for _, r := range run.Results {
		if run.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID {
			t.Errorf("rule %d is %s, want %s", r.RuleIndex, run.Tool.Driver.Rules[r.RuleIndex].ID, r.RuleID)
		}
	}
	place := run.Results[1].Locations[0].PhysicalLocation
	if place.ArtifactLocation.URI != "skills/a%20b/SKILL.md" || place.Region.StartLine != 2 {
		t.Errorf("place %+v, region %+v", place.ArtifactLocation, place.Region)
	}
	if run.Results[2].Locations[0].PhysicalLocation.Region != nil {
		t.Error("a finding without a line has a region")
	}
}

// GitHub's code scanning wants more of a rule than the standard does: a name, both
// descriptions and a help text.
func TestSARIFRulesExplainThemselves(t *testing.T) {
	text, err := report.Render("sarif", "validate", tool, twoCases())
	if err != nil {
		t.Fatal(err)
	}
	type message struct{ Text, Markdown string }
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct {
					Rules []struct {
						ID, Name, HelpURI                       string
						ShortDescription, FullDescription, Help message
						DefaultConfiguration                    struct{ Level string }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(text, &log); err != nil {
		t.Fatal(err)
	}
	for _, r := range log.Runs[0].Tool.Driver.Rules {
		if r.Name == "" || r.ShortDescription.Text == "" || r.FullDescription.Text == "" || r.Help.Text == "" ||
			!strings.HasSuffix(r.HelpURI, "errors.md#"+r.ID) || r.DefaultConfiguration.Level == "" {
			t.Errorf("rule %s is not whole: %+v", r.ID, r)
		}
		if r.ID == "name_charset" {
			if r.Name != "NameCharset" || r.FullDescription.Text != "The name has other characters." || r.Help.Markdown != "The name has other characters.\n\nWhy: loaders." {
				t.Errorf("%+v", r)
			}
		}
	}
}

func TestGitLabKeepsAFindingThatMoves(t *testing.T) {
	type issue struct {
		Description, Check_name, Fingerprint, Severity string
		Location                                       struct {
			Path  string
			Lines struct{ Begin int }
		}
	}
	render := func(list diag.List) []issue {
		text, err := report.GitLab(list)
		if err != nil {
			t.Fatal(err)
		}
		var issues []issue
		if err := json.Unmarshal(text, &issues); err != nil {
			t.Fatal(err)
		}
		return issues
	}
	at := func(line int) *diag.Error { return diag.New(diag.NameCharset, "odd").At("a/SKILL.md", line, 1) }
	one, moved := render(diag.List{at(2)}), render(diag.List{at(9)})
	if one[0].Fingerprint != moved[0].Fingerprint || moved[0].Location.Lines.Begin != 9 || one[0].Severity != "major" {
		t.Errorf("%+v, then %+v", one, moved)
	}
	twice := render(diag.List{at(2), at(5), diag.Note(diag.Unsigned, "not signed")})
	if twice[0].Fingerprint == twice[1].Fingerprint {
		t.Error("two findings have one fingerprint")
	}
	if last := twice[2]; last.Location.Path != "." || last.Location.Lines.Begin != 1 || last.Severity != "info" {
		t.Errorf("a finding about no file: %+v", last)
	}
	if text, _ := report.GitLab(nil); string(text) != "[]\n" {
		t.Errorf("no findings: %q", text)
	}
}

func TestJUnitFailsOnErrorsOnly(t *testing.T) {
	text, err := report.Render("junit", "validate", tool, twoCases())
	if err != nil {
		t.Fatal(err)
	}
	var suites struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
	}
	if err := xml.Unmarshal(text, &suites); err != nil {
		t.Fatal(err)
	}
	if suites.Tests != 2 || suites.Failures != 1 {
		t.Errorf("%d tests with %d failures, want 2 with 1:\n%s", suites.Tests, suites.Failures, text)
	}
}

func TestRenderRefusesAnUnknownFormat(t *testing.T) {
	if _, err := report.Render("yaml", "validate", tool, nil); diag.CodeOf(err) != diag.Usage {
		t.Errorf("got %v, want usage", err)
	}
}
