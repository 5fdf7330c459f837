// Package report renders findings for the programs that gate a change: SARIF for
// code scanning, GitHub's workflow commands for annotations, JUnit XML for CI
// dashboards. Commands share it, so that validate and verify look alike there.
//
// It knows findings (package diag) and nothing of skills, and writes nothing.
package report

import (
	"bytes"
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
var Formats = []string{"sarif", "github", "junit"}

// Case is one thing that was looked at, with what was found.
type Case struct {
	// Name is the skill's path or key.
	Name     string
	Findings diag.List
}

// Render returns the findings in one of Formats. version is skillpm's own; suite
// names the command.
func Render(format, suite, version string, cases []Case) ([]byte, error) {
	switch format {
	case "sarif":
		return SARIF(version, findings(cases))
	case "github":
		return GitHub(findings(cases)), nil
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
	ID    string    `json:"id"`
	Short sarifText `json:"shortDescription"`
}

type sarifText struct {
	Text string `json:"text"`
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
// that occur, sorted.
func SARIF(version string, list diag.List) ([]byte, error) {
	rules := []sarifRule{}
	index := map[diag.Code]int{}
	for _, code := range codes(list) {
		index[code] = len(rules)
		rules = append(rules, sarifRule{ID: string(code), Short: sarifText{strings.ReplaceAll(string(code), "_", " ")}})
	}
	results := []sarifResult{}
	for _, e := range list {
		e = e.Redacted()
		results = append(results, sarifResult{
			RuleID: string(e.Code), RuleIndex: index[e.Code], Level: level(e), Message: sarifText{diag.Escape(message(e))},
			Locations: []sarifLocation{{sarifPhysical{Artifact: artifact(e.File), Region: region(e)}}},
		})
	}
	log := sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0",
		Runs: []sarifRun{{
			Tool:       sarifTool{sarifDriver{Name: "skillpm", Version: version, URI: "https://github.com/skillpm/skillpm", Rules: rules}},
			ColumnKind: "unicodeCodePoints", Results: results,
		}},
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(log)
	return b.Bytes(), err
}

func codes(list diag.List) []diag.Code {
	var out []diag.Code
	for _, e := range list {
		out = append(out, e.Code)
	}
	slices.Sort(out)
	return slices.Compact(out)
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
