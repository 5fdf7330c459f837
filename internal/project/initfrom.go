package project

import "context"

// InitFromResult is what InitFrom did.
type InitFromResult struct {
	*InitResult
	Import *ImportResult `json:"import"`
}

// InitFrom is Init and then Import of what from names. The other tools' files are
// read before anything is written, so that an unreadable one leaves nothing
// behind.
func InitFrom(ctx context.Context, opt Options, in InitOptions, from []string, imp ImportOptions) (*InitFromResult, error) {
	reader := newProject(opt)
	reader.Root = opt.Dir
	docs, err := reader.readForeign(from)
	if err != nil {
		return nil, err
	}
	r, err := Init(ctx, opt, in)
	if r == nil || err != nil {
		return nil, err
	}
	result := &InitFromResult{InitResult: r}
	p, err := Open(opt)
	if err != nil {
		return result, err
	}
	defer p.Close()
	result.Import, err = p.importDocuments(ctx, docs, imp)
	return result, err
}
