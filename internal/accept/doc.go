// Package accept holds locked skills to their bytes and to the trust rules before
// anything reaches a disk: does the lock say what the content says, is the signature
// good, does the policy agree. Verdicts are kept in the index; nothing else is
// written.
package accept
