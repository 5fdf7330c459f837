package signing

import (
	"bytes"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/skillpm/skillpm/skill"
)

// withHint writes another hint into a bundle; no signature covers it.
func withHint(t *testing.T, bundle []byte, hint string) []byte {
	t.Helper()
	var b jsonBundle
	if err := json.Unmarshal(bundle, &b); err != nil {
		t.Fatal(err)
	}
	b.Material.PublicKey.Hint = hint
	out, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// publicOf returns a signer's key and the spellings of its hash.
func publicOf(t *testing.T, s *Signer) (key *publicKey, spellings map[string]string) {
	t.Helper()
	key, err := parsePublicKey(s.Public())
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(key.der)
	return key, map[string]string{
		"fingerprint": key.fingerprint(), "hex": hex.EncodeToString(sum[:]), "model signing": key.hint(),
		"sigstore": base64.StdEncoding.EncodeToString(sum[:]), "npm": "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:]),
	}
}

// A bare key is denied by the key that verifies, whatever the bundle's hint says.
func TestDeniedKeyIsTheOneThatVerifies(t *testing.T) {
	signer, _ := newSigner(t)
	other, _ := newSigner(t)
	tree := deployTree(t)
	bundle := mustSign(t, signer, "deploy", tree)
	_, spellings := publicOf(t, signer)
	_, others := publicOf(t, other)
	for spelling, name := range spellings {
		system := mustPolicy(t, "[trust]\ndeny = { keys = ["+strconv.Quote(name)+"] }\n", ScopeSystem)
		set, err := NewSet(SetOptions{ReadFile: func(string) ([]byte, error) { return signer.Public(), nil }},
			system, rule(t, `key = { file = "acme.pub" }`))
		if err != nil {
			t.Fatal(err)
		}
		for _, hint := range []string{"", "x", others["fingerprint"], spellings["sigstore"]} {
			t.Run(spelling+" "+hint, func(t *testing.T) {
				wantCode(t, Verify(t.Context(), input(t, set, tree, withHint(t, bundle, hint))), "signature_revoked")
			})
		}
	}
	// A denied key that no rule names can still be recognised by an honest hint.
	set, err := NewSet(SetOptions{}, mustPolicy(t, "[trust]\ndeny = { keys = ["+strconv.Quote(spellings["model signing"])+"] }\n", ScopeUser))
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, Verify(t.Context(), input(t, set, tree, bundle)), "signature_revoked")
}

// Every kind of denial against every kind of signature.
func TestDenialsOfEachKind(t *testing.T) {
	v := newVirtual(t)
	ca := newPrivateCA(t, "Acme CA")
	bare, _ := newSigner(t)
	tree := deployTree(t)
	certified := ca.signer(t, newECKey(t, elliptic.P256()), "Acme Signing 1")
	files := map[string][]byte{"ca.pem": certPEM(ca.root), "acme.pub": bare.Public()}
	for kind, b := range map[Kind][]byte{
		KindKeyless: v.sign(t, release, "deploy", tree), KindX509: signWithout(t, certified, tree), KindKey: mustSign(t, bare, "deploy", tree),
	} {
		_, spellings := publicOf(t, bare)
		key := spellings["fingerprint"]
		if kind != KindKey {
			in, err := Inspect(b, skill.Source{})
			if err != nil {
				t.Fatal(err)
			}
			key = in.KeyFingerprint
		}
		for _, tt := range []struct {
			name, deny string
			hit        bool
		}{
			{"identity", `identities = ["https://github.com/acme/**"]`, kind == KindKeyless},
			{"subject", `identities = ["Acme Signing 1"]`, kind == KindX509},
			{"key", "keys = [" + strconv.Quote(key) + "]", true},
			{"digest", `digests = ["` + string(tree.Digest()) + `"]`, true},
			{"another identity", `identities = ["https://github.com/mallory/**"]`, false},
			{"another key", `keys = ["sha256:` + strings.Repeat("1", 64) + `"]`, false},
			{"another digest", `digests = ["sha256:` + strings.Repeat("1", 64) + `"]`, false},
		} {
			t.Run(string(kind)+"/"+tt.name, func(t *testing.T) {
				set := v.setReading(t, files, mustPolicy(t, "[trust]\ndeny = { "+tt.deny+" }\n", ScopeSystem),
					rule(t, releaseRule+` }, { x509 = { roots = "ca.pem" } }, { key = { file = "acme.pub" }`))
				in := input(t, set, tree, b)
				in.Now = caNow
				if kind == KindKeyless {
					in.Now = input(t, set, tree, b).Now
				}
				want := "verified"
				if tt.hit {
					want = "signature_revoked"
				}
				wantCode(t, Verify(t.Context(), in), want)
			})
		}
	}
}

