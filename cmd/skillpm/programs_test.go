package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"github.com/skillpm/skillpm/lockfile"
	"github.com/skillpm/skillpm/skill"
)

// programs are what scripts run beside skillpm, with exec. They are part of the
// test binary, so that a script needs no interpreter:
//
//	hold FILE CMD ARG…          run CMD while another process has FILE locked, and
//	                            unlock it once CMD writes a line to stderr
//	share FILE CMD ARG…         run CMD while another process shares the lock of
//	                            FILE; prints "exit N"
//	interrupted                 run skillpm add against a server that interrupts it
//	                            instead of answering; prints "exit N"
//	reversesteps FILE KEY       reverse the steps of KEY's chain in a lock
//	reorder FILE KEY…           put a lock's skills into the order of the keys
//	drop FILE FIELD N           print a JSON object without the first N of a list
//	lie GOOD LIAR               make the mirror LIAR name its own tree for every
//	                            version that GOOD lists
var programs = map[string]func(args []string) error{
	"hold": hold, "share": share, "interrupted": interrupted,
	"reversesteps": reverseSteps, "reorder": reorder, "drop": drop, "lie": lie,
}

// program is what testscript.Main runs for one of them.
func program(run func(args []string) error) func() {
	return func() {
		err := run(os.Args[1:])
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			os.Exit(exit.ExitCode())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func hold(args []string) error {
	held := flock.New(args[0])
	if err := held.Lock(); err != nil {
		return err
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, unlocker{held}
	return cmd.Run()
}

// unlocker passes on what it is given and then lets go of the lock.
type unlocker struct{ held *flock.Flock }

func (u unlocker) Write(p []byte) (int, error) {
	n, err := os.Stderr.Write(p)
	if bytes.IndexByte(p, '\n') >= 0 {
		err = errors.Join(err, u.held.Unlock())
	}
	return n, err
}

func share(args []string) error {
	if err := flock.New(args[0]).RLock(); err != nil {
		return err
	}
	return report(exec.Command(args[1], args[2:]...), func(*exec.Cmd) error { return nil })
}

func interrupted([]string) error {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer server.Close()
	return report(exec.Command("skillpm", "add", "http://"+server.Addr().String()+"/acme/skills//skills/deploy"), func(cmd *exec.Cmd) error {
		asked, err := server.Accept()
		if err != nil {
			return err
		}
		if _, err := io.ReadFull(asked, make([]byte, 1)); err != nil {
			return err
		}
		return cmd.Process.Signal(os.Interrupt)
	})
}

// report runs a command, with what happens meanwhile, and prints its status.
func report(cmd *exec.Cmd, meanwhile func(cmd *exec.Cmd) error) error {
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	err := meanwhile(cmd)
	if waited := cmd.Wait(); cmd.ProcessState == nil {
		return waited
	}
	fmt.Println("exit", cmd.ProcessState.ExitCode())
	return err
}

func reverseSteps(args []string) error {
	data, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	lock, err := lockfile.Parse(data)
	if err != nil {
		return err
	}
	slices.Reverse(lock.Get(args[1]).Chain.Steps)
	return os.WriteFile(args[0], lock.Bytes(), 0o644)
}

func reorder(args []string) error {
	data, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var lock struct{ Skills json.RawMessage }
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(data, &lock); err != nil {
		return err
	}
	if err := json.Unmarshal(lock.Skills, &entries); err != nil {
		return err
	}
	var skills []string
	for _, key := range args[1:] {
		skills = append(skills, fmt.Sprintf("    %q: %s", key, entries[key]))
	}
	text := "{\n" + strings.Join(skills, ",\n") + "\n  }"
	return os.WriteFile(args[0], bytes.Replace(data, lock.Skills, []byte(text), 1), 0o644)
}

func drop(args []string) error {
	doc, err := readObject(args[0])
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	list := doc[args[1]].([]any)
	doc[args[1]] = list[min(n, len(list)):]
	return json.NewEncoder(os.Stdout).Encode(doc)
}

func lie(args []string) error {
	good, liar := args[0], args[1]
	name, item, err := itemOf(good, "versions-")
	if err != nil {
		return err
	}
	_, other, err := itemOf(liar, "tree-")
	if err != nil {
		return err
	}
	data, err := base64.StdEncoding.DecodeString(item["data"].(string))
	if err != nil {
		return err
	}
	var manifest object
	if err := json.Unmarshal(data, &manifest); err != nil {
		return err
	}
	layer := manifest["layers"].([]any)[0].(object)
	listing, err := readObject(filepath.Join(good, "blobs", "sha256", strings.TrimPrefix(layer["digest"].(string), "sha256:")))
	if err != nil {
		return err
	}
	for _, c := range listing["candidates"].([]any) {
		c.(object)["digest"] = "sha256:" + strings.TrimPrefix(tagOf(other), "tree-")
	}
	if _, err := putBlob(liar, listing, layer); err != nil {
		return err
	}
	if data, err = putBlob(liar, manifest, item); err != nil {
		return err
	}
	item["data"] = base64.StdEncoding.EncodeToString(data)
	if data, err = json.Marshal(item); err != nil {
		return err
	}
	target := filepath.Join(liar, strings.TrimPrefix(name, good))
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return os.WriteFile(target, data, 0o644)
}

// itemOf returns the descriptor in a mirror's folder whose tag begins with kind,
// and its file.
func itemOf(mirror, kind string) (name string, item object, err error) {
	names, err := filepath.Glob(filepath.Join(mirror, "skillpm", "??", "*"))
	if err != nil {
		return "", nil, err
	}
	for _, name := range names {
		if item, err = readObject(name); err != nil {
			return "", nil, err
		}
		if strings.HasPrefix(tagOf(item), kind) {
			return name, item, nil
		}
	}
	return "", nil, fmt.Errorf("%s has no %s", mirror, kind)
}

func tagOf(descriptor object) string {
	return descriptor["annotations"].(object)["org.opencontainers.image.ref.name"].(string)
}

// putBlob writes a document into a mirror's folder and makes a descriptor name
// it.
func putBlob(mirror string, doc, descriptor object) ([]byte, error) {
	data, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	digest := skill.DigestOf(data)
	descriptor["digest"], descriptor["size"] = string(digest), len(data)
	return data, os.WriteFile(filepath.Join(mirror, "blobs", "sha256", strings.TrimPrefix(string(digest), "sha256:")), data, 0o644)
}

type object = map[string]any

func readObject(name string) (object, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var doc object
	err = json.Unmarshal(data, &doc)
	return doc, err
}
