package oci

// Spec says where a mirror is.
type Spec struct {
	kind string // dir, oci, https, tar
	path string
}

// ParseSpec reads dir:PATH, tar:FILE, tar:-, oci://HOST/REPOSITORY (also
// oci+http and oci+https), https://HOST/PATH or http://HOST/PATH. The error's
// code is usage.
func ParseSpec(s string) (Spec, error) { return Spec{}, nil }

// String returns the spec in canonical spelling, without credentials.
func (s Spec) String() string { return s.kind + ":" + s.path }

// Offline reports whether reading needs no network.
func (s Spec) Offline() bool { return s.kind == "dir" || s.kind == "tar" }

type store interface{}