// A signer is followed by what verified, never by what the bundle says.
func TestFollowedSigners(t *testing.T) {
	v, stranger := newVirtual(t), newVirtual(t)
	ca, twin := newPrivateCA(t, "Acme CA"), newPrivateCA(t, "Acme CA")
	k1, _ := newSigner(t)
	k2, _ := newSigner(t)
	old, tree := deployTree(t), newTree(t, newFile("SKILL.md", "---\nname: deploy\n---\nnew\n", false))
	_, hints := publicOf(t, k1)
	leafKey := newECKey(t, elliptic.P256())
	certified := func(c *privateCA) *Signer { return c.signer(t, newECKey(t, elliptic.P256()), "Acme Signing 1") }
	same := func(c *privateCA) *Signer { return c.signer(t, leafKey, "Acme Signing 1") }
	files := map[string][]byte{"ca.pem": certPEM(ca.root), "acme.pub": k1.Public()}
	none := v.set(t)
	keyed := v.setReading(t, files, mustPolicy(t, "[[trust.rules]]\nmatch = \"elsewhere.example/**\"\nany_of = [ { key = { file = \"acme.pub\" } } ]\n", ScopeUser))
	anchored := v.setReading(t, files, rule(t, `x509 = { roots = "ca.pem" }`))
	const changed = "signature_signer_changed"
	for _, tt := range []struct {
		name        string
		set         *Set
		first, next []byte
		want        string
	}{
		{"key with the hint of another", keyed, mustSign(t, k1, "deploy", old), withHint(t, mustSign(t, k2, "deploy", tree), hints["model signing"]), changed},
		{"the same key with another hint", keyed, mustSign(t, k1, "deploy", old), withHint(t, mustSign(t, k1, "deploy", tree), "x"), "unjudged"},
		{"keys that no rule names", none, mustSign(t, k1, "deploy", old), withHint(t, mustSign(t, k2, "deploy", tree), hints["model signing"]), "unjudged"},
		{"keys that no rule names, with their hints", none, mustSign(t, k1, "deploy", old), mustSign(t, k2, "deploy", tree), changed},
		{"an identity that an unknown authority certified", none, v.sign(t, release, "deploy", old), stranger.sign(t, release, "deploy", tree), changed},
		{"an identity that the root knows", none, v.sign(t, release, "deploy", old), v.sign(t, release, "deploy", tree), "unjudged"},
		{"a subject of a CA of the same name", none, signWithout(t, certified(ca), old), signWithout(t, certified(twin), tree), changed},
		{"the same certified key", none, signWithout(t, same(ca), old), signWithout(t, same(ca), tree), "unjudged"},
		{"another key certified by a CA that a rule names", anchored, signWithout(t, certified(ca), old), signWithout(t, certified(ca), tree), "verified"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := input(t, tt.set, old, tt.first)
			if strings.Contains(tt.name, "CA") || strings.Contains(tt.name, "certified key") {
				in.Now = caNow
			}
			first := Verify(t.Context(), in)
			if !first.OK() {
				t.Fatal(first.Message)
			}
			in.Locked, in.Tree, in.Bundle = lockedAs(old, first), tree, tt.next
			got := Verify(t.Context(), in)
			wantCode(t, got, tt.want)
			if tt.name == "keys that no rule names" && !strings.Contains(got.Notes[0].Message, "cannot be told") {
				t.Errorf("notes %+v: want word that the signer may be another", got.Notes)
			}
		})
	}
}

// A lock that claims another key for the very bundle is not believed.
func TestLockedKeyIsAClaim(t *testing.T) {
	signer, set := newSigner(t)
	tree := deployTree(t)
	in := input(t, set, tree, mustSign(t, signer, "deploy", tree))
	in.Locked = lockedAs(tree, Verify(t.Context(), in))
	wantCode(t, Verify(t.Context(), in), "verified")
	lie := *in.Locked.Signature
	lie.Key = "sha256:" + strings.Repeat("1", 64)
	in.Locked = &Locked{Digest: tree.Digest(), Signature: &lie}
	wantCode(t, Verify(t.Context(), in), "signature_signer_changed")
}

