package install

import (
	"context"
	"errors"

	"github.com/skillpm/skillpm/internal/diag"
	"github.com/skillpm/skillpm/skill"
)

var errTODO = errors.New("not there yet")

type session struct{}
type planState struct{}
type seen struct{}

func begin(ctx context.Context, layout Layout, opt Options) (*Session, error) { return nil, errTODO }
func (s *session) plan(ctx context.Context, want Desired) (*Plan, error)      { return nil, errTODO }
func (s *session) apply(ctx context.Context, p *Plan, files []FileChange) (*Result, error) {
	return nil, errTODO
}
func (s *session) counters() Counters { return Counters{} }
func (s *session) close() error       { return nil }
func preview(ctx context.Context, layout Layout, opt Options, want Desired) (*Plan, error) {
	return nil, errTODO
}
func (p *Plan) noOp() bool              { return false }
func (p *Plan) conflicts() diag.List    { return nil }
func (p *Plan) missing() []skill.Digest { return nil }
func (e *DamagedError) Error() string   { return "trees are missing from the store" }
func (f Finding) diagnostic(strict bool) *diag.Error {
	return diag.New(f.Code, "%s", f.Detail)
}
func verify(ctx context.Context, layout Layout, opt Options, want Desired) (*Report, error) {
	return nil, errTODO
}
func diff(ctx context.Context, layout Layout, opt Options, place string, d skill.Digest) ([]FileDiff, error) {
	return nil, errTODO
}
func treeAt(ctx context.Context, layout Layout, opt Options, place string) (*skill.Tree, []byte, error) {
	return nil, nil, errTODO
}
