package laws

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/skillpm/skillpm/cmd/internal/cli"
	"github.com/skillpm/skillpm/cmd/internal/ui"
)

// Starting the program costs more than most commands do. So a world has one
// process that runs one command after another, each with a directory, an
// environment and streams of its own; -processes starts the program each time.

// call is one run of the program, as it is sent to a worker.
type call struct {
	Dir  string
	Env  []string
	Args []string
}

// answer is what came of it.
type answer struct {
	Exit     int
	Out, Err string
}

// work answers calls on stdin until it ends.
func work() int {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var c call
		if err := in.Decode(&c); err != nil {
			return 0
		}
		if out.Encode(runHere(c)) != nil {
			return 1
		}
	}
}

func runHere(c call) answer {
	os.Clearenv()
	for _, v := range c.Env {
		name, value, _ := strings.Cut(v, "=")
		must(os.Setenv(name, value))
	}
	must(os.Chdir(c.Dir))
	var outb, errb bytes.Buffer
	app := &cli.App{
		UI:        &ui.Streams{In: strings.NewReader(""), Out: &outb, Err: &errb},
		LookupEnv: os.LookupEnv, WorkDir: c.Dir,
	}
	exit := cli.Main(context.Background(), app, c.Args)
	return answer{exit, outb.String(), errb.String()}
}

// worker is a running process of work.
type worker struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	enc *json.Encoder
	dec *json.Decoder
}

func startWorker() (*worker, error) {
	cmd := exec.Command(filepath.Join(binDir, "worker"))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &worker{cmd, in, json.NewEncoder(in), json.NewDecoder(out)}, cmd.Start()
}

func (k *worker) stop() {
	_ = k.in.Close()
	_ = k.cmd.Wait() // it was killed where a command did not end
}

// hung is the status of a run that had to be killed.
const hung = -1

// execute runs the program, here or in a process of its own.
func (w *world) execute(c call) answer {
	if *processesFlag {
		return startProgram(c)
	}
	if w.worker == nil {
		k, err := startWorker()
		must(err)
		w.worker = k
	}
	timer := time.AfterFunc(patience, func() { _ = w.worker.cmd.Process.Kill() })
	var a answer
	must(w.worker.enc.Encode(c))
	err := w.worker.dec.Decode(&a)
	if !timer.Stop() || err != nil {
		w.worker.stop()
		w.worker = nil
		return answer{Exit: hung, Err: "the program did not end, or died"}
	}
	return a
}

func startProgram(c call) answer {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(binDir, "skillpm"), c.Args...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	var outb, errb bytes.Buffer
	cmd.Stdout, cmd.Stderr = &outb, &errb
	err := cmd.Run()
	a := answer{Out: outb.String(), Err: errb.String()}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		a.Exit = exit.ExitCode()
	} else if err != nil {
		panic(err)
	}
	return a
}
