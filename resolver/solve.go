package resolver

import "context"

// Solve returns the one answer of in over u. The error is a *Need (load and call
// again), a *NeedConsent, a *Failure, or ctx.Err(). Never is there a partial
// answer.
func Solve(ctx context.Context, in Input, u Universe) (*Solution, error) {
	return nil, ctx.Err()
}
