// Package resolver decides which version of which skill a project gets, and
// explains itself when there is no answer.
//
// It is a PubGrub solver (conflict-driven, complete) over bitsets: each name
// has a finite list of candidates, so a requirement, whatever range, source or
// retraction it is made of, is a set of bits. The answer is the one that a
// plain depth-first search finds first when it decides names in the order
// (depth from the root, name) and tries the candidates of each in the order
// that docs/resolution.md gives; it depends on nothing else.
//
// The package is pure. It has no clock, disk, network or randomness, and no
// map's order reaches a result. What it knows it asks of a Universe, which
// answers from memory or says "not loaded"; Solve then returns a *Need that
// lists everything useful to load in one round, the caller loads it, in
// parallel and in any order, and calls Solve again with the same Input:
//
//	for {
//		solution, err := resolver.Solve(ctx, input, universe)
//		need, ok := errors.AsType[*resolver.Need](err)
//		if !ok {
//			return solution, err // *Failure, *NeedConsent, ctx.Err() or nil
//		}
//		if err := load(ctx, universe, need); err != nil {
//			return nil, err
//		}
//	}
//
// The run that ends without a *Need saw only facts, so the result cannot depend
// on what was loaded when.
//
// It does not read files, does not find sources (a requirement without source
// is settled by the caller before its edges enter the solve) and does not order
// chains. Package internal/project is the caller it was made for.
package resolver
