// Package tomledit reads TOML with the place of everything, and edits it without
// touching what the edit is not about. Comments, blank lines, order, spacing,
// quotes and line ends stay byte for byte.
//
// A Document is read once and edited any number of times; each edit costs what
// it touches, not the size of the file. Apply writes the result, reads it again
// and refuses to return anything but what the edits asked for.
//
//	doc, err := tomledit.Parse(data)          // *SyntaxError with a place
//	v := doc.Root().Get("skills")             // a table's Value, or nil
//	at := doc.Place(v.Start)                  // line and column
//	err = doc.Set(tomledit.String("^2"), "skills", "pdf")
//	found := doc.Remove("skills", "old")
//	doc, err = doc.Apply()
//	data = doc.Bytes()
//
// A comment belongs to what it stands directly above, or behind on the same
// line, and is removed with it. So are comment lines directly below the last
// line of a table that is removed whole. A blank line parts a comment from what
// follows: such a comment stays. What is added takes the line end and the
// indentation of its neighbour.
//
// A key is added in the form its table has: below its header, as a further
// dotted key, or into an inline table. A table that does not exist yet is added
// at the end of the file, or before the first header of its sub-tables.
//
// The package knows TOML and no schema. A Document may be used by one goroutine
// at a time.
package tomledit
