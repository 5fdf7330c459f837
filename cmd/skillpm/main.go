// Command skillpm is the package manager for Agent Skills.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/skillpm/skillpm/cmd/internal/cli"
)

func main() { os.Exit(run()) }

// run ends with 130 after an interrupt; a second one kills at once.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	app, err := cli.NewApp()
	if err != nil {
		fmt.Fprintf(os.Stderr, "error[permission_denied]: the current directory cannot be told: %v\n", err)
		return 1
	}
	return cli.Main(ctx, app, os.Args[1:])
}
