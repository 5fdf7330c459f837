package signing

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/sha1" // PBKDF2's default pseudo-random function in RFC 8018
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"hash"
	"io"

	"golang.org/x/crypto/scrypt"
)

// PKCS#8 encryption by RFC 8018 (PBES2) with AES in CBC mode, keys derived by
// PBKDF2 or scrypt (RFC 7914): what `openssl pkcs8 -topk8` writes. The standard
// library reads only plain PKCS#8; these two functions are less than the module
// that would do it, and bound the work that a key file may ask for.

var (
	oidPBES2  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}
	oidPBKDF2 = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 12}
	oidScrypt = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11591, 4, 11}
	oidAES256 = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 1, 42}
)

// aesKeySize maps aes128-CBC-PAD, aes192-CBC-PAD and aes256-CBC-PAD.
var aesKeySize = map[string]int{"2.16.840.1.101.3.4.1.2": 16, "2.16.840.1.101.3.4.1.22": 24, "2.16.840.1.101.3.4.1.42": 32}

// prf maps hmacWithSHA1, SHA256, SHA384 and SHA512.
var prf = map[string]func() hash.Hash{
	"1.2.840.113549.2.7": sha1.New, "1.2.840.113549.2.9": sha256.New,
	"1.2.840.113549.2.10": sha512.New384, "1.2.840.113549.2.11": sha512.New,
}

// Limits of the derivation a key file may ask for: ten times what OpenSSL's
// defaults cost, and 256 MiB.
const (
	maxIterations   = 10_000_000
	maxScryptMemory = 256 << 20
)

type encryptedKey struct {
	Algorithm pkix.AlgorithmIdentifier
	Data      []byte
}

type pbes2Params struct {
	Derivation, Encryption pkix.AlgorithmIdentifier
}

type pbkdf2Params struct {
	Salt       []byte
	Iterations int
	KeyLength  int                      `asn1:"optional"`
	PRF        pkix.AlgorithmIdentifier `asn1:"optional"`
}

type scryptParams struct {
	Salt      []byte
	N, R, P   int
	KeyLength int `asn1:"optional"`
}

var errPassphrase = errors.New("the passphrase is wrong")

// decryptPKCS8 returns the plain PKCS#8 bytes of an EncryptedPrivateKeyInfo.
func decryptPKCS8(der, passphrase []byte) ([]byte, error) {
	if len(passphrase) == 0 {
		return nil, errors.New("it is encrypted, and no passphrase was given")
	}
	var key encryptedKey
	var params pbes2Params
	if err := unmarshal(der, &key); err != nil {
		return nil, err
	}
	if !key.Algorithm.Algorithm.Equal(oidPBES2) {
		return nil, fmt.Errorf("it is encrypted by %s; only PBES2 is read (`openssl pkcs8 -topk8 -v2 aes256` converts)", key.Algorithm.Algorithm)
	}
	if err := unmarshal(key.Algorithm.Parameters.FullBytes, &params); err != nil {
		return nil, err
	}
	size, ok := aesKeySize[params.Encryption.Algorithm.String()]
	if !ok {
		return nil, fmt.Errorf("it is encrypted by cipher %s; only AES in CBC mode is read", params.Encryption.Algorithm)
	}
	var iv []byte
	if err := unmarshal(params.Encryption.Parameters.FullBytes, &iv); err != nil {
		return nil, err
	}
	secret, err := derive(params.Derivation, passphrase, size)
	if err != nil {
		return nil, err
	}
	return decryptCBC(secret, iv, key.Data)
}

func unmarshal(der []byte, into any) error {
	rest, err := asn1.Unmarshal(der, into)
	if err != nil {
		return fmt.Errorf("the encrypted key is malformed: %w", err)
	}
	if len(rest) > 0 {
		return errors.New("the encrypted key is malformed: data after it")
	}
	return nil
}

func derive(kdf pkix.AlgorithmIdentifier, passphrase []byte, size int) ([]byte, error) {
	switch {
	case kdf.Algorithm.Equal(oidPBKDF2):
		p := pbkdf2Params{}
		if err := unmarshal(kdf.Parameters.FullBytes, &p); err != nil {
			return nil, err
		}
		name := "1.2.840.113549.2.7"
		if len(p.PRF.Algorithm) > 0 {
			name = p.PRF.Algorithm.String()
		}
		h, ok := prf[name]
		if !ok || p.Iterations < 1 || p.Iterations > maxIterations {
			return nil, fmt.Errorf("its key derivation (PBKDF2, %s, %d rounds) is not supported", name, p.Iterations)
		}
		return pbkdf2.Key(h, string(passphrase), p.Salt, p.Iterations, size)
	case kdf.Algorithm.Equal(oidScrypt):
		p := scryptParams{}
		if err := unmarshal(kdf.Parameters.FullBytes, &p); err != nil {
			return nil, err
		}
		if p.N < 2 || p.R < 1 || p.P < 1 || p.N > maxScryptMemory || p.R > 1024 || p.P > 64 || 128*p.N > maxScryptMemory/p.R {
			return nil, fmt.Errorf("its key derivation (scrypt, N=%d, r=%d, p=%d) is not supported", p.N, p.R, p.P)
		}
		return scrypt.Key(passphrase, p.Salt, p.N, p.R, p.P, size)
	}
	return nil, fmt.Errorf("its key derivation %s is not supported; PBKDF2 and scrypt are", kdf.Algorithm)
}

// decryptCBC removes the padding of RFC 8018. A wrong passphrase almost always
// shows in it.
func decryptCBC(secret, iv, data []byte) ([]byte, error) {
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	if len(iv) != aes.BlockSize || len(data) == 0 || len(data)%aes.BlockSize != 0 {
		return nil, errors.New("the encrypted key is malformed: no whole number of blocks")
	}
	plain := make([]byte, len(data))
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(plain, data)
	pad := int(plain[len(plain)-1])
	if pad == 0 || pad > aes.BlockSize {
		return nil, errPassphrase
	}
	for _, c := range plain[len(plain)-pad:] {
		if int(c) != pad {
			return nil, errPassphrase
		}
	}
	return plain[:len(plain)-pad], nil
}

// encryptPKCS8 encrypts with AES-256 under scrypt (N=2^15, r=8, p=1: 32 MiB, a
// tenth of a second), which OpenSSL 1.1 and later reads.
func encryptPKCS8(random io.Reader, plain, passphrase []byte) ([]byte, error) {
	seed := make([]byte, 32)
	if _, err := io.ReadFull(random, seed); err != nil {
		return nil, err
	}
	salt, iv := seed[:16], seed[16:]
	const n, r, p = 1 << 15, 8, 1
	secret, err := scrypt.Key(passphrase, salt, n, r, p, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	pad := aes.BlockSize - len(plain)%aes.BlockSize
	data := append([]byte{}, plain...)
	for range pad {
		data = append(data, byte(pad))
	}
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(data, data)
	kdf, err := identifier(oidScrypt, scryptParams{Salt: salt, N: n, R: r, P: p, KeyLength: 32})
	if err != nil {
		return nil, err
	}
	enc, err := identifier(oidAES256, iv)
	if err != nil {
		return nil, err
	}
	alg, err := identifier(oidPBES2, pbes2Params{kdf, enc})
	if err != nil {
		return nil, err
	}
	return asn1.Marshal(encryptedKey{alg, data})
}

func identifier(oid asn1.ObjectIdentifier, params any) (pkix.AlgorithmIdentifier, error) {
	der, err := asn1.Marshal(params)
	return pkix.AlgorithmIdentifier{Algorithm: oid, Parameters: asn1.RawValue{FullBytes: der}}, err
}
