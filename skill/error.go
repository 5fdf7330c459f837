package skill

import "errors"

// Error is a value that a Parse function refused.
type Error struct {
	// Code is the permanent word of docs/errors.md, such as "requirement_syntax".
	Code string
	// Message says what was expected and what was found: lower case, no full stop.
	Message string
	// Offset is the byte offset of the fault in the parsed text, -1 where there is none.
	Offset int
	// Hint is what the user can do, or empty.
	Hint string
}

func (e *Error) Error() string { return e.Message }

// CodeOf returns the code word of the first *Error in err's chain, or "".
func CodeOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

func fault(code string, offset int, message string) *Error {
	return &Error{Code: code, Message: message, Offset: offset}
}