// Each field of a bundle, deleted or changed, leaves the outcome where it was or
// makes it stricter: what no signature covers decides nothing.
func TestFieldsOfABundle(t *testing.T) {
	v := newVirtual(t)
	ca := newPrivateCA(t, "Acme CA")
	bare, _ := newSigner(t)
	other, _ := newSigner(t)
	tree := deployTree(t)
	files := map[string][]byte{"ca.pem": certPEM(ca.root), "acme.pub": bare.Public(), "other.pub": other.Public()}
	rank := map[Outcome]int{Verified: 3, Unjudged: 2, Unsigned: 1, Refused: 0}
	_, hints := publicOf(t, other)
	bundles := map[Kind][]byte{
		KindKeyless: v.sign(t, release, "deploy", tree),
		KindX509:    signWithout(t, ca.signer(t, newECKey(t, elliptic.P256()), "Acme Signing 1"), tree),
		KindKey:     mustSign(t, bare, "deploy", tree),
	}
	denied := `keys = ["` + publicKeyOf(t, bare).fingerprint() + `"], identities = ["https://github.com/acme/**", "Acme Signing 1"]`
	for _, policies := range [][]*Policy{
		nil,
		{rule(t, releaseRule+` }, { x509 = { roots = "ca.pem" } }, { key = { file = "acme.pub" }`)},
		{rule(t, releaseRule+` }, { x509 = { roots = "ca.pem" } }, { key = { file = "acme.pub" }`), mustPolicy(t, "[trust]\ndeny = { "+denied+" }\n", ScopeSystem)},
	} {
		set := v.setReading(t, files, policies...)
		for kind, bundle := range bundles {
			in := input(t, set, tree, bundle)
			if kind == KindX509 {
				in.Now = caNow
			}
			base := Verify(t.Context(), in)
			in.Locked = lockedAs(tree, base)
			tried := 0
			for change, mutated := range mutations(t, bundle, hints["model signing"], hints["fingerprint"]) {
				in.Bundle = mutated
				got := Verify(t.Context(), in)
				if rank[got.Outcome] > rank[base.Outcome] {
					t.Errorf("%s, %d policies: %s turns %s into %s", kind, len(policies), change, base.Outcome, got.Outcome)
				}
				if got.OK() && got.Signer.Key != base.Signer.Key {
					t.Errorf("%s: %s changes the key to %s", kind, change, got.Signer.Key)
				}
				tried++
			}
			if tried < 20 {
				t.Errorf("%s: only %d mutations", kind, tried)
			}
		}
	}
}

func publicKeyOf(t *testing.T, s *Signer) *publicKey {
	key, _ := publicOf(t, s)
	return key
}

// mutations yields every single change of a JSON document: each field deleted, and
// each value replaced by another of its type, the given strings among them.
func mutations(t *testing.T, data []byte, texts ...string) func(func(string, []byte) bool) {
	t.Helper()
	var doc any
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	return func(yield func(string, []byte) bool) {
		emit := func(what string) bool {
			out, err := json.Marshal(doc)
			if err != nil {
				t.Fatal(err)
			}
			return bytes.Equal(out, data) || yield(what, out)
		}
		mutate(doc, "", texts, emit, func(any) {})
	}
}

func mutate(v any, path string, texts []string, emit func(string) bool, set func(any)) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, old := range v {
			delete(v, name)
			ok := emit("deleting " + path + "." + name)
			v[name] = old
			if !ok || !mutate(old, path+"."+name, texts, emit, func(n any) { v[name] = n }) {
				return false
			}
		}
	case []any:
		for i, old := range v {
			if !mutate(old, fmt.Sprintf("%s[%d]", path, i), texts, emit, func(n any) { v[i] = n }) {
				return false
			}
		}
		set(append(slices.Clone(v), v...))
		ok := emit("doubling " + path)
		set([]any{})
		ok = ok && emit("emptying "+path)
		set(v)
		return ok
	case string:
		flipped := []byte(v)
		if len(flipped) > 0 {
			flipped[len(flipped)/2] ^= 1
		}
		for _, other := range append([]string{"", "x", string(flipped)}, texts...) {
			set(other)
			if !emit("changing " + path) {
				return false
			}
		}
		set(v)
	default:
		set("1")
		ok := emit("changing " + path)
		set(v)
		return ok
	}
	return true
}

// Of timestamps that no known authority confirms, only one by a stranger over this
// very signature waits for a newer root; one of something else is wrong for good.
func TestTimestampsThatDoNotBelong(t *testing.T) {
	v, stranger := newVirtual(t), newVirtual(t)
	tree := deployTree(t)
	r, err := v.set(t).root.get()
	if err != nil {
		t.Fatal(err)
	}
	b, f := parseBundle(v.sign(t, release, "deploy", tree))
	if f != nil {
		t.Fatal(f.message)
	}
	stamp := func(by *virtual, signature []byte) []byte {
		raw, err := by.TimestampResponse(signature)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	own, foreign := stamp(v, b.sig), stamp(stranger, b.sig)
	for _, tt := range []struct {
		name   string
		stamps [][]byte
		broken bool
		anchor bool
	}{
		{"its own", [][]byte{own}, false, false},
		{"of another signature", [][]byte{stamp(v, []byte("another"))}, true, false},
		{"of another signature by a stranger", [][]byte{stamp(stranger, []byte("another"))}, true, false},
		{"by a stranger", [][]byte{foreign}, true, true},
		{"garbage", [][]byte{[]byte("garbage")}, true, false},
		{"garbage and a stranger's", [][]byte{[]byte("garbage"), foreign}, true, true},
		{"garbage and its own", [][]byte{[]byte("garbage"), own}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b.timestamps = tt.stamps
			_, f := b.checkTime(r, b.key, nil, false, caNow)
			if (f != nil) != tt.broken || f != nil && f.anchor != tt.anchor {
				t.Errorf("got %+v, want broken %t, anchor %t", f, tt.broken, tt.anchor)
			}
		})
	}
}
