package skill

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Digest is "sha256:" and 64 lower-case hex digits: a tree's identity
// (Tree.Digest) or the hash of a signature bundle.
type Digest string

const digestPrefix = "sha256:"

// ParseDigest returns s as a Digest. The error's code is "dependency_digest".
func ParseDigest(s string) (Digest, error) {
	digits, ok := strings.CutPrefix(s, digestPrefix)
	if !ok {
		return "", fault("dependency_digest", 0, fmt.Sprintf("a digest is sha256: and 64 hex digits, found `%s`", s))
	}
	if len(digits) != 2*sha256.Size {
		return "", fault("dependency_digest", len(digestPrefix), fmt.Sprintf("a sha256 digest has 64 hex digits, found %d", len(digits)))
	}
	for i := range len(digits) {
		if c := digits[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return "", fault("dependency_digest", len(digestPrefix)+i, fmt.Sprintf("a digest has lower-case hex digits only, found %q", c))
		}
	}
	return Digest(s), nil
}

// DigestOf returns the digest of b's bytes.
func DigestOf(b []byte) Digest {
	sum := sha256.Sum256(b)
	return DigestFromSum(sum)
}

// DigestFromSum returns the digest with the given SHA-256 value.
func DigestFromSum(sum [sha256.Size]byte) Digest {
	return Digest(digestPrefix + hex.EncodeToString(sum[:]))
}

// Hex returns the 64 hex digits.
func (d Digest) Hex() string { return strings.TrimPrefix(string(d), digestPrefix) }

// Short returns "sha256:" and the first twelve digits, for people.
func (d Digest) Short() string {
	if len(d) < len(digestPrefix)+12 {
		return string(d)
	}
	return string(d[:len(digestPrefix)+12])
}
