package parse

import "testing"

// Names, words and numbers may hold every digit, the last one too.
func TestZonDigits(t *testing.T) {
	v, err := parseZon(`.{ .a0123456789 = .b9876543210, .n = 9, .m = -0x9f, .f = 9.09e9 }`)
	if err != nil {
		t.Fatal(err.message)
	}
	if v.fields[0].name != "a0123456789" || v.fields[0].value.text != "b9876543210" {
		t.Errorf("%+v", v.fields[0])
	}
	for i, want := range []string{"9", "-0x9f", "9.09e9"} {
		if got := v.fields[i+1].value; got.kind != zonNumber || got.text != want {
			t.Errorf("%+v, want the number %s", got, want)
		}
	}
	if _, err := parseZon("w09"); err == nil || err.message != "`w09` is no value; an enum literal is written .w09, text in quotes" {
		t.Errorf("%+v", err)
	}
	if _, err := parseZon(".{ .9a = 1 }"); err == nil {
		t.Error("a name that begins with a digit was taken")
	}
}
