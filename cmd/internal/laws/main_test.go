package laws

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/skillpm/skillpm/cmd/internal/cli"
)

var (
	seedFlag      = flag.Int64("seed", -1, "run the world of this seed alone")
	worldsFlag    = flag.Int("worlds", fixedWorlds, "run so many worlds")
	fromFlag      = flag.Int64("from", 1, "the first of the seeds")
	openFlag      = flag.Bool("open", false, "run the directed worlds that are known to break a law, instead of the others")
	stepsFlag     = flag.Int("steps", 0, "end each world after so many steps; 0 is all of them")
	processesFlag = flag.Bool("processes", false, "start the program for every run, which takes three times as long")
	reportFlag    = flag.String("report", "", "write the kinds of failures to this file as well")
)

// fixedWorlds is how many worlds CI runs, from seed 1 on.
const fixedWorlds = 60

// binDir holds links to this test binary: skillpm, which is the program itself
// (no second build, and the same race detector), and worker.
var binDir string

func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "skillpm":
		os.Exit(program())
	case "worker":
		os.Exit(work())
	}
	flag.Parse()
	os.Exit(tests(m))
}

func tests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "laws-bin-")
	if err == nil {
		defer os.RemoveAll(dir)
		var exe string
		if exe, err = os.Executable(); err == nil {
			err = errors.Join(os.Symlink(exe, filepath.Join(dir, "skillpm")), os.Symlink(exe, filepath.Join(dir, "worker")))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	binDir = dir
	return m.Run()
}

// program is what cmd/skillpm does.
func program() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	app, err := cli.NewApp()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return cli.Main(ctx, app, os.Args[1:])
}
