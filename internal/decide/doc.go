// Package decide turns a manifest, an old lock and a world into a new lock: where
// requirements without a source point, what the solver answers, how an entry is
// described from its bytes, whether a lock is still what the manifest needs, how two
// locks merge, and why each version is there. It asks the world for what the solver
// lacks and writes nothing.
package decide
