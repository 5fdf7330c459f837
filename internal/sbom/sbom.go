// Package sbom writes a lock as a CycloneDX 1.6 bill of materials in JSON, for
// scanners and inventories that know nothing of skills. The document is a function
// of the lock and of what the skills say about themselves: it has no time and no
// random number, and its serial number comes from the lock's bytes, so that equal
// inputs give equal documents. It opens no file and contacts nobody.
//
//	data, err := sbom.CycloneDX(lock, sbom.Options{Name: "app", License: licences.Of})
package sbom

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/url"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
)

// Options are what the lock does not say.
type Options struct {
	// Name is what the project is called.
	Name string
	// License returns the license a skill declares, "" if that is not at hand.
	License func(key string) string
}

// The names of our properties; CycloneDX keeps a registry of such prefixes.
const (
	propertyDigest   = "skillpm:tree-digest"
	propertySigner   = "skillpm:signer"
	propertyBundle   = "skillpm:signature-bundle"
	propertyCommit   = "skillpm:commit"
	propertyTag      = "skillpm:tag"
	propertyTree     = "skillpm:git-tree"
	propertyPath     = "skillpm:path"
	propertyDeclared = "skillpm:declared-name"
)

// CycloneDX returns the document, indented and with a final newline. Components
// are in the lock's order.
func CycloneDX(l *lockfile.Lock, opt Options) ([]byte, error) {
	bom := cdx.NewBOM()
	bom.SerialNumber = serial(l.Bytes())
	bom.Metadata = &cdx.Metadata{Component: &cdx.Component{
		BOMRef: rootRef, Type: cdx.ComponentTypeApplication, Name: opt.Name,
	}}
	var components []cdx.Component
	root := cdx.Dependency{Ref: rootRef}
	var graph []cdx.Dependency
	var direct []string
	for _, e := range l.Skills {
		components = append(components, component(e, opt.License(e.Key)))
		if _, ok := l.Root.Requires[e.Key]; ok {
			direct = append(direct, reference(e.Key))
		}
		graph = append(graph, dependency(reference(e.Key), e.Dependencies))
	}
	slices.Sort(direct)
	if len(direct) > 0 {
		root.Dependencies = &direct
	}
	graph = append([]cdx.Dependency{root}, graph...)
	if len(components) > 0 {
		bom.Components = &components
	}
	bom.Dependencies = &graph
	var out bytes.Buffer
	encoder := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON)
	encoder.SetPretty(true)
	encoder.SetEscapeHTML(false)
	if err := encoder.EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

const rootRef = "project"

func reference(key string) string { return "skill:" + key }

// serial makes a UUID of the lock: a version 8 UUID (RFC 9562, 5.8), whose bits
// are the maker's own.
func serial(lock []byte) string {
	sum := sha256.Sum256(append([]byte("skillpm-sbom-v1\n"), lock...))
	b := sum[:16]
	b[6] = b[6]&0x0f | 0x80
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

func dependency(ref string, keys []string) cdx.Dependency {
	d := cdx.Dependency{Ref: ref}
	if len(keys) > 0 {
		on := make([]string, len(keys))
		for i, k := range keys {
			on[i] = reference(k)
		}
		d.Dependencies = &on
	}
	return d
}

// component describes one skill. A skill is text and scripts that an agent reads,
// which is nearest to what CycloneDX calls a library.
func component(e *lockfile.Entry, license string) cdx.Component {
	c := cdx.Component{
		BOMRef: reference(e.Key), Type: cdx.ComponentTypeLibrary, Name: e.Key, Version: e.Version,
		Description: e.Description, Scope: scope(e), PackageURL: purl(e),
	}
	if license != "" {
		c.Licenses = &cdx.Licenses{{License: &cdx.License{Name: license}}}
	}
	if e.Digest != "" {
		c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: strings.TrimPrefix(string(e.Digest), "sha256:")}}
	}
	if e.Source.Type == lockfile.TypeGit {
		c.ExternalReferences = &[]cdx.ExternalReference{{
			Type: cdx.ERTypeVCS, URL: vcs(e.Source.URL), Comment: "commit " + e.Source.Commit,
		}}
	}
	if e.Source.Type == lockfile.TypeIndex {
		c.ExternalReferences = &[]cdx.ExternalReference{{Type: cdx.ERTypeDistribution, URL: e.Source.URL}}
	}
	if list := properties(e); len(list) > 0 {
		c.Properties = &list
	}
	return c
}

func scope(e *lockfile.Entry) cdx.Scope {
	if e.Use == "optional" {
		return cdx.ScopeOptional
	}
	return cdx.ScopeRequired
}

func properties(e *lockfile.Entry) []cdx.Property {
	var list []cdx.Property
	add := func(name, value string) {
		if value != "" {
			list = append(list, cdx.Property{Name: name, Value: value})
		}
	}
	add(propertyCommit, e.Source.Commit)
	add(propertyDeclared, e.DeclaredName)
	add(propertyTree, e.Source.Tree)
	add(propertyPath, e.Source.Path)
	if e.Signature != nil {
		add(propertyBundle, string(e.Signature.Bundle))
		add(propertySigner, e.Signature.Signer()) // what the bundle says; whether to believe it is a policy's
	}
	add(propertyTag, e.Source.Tag)
	add(propertyDigest, string(e.Digest))
	slices.SortFunc(list, func(a, b cdx.Property) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// vcs returns an address that is a URI: the scp form is not one.
func vcs(address string) string {
	if strings.Contains(address, "://") {
		return address
	}
	host, path, ok := strings.Cut(address, ":")
	if !ok {
		return address
	}
	return "ssh://" + host + "/" + strings.TrimPrefix(path, "/")
}

// purl returns a package URL: pkg:github for what github.com hosts, else
// pkg:generic with the repository as vcs_url. A skill of the project has none.
func purl(e *lockfile.Entry) string {
	if e.Source.Type != lockfile.TypeGit {
		return ""
	}
	src, err := skill.ParseSource(e.Source.URL)
	if err != nil {
		return ""
	}
	fragment := ""
	if e.Source.Path != "" {
		fragment = "#" + escapeAll(e.Source.Path)
	}
	if repo, ok := strings.CutPrefix(src.Repository(), "github.com/"); ok {
		return "pkg:github/" + escapeAll(repo) + "@" + e.Source.Commit + fragment
	}
	return "pkg:generic/" + url.PathEscape(e.Key) + "@" + url.PathEscape(e.Version) +
		"?vcs_url=" + url.QueryEscape("git+"+vcs(e.Source.URL)+"@"+e.Source.Commit) + fragment
}

// escapeAll escapes each element of a slash path.
func escapeAll(path string) string {
	elems := strings.Split(path, "/")
	for i, e := range elems {
		elems[i] = url.PathEscape(e)
	}
	return strings.Join(elems, "/")
}
