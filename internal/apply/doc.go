// Package apply makes a decision true: it previews the disk, has the skills
// accepted, and carries manifest, lock and targets out in one transaction of package
// install.
package apply
