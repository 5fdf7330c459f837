package main

import (
	"encoding/json"
	"errors"
	"maps"
	"os/exec"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/skillpm/skillpm/internal/testkit"
	"github.com/skillpm/skillpm/internal/testkit/registrykit"
)

// commands are the scripts' own: those of testkit and registrykit, and
//
//	status N CMD ARG…     run CMD and demand exit status N
//	jsonok FILE           FILE is exactly one JSON object
//	schema output|lock FILE…        FILE is what docs/schema says
//	envelope STATUS NAME ARG…       run skillpm --json ARG… and check its envelope
//	certify NAME SUBJECT FROM TO    make a private CA and a certificate of it
func commands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	cmds := map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"status":  cmdStatus,
		"jsonok":  cmdJSON,
		"certify": cmdCertify, "schema": cmdSchema, "envelope": cmdEnvelope,
	}
	maps.Copy(cmds, testkit.Commands())
	maps.Copy(cmds, registrykit.Commands())
	return cmds
}

func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N CMD ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Check(err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	var v map[string]any
	err := json.Unmarshal([]byte(ts.ReadFile(args[0])), &v)
	if neg == (err == nil) {
		ts.Fatalf("%s: %v", args[0], err)
	}
}
