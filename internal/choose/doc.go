// Package choose settles what an argument means: which source, which skills of it,
// which version or branch, which key, and what to suggest where nothing fits. The
// answer is lines for skills.toml; writing them is not its business.
package choose
