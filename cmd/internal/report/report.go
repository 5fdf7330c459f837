// Package report renders findings for the programs that gate a change: SARIF for
// code scanning, GitHub's workflow commands for annotations, GitLab's code quality
// report, JUnit XML for CI dashboards. Commands share it, so that validate and
// verify look alike there.
//
// It knows findings (package diag) and nothing of skills, and writes nothing.
package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
)

// Formats are the names that --format takes beside text and json.
var Formats = []string{"sarif", "github", "gitlab", "junit"}

// Case is one thing that was looked at, with what was found.
type Case struct {
	// Name is the skill's path or key.
	Name     string
	Findings diag.List
}

// Tool is what a report says about the program that made it.
type Tool struct {
	Version string
	// Explain returns what a code means as Markdown, "" for one without an
	// explanation. Its first line is the code, its first paragraph the short form.
	Explain func(diag.Code) string
}

// Render returns the findings in one of Formats; suite names the command.
func Render(format, suite string, tool Tool, cases []Case) ([]byte, error) {
	switch format {
	case "sarif":
		return SARIF(tool, findings(cases))
	case "github":
		return GitHub(findings(cases)), nil
	case "gitlab":
		return GitLab(findings(cases))
	case "junit":
		return JUnit(suite, cases)
	}
	return nil, diag.New(diag.Usage, "`%s` is no format; expected text, json, %s", format, strings.Join(Formats, ", "))
}

func findings(cases []Case) diag.List {
	var list diag.List
	for _, c := range cases {
		list = append(list, c.Findings...)
	}
	return list
}

// The parts of SARIF 2.1.0 (OASIS) that are used.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool       sarifTool     `json:"tool"`
	ColumnKind string        `json:"columnKind"`
	Results    []sarifResult `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version,omitempty"`
	URI     string      `json:"informationUri"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID      string       `json:"id"`
	Name    string       `json:"name"`
	Short   sarifText    `json:"shortDescription"`
	Full    sarifText    `json:"fullDescription"`
	Help    sarifText    `json:"help"`
	HelpURI string       `json:"helpUri"`
	Default sarifDefault `json:"defaultConfiguration"`
}

type sarifDefault struct {
	Level string `json:"level"`
}

type sarifText struct {
	Text     string `json:"text"`
	Markdown string `json:"markdown,omitempty"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	RuleIndex int             `json:"ruleIndex"`
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

type sarifLocation struct {
	Physical sarifPhysical `json:"physicalLocation"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   *sarifRegion  `json:"region,omitempty"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
	// Base says that URI is relative to the root of the checkout.
	Base string `json:"uriBaseId,omitempty"`
}

// sourceRoot is what GitHub and others take for the root of the checkout.
const sourceRoot = "%SRCROOT%"

type sarifRegion struct {
	Line   int `json:"startLine"`
	Column int `json:"startColumn,omitempty"`
}

// SARIF returns the findings as one SARIF 2.1.0 log. The rules are the codes
// that occur, sorted, with what code scanning asks of a rule beyond the standard:
// descriptions and help.
func SARIF(tool Tool, list diag.List) ([]byte, error) {
	rules := []sarifRule{}
	index := map[diag.Code]int{}
	for _, e := range firstOfEachCode(list) {
		index[e.Code] = len(rules)
		rules = append(rules, rule(tool, e))
	}
	results := []sarifResult{}
	for _, e := range list {
		e = e.Redacted()
		results = append(results, sarifResult{
			RuleID: string(e.Code), RuleIndex: index[e.Code], Level: level(e), Message: sarifText{Text: diag.Escape(message(e))},
			Locations: []sarifLocation{{sarifPhysical{Artifact: artifact(e.File), Region: region(e)}}},
		})
	}
	log := sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0",
		Runs: []sarifRun{{
			Tool:       sarifTool{sarifDriver{Name: "skillpm", Version: tool.Version, URI: "https://github.com/skillpm/skillpm", Rules: rules}},
			ColumnKind: "unicodeCodePoints", Results: results,
		}},
	}
	return encode(log)
}

func encode(document any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(document)
	return b.Bytes(), err
}

func firstOfEachCode(list diag.List) diag.List {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b *diag.Error) int { return strings.Compare(string(a.Code), string(b.Code)) })
	return slices.CompactFunc(sorted, func(a, b *diag.Error) bool { return a.Code == b.Code })
}

// errorsPage is where every code has a section of its own.
const errorsPage = "https://github.com/skillpm/skillpm/blob/main/docs/errors.md"

func rule(tool Tool, e *diag.Error) sarifRule {
	short := strings.ReplaceAll(string(e.Code), "_", " ")
	r := sarifRule{
		ID: string(e.Code), Name: pascal(string(e.Code)), Short: sarifText{Text: short}, Full: sarifText{Text: short},
		Help: sarifText{Text: short}, HelpURI: errorsPage + "#" + string(e.Code), Default: sarifDefault{level(e)},
	}
	_, body, _ := strings.Cut(tool.Explain(e.Code), "\n\n")
	if body = strings.TrimSpace(body); body != "" {
		first, _, _ := strings.Cut(body, "\n\n")
		r.Full = sarifText{Text: first}
		r.Help = sarifText{Text: body, Markdown: body}
	}
	return r
}

