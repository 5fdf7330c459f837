// Package world is what lies outside a project: the user's store, mirrors,
// registries, repositories. A Local adds the store to a project and cannot contact
// anybody; a World can, as far as its permit goes. Questions are asked in batches,
// repositories in parallel, each listed and opened once a run; one answer or one
// error comes back for each thing asked. The package decides nothing about versions
// and changes nothing in the project.
package world
