package signing

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxJSONDepth bounds nesting. A bundle nests seven levels, a statement five.
const maxJSONDepth = 32

// scanJSON refuses what two readers may read differently: a key twice in one
// object (in any case, since encoding/json matches without case), trailing data,
// bytes that are no UTF-8, and nesting beyond maxJSONDepth.
func scanJSON(data []byte) error {
	if !utf8.Valid(data) {
		return errors.New("not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := scanValue(d, 0); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("data after the object, at byte %d", d.InputOffset())
	}
	return nil
}

func scanValue(d *json.Decoder, depth int) error {
	token, err := d.Token()
	if err != nil {
		return jsonFault(err)
	}
	open, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	if depth++; depth > maxJSONDepth {
		return fmt.Errorf("nested deeper than %d levels, at byte %d", maxJSONDepth, d.InputOffset())
	}
	seen := map[string]bool{}
	for d.More() {
		if open == '{' {
			key, err := d.Token()
			if err != nil {
				return jsonFault(err)
			}
			name, _ := key.(string)
			if fold := strings.ToLower(name); seen[fold] {
				return fmt.Errorf("the key %q stands twice in one object, at byte %d", name, d.InputOffset())
			} else {
				seen[fold] = true
			}
		}
		if err := scanValue(d, depth); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return jsonFault(err)
}

func jsonFault(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
