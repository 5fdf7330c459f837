// Package views answers questions about a project: rows made from lock, disk, store
// and, where a function takes a world, from repositories. Views write neither the
// project nor its files.
package views
