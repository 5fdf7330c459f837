package adopt

import (
	"context"

	"github.com/skillpm/skillpm/internal/workspace"
	"github.com/skillpm/skillpm/internal/world"
)

// InitFromResult is what InitFrom did.
type InitFromResult struct {
	*InitResult
	Import *ImportResult `json:"import"`
}

// InitFrom is Init and then Import of what from names. The other tools' files are
// read before anything is written, so that an unreadable one leaves nothing
// behind.
func InitFrom(ctx context.Context, opt workspace.Options, in InitOptions, from []string, imp ImportOptions) (*InitFromResult, error) {
	reader := workspace.New(opt)
	reader.Root = opt.Dir
	docs, err := readForeign(reader, from)
	if err != nil {
		return nil, err
	}
	r, err := Init(ctx, opt, in)
	if r == nil || err != nil {
		return nil, err
	}
	result := &InitFromResult{InitResult: r}
	p, err := world.Open(opt)
	if err != nil {
		return result, err
	}
	defer p.Close()
	result.Import, err = importDocuments(ctx, p, docs, imp)
	return result, err
}
