// Package project is the use cases that change something, one file each: read, ask,
// decide, accept, apply, say. Package cmd alone imports it. It neither prints nor
// exits: results are values, warnings and notes go to Options.Report, refusals are
// findings of package diag.
package project
