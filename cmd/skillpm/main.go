// Command skillpm is the package manager for Agent Skills: it adds directories
// with a SKILL.md to a project, pinned to the byte, and proves later that they
// are still what was decided. docs/guide-developers.md shows it at work,
// docs/commands.md lists what it does.
//
// This package connects a process to package cli: arguments, signals, streams and
// the exit status. Its tests are the scripts of testdata/script and the guides
// of docs, run with the real binary.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/skillpm/skillpm/cmd/internal/cli"
	"github.com/skillpm/skillpm/internal/diag"
)

func main() { os.Exit(run()) }

// run ends with 130 after an interrupt; a second one kills at once.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	app, err := cli.NewApp()
	if err != nil {
		return cli.Refuse(app, os.Args[1:], diag.New(diag.PermissionDenied, "the current directory cannot be told").WithCause(err))
	}
	return cli.Main(ctx, app, os.Args[1:])
}
