// Package cli is skillpm's command line: one file a command, each thin. A
// command reads its flags, calls one use case of package project and returns a
// Result; this package prints it, as text or as the --json envelope, and turns
// errors into an exit status. It is the only place that does either.
//
//	app, err := cli.NewApp()
//	status := cli.Main(ctx, app, os.Args[1:])
//
// To add a command: write newXCmd(*App) *cobra.Command in x.go with
// app.command, list it in commands.go, add a script under
// cmd/skillpm/testdata/script, and its line in docs/commands.md, which
// UPDATE_SCRIPTS=1 go test ./cmd/skillpm -run TestCommandsPage writes.
package cli
