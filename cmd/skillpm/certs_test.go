package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdCertify makes a company's own authority and a certificate that is valid from
// FROM to TO, in days from now: NAME.key, NAME.chain.pem and NAME.ca.pem.
func cmdCertify(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: certify NAME SUBJECT FROM TO")
	}
	from, err := strconv.Atoi(args[2])
	ts.Check(err)
	to, err := strconv.Atoi(args[3])
	ts.Check(err)
	now := time.Now()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test CA"},
		NotBefore: now.AddDate(-20, 0, 0), NotAfter: now.AddDate(20, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: args[1]},
		NotBefore: now.AddDate(0, 0, from), NotAfter: now.AddDate(0, 0, to), KeyUsage: x509.KeyUsageDigitalSignature,
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	ts.Check(err)
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, ca, leafKey.Public(), caKey)
	ts.Check(err)
	ts.Check(writePEM(ts.MkAbs(args[0]+".ca.pem"), "CERTIFICATE", caDER))
	ts.Check(writePEM(ts.MkAbs(args[0]+".chain.pem"), "CERTIFICATE", leafDER, caDER))
	ts.Check(writeKey(ts.MkAbs(args[0]+".key"), leafKey))
}

func writeKey(file string, key crypto.Signer) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return writePEM(file, "PRIVATE KEY", der)
}

func writePEM(file, kind string, blocks ...[]byte) error {
	var out []byte
	for _, der := range blocks {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})...)
	}
	return os.WriteFile(file, out, 0o600)
}
