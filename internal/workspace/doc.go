// Package workspace is what one run knows without asking anybody: where the
// project lies, what its files and the machine's files say, whom they permit to
// contact, and how the run speaks. A Project is a value in all but name: once open
// it is not changed, and an edit makes another one. The package reads files and
// writes none. Every room above takes a *Project, and one that takes no more can
// reach neither the store nor a network.
package workspace
