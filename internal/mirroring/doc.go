// Package mirroring fills, lists, checks and copies mirrors for any number of locks,
// one row an item: a bad one stops no other.
package mirroring