// pascal turns tag_moved into TagMoved, as SARIF wants a rule's name.
func pascal(code string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(code, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// level maps severities to the words that SARIF and GitHub share.
func level(e *diag.Error) string {
	switch e.Severity {
	case diag.SeverityWarning:
		return "warning"
	case diag.SeverityNote:
		return "note"
	}
	return "error"
}

func message(e *diag.Error) string {
	text := e.Error()
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

func artifact(file string) sarifArtifact {
	a := sarifArtifact{URI: fileURI(file)}
	if !path.IsAbs(file) {
		a.Base = sourceRoot
	}
	return a
}

// fileURI returns a relative URI reference for a relative path, a file: URI for
// an absolute one.
func fileURI(file string) string {
	if file == "" {
		file = "."
	}
	u := url.URL{Path: file}
	if path.IsAbs(file) {
		u.Scheme = "file"
	}
	return u.String()
}

func region(e *diag.Error) *sarifRegion {
	if e.Line == 0 {
		return nil
	}
	return &sarifRegion{e.Line, e.Column}
}

// GitHub returns workflow commands that annotate a pull request, one a line
// (docs.github.com, "Workflow commands"). A note becomes a notice.
func GitHub(list diag.List) []byte {
	var b bytes.Buffer
	for _, e := range list {
		e = e.Redacted()
		word := level(e)
		if word == "note" {
			word = "notice"
		}
		fmt.Fprintf(&b, "::%s ", word)
		if e.File != "" {
			fmt.Fprintf(&b, "file=%s,", property(e.File))
		}
		if e.Line > 0 {
			fmt.Fprintf(&b, "line=%d,", e.Line)
		}
		if e.Column > 0 {
			fmt.Fprintf(&b, "col=%d,", e.Column)
		}
		fmt.Fprintf(&b, "title=%s::%s\n", property(string(e.Code)), data(message(e)))
	}
	return b.Bytes()
}

// data escapes a command's text, property also what separates properties. What
// is left of control characters is made visible, so that a skill cannot write
// commands of its own into a log.
func data(s string) string {
	s = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
	return diag.Escape(s)
}

func property(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(s))
}

// gitlabIssue is one issue of GitLab's code quality report, which is a part of
// Code Climate's format (docs.gitlab.com, "Code Quality report format").
type gitlabIssue struct {
	Description string         `json:"description"`
	CheckName   string         `json:"check_name"`
	Fingerprint string         `json:"fingerprint"`
	Severity    string         `json:"severity"`
	Location    gitlabLocation `json:"location"`
}

type gitlabLocation struct {
	Path  string      `json:"path"`
	Lines gitlabLines `json:"lines"`
}

type gitlabLines struct {
	Begin int `json:"begin"`
}

// GitLab returns the findings as a code quality report. A fingerprint is a hash of
// code, file and message, so that a finding that only moves to another line is the
// same one; equal findings of one file are counted into it.
func GitLab(list diag.List) ([]byte, error) {
	issues := []gitlabIssue{}
	seen := map[string]int{}
	for _, e := range list {
		e = e.Redacted()
		text := diag.Escape(message(e))
		identity := string(e.Code) + "\x00" + e.File + "\x00" + text
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", identity, seen[identity]))
		seen[identity]++
		file := e.File
		if file == "" {
			file = "." // the path is required
		}
		issues = append(issues, gitlabIssue{
			Description: text, CheckName: string(e.Code), Fingerprint: fmt.Sprintf("%x", sum[:16]),
			Severity: map[string]string{"error": "major", "warning": "minor", "note": "info"}[level(e)],
			Location: gitlabLocation{diag.Escape(file), gitlabLines{max(1, e.Line)}},
		})
	}
	return encode(issues)
}

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Failure *junitFailure `xml:"failure"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitFailure struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit returns one test case a Case; it fails if a finding is an error. Notes
// are its output.
func JUnit(suite string, cases []Case) ([]byte, error) {
	s := junitSuite{Name: suite}
	for _, c := range cases {
		one := junitCase{Name: diag.Escape(c.Name), Class: suite}
		var failed, noted []string
		for _, e := range c.Findings {
			e = e.Redacted()
			line := diag.Escape(place(e) + string(e.Code) + ": " + message(e))
			if level(e) != "error" {
				noted = append(noted, line)
				continue
			}
			if one.Failure == nil {
				one.Failure = &junitFailure{Type: string(e.Code), Message: diag.Escape(e.Error())}
				s.Failures++
			}
			failed = append(failed, line)
		}
		if one.Failure != nil {
			one.Failure.Text = strings.Join(failed, "\n")
		}
		one.Out = strings.Join(noted, "\n")
		s.Cases = append(s.Cases, one)
	}
	s.Tests = len(s.Cases)
	text, err := xml.MarshalIndent(junitSuites{Tests: s.Tests, Failures: s.Failures, Suites: []junitSuite{s}}, "", "  ")
	return append([]byte(xml.Header), append(text, '\n')...), err
}

func place(e *diag.Error) string {
	if e.Line == 0 {
		return e.File + ": "
	}
	return fmt.Sprintf("%s:%d: ", e.File, e.Line)
}
