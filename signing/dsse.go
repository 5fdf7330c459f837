package signing

import "strconv"

// pae is DSSE's pre-authentication encoding, what an envelope's signature covers
// (github.com/secure-systems-lab/dsse protocol.md):
// "DSSEv1" SP LEN(type) SP type SP LEN(payload) SP payload.
func pae(payloadType string, payload []byte) []byte {
	b := make([]byte, 0, len(payloadType)+len(payload)+32)
	b = append(b, "DSSEv1 "...)
	b = strconv.AppendInt(b, int64(len(payloadType)), 10)
	b = append(b, ' ')
	b = append(b, payloadType...)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(len(payload)), 10)
	b = append(b, ' ')
	return append(b, payload...)
}
