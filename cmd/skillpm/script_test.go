package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/skillpm/skillpm/internal/testkit"
)

func TestMain(m *testing.M) {
	commands := map[string]func(){"skillpm": func() { os.Exit(run()) }}
	for name, run := range programs {
		commands[name] = program(run)
	}
	testscript.Main(m, commands)
}

// TestScripts runs the real binary against real git servers on loopback. HOME
// is empty, no variable of the machine is inherited but PATH.
func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "script")
}

func runScripts(t *testing.T, dir string) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", dir),
		Cmds:                commands(),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup:               setup,
	})
}

func setup(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	env.Setenv("HOME", home)
	env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, "cache"))
	env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
	env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	data, err := filepath.Abs(filepath.Join("..", "..", "testdata"))
	if err != nil {
		return err
	}
	env.Setenv("TESTDATA", data)
	return testkit.Setup(env)
}
