// Package deps pins modules until the packages that use them land.
package deps

import (
	_ "github.com/CycloneDX/cyclonedx-go"
	_ "github.com/Masterminds/semver/v3"
	_ "github.com/go-git/go-git/v5"
	_ "github.com/gofrs/flock"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/google/go-containerregistry/pkg/registry"
	_ "github.com/kevinburke/ssh_config"
	_ "github.com/pelletier/go-toml/v2"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/santhosh-tekuri/jsonschema/v6"
	_ "github.com/sigstore/sigstore-go/pkg/verify"
	_ "github.com/skeema/knownhosts"
	_ "github.com/spf13/cobra"
	_ "github.com/xanzy/ssh-agent"
	_ "go.etcd.io/bbolt"
	_ "go.yaml.in/yaml/v4"
	_ "golang.org/x/crypto/ssh"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/term"
	_ "golang.org/x/text/cases"
	_ "oras.land/oras-go/v2"
	_ "pgregory.net/rapid"
)
