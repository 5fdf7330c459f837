package testkit

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Daemon is git daemon over a directory of bare repositories.
type Daemon struct {
	URL string // git://127.0.0.1:PORT
	cmd *exec.Cmd
}

// ServeDaemon starts git daemon over root on a free loopback port.
func ServeDaemon(root string) (*Daemon, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("git", "-c", "safe.directory=*", "daemon", "--reuseaddr", "--listen=127.0.0.1",
		fmt.Sprintf("--port=%d", port), "--export-all", "--base-path="+root)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*")
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	d := &Daemon{URL: fmt.Sprintf("git://127.0.0.1:%d", port), cmd: cmd}
	if err := awaitPort(port); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Close stops the daemon.
func (d *Daemon) Close() { stop(d.cmd) }

func stop(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// awaitPort returns once something accepts connections on port. The programs
// started here say nothing when they are ready, so it has to be tried.
func awaitPort(port int) error {
	var last error
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
		if err == nil {
			return conn.Close()
		}
		last = err
	}
	return errors.Join(errors.New("the server did not come up"), last)
}
