// Package cli is skillpm's command line: one file a command, each thin. A
// command reads its flags, calls one use case of package project and returns a
// Result; this package prints it, as text or as the --json envelope, and turns
// errors into an exit status. It is the only place that does either.
//
// To add a command: write newXCmd(*App) *cobra.Command in x.go with
// app.command, list it in root.go, add a script under
// cmd/skillpm/testdata/script, and its row in docs.
package cli
