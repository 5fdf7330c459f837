package git

import (
	"bytes"
	"context"
	"net/url"
	"os/exec"
	"strings"

	"github.com/skillpm/skillpm/internal/diag"
)

// fill asks git's credential helpers (git-credential(1)) once per host and
// user. No helper, no git, or no answer is nil.
func (k *keyring) fill(ctx context.Context, u *url.URL, user string) (*credential, error) {
	if k.opt.CLI == CLINever {
		return nil, nil
	}
	return k.filled.Get(ctx, keyOf(u)+"\x00"+user, func() (*credential, error) {
		out := k.helper(ctx, "fill", u, &credential{user: user})
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		c := &credential{helper: true}
		for line := range strings.Lines(out) {
			key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			switch key {
			case "username":
				c.user = value
			case "password":
				c.password = value
			}
		}
		if c.password == "" {
			return nil, nil
		}
		return c, nil
	})
}

// helper runs git credential ACTION. It cannot prompt: the terminal and every
// askpass program are switched off, and it is killed after helperTimeout.
func (k *keyring) helper(ctx context.Context, action string, u *url.URL, c *credential) string {
	ctx, cancel := context.WithTimeout(ctx, helperTimeout)
	defer cancel()
	var in strings.Builder
	for _, line := range [][2]string{
		{"protocol", u.Scheme}, {"host", u.Host}, {"path", strings.TrimPrefix(u.Path, "/")},
		{"username", c.user}, {"password", c.password},
	} {
		if strings.ContainsAny(line[1], "\n\x00") {
			return "" // would be another line of the protocol
		}
		if line[1] != "" {
			in.WriteString(line[0] + "=" + line[1] + "\n")
		}
	}
	cmd := exec.CommandContext(ctx, "git", "-c", "core.askPass=", "credential", action)
	cmd.Env = quiet(k.opt)
	cmd.Stdin = strings.NewReader(in.String() + "\n")
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := runCommand(ctx, cmd); err != nil {
		return ""
	}
	return out.String()
}

// quiet is the environment for programs that must not prompt. The user's own
// settings stay, or their helpers would not be found.
func quiet(opt Options) []string {
	env := append([]string{}, opt.Environ...)
	if opt.Home != "" && lookup(env, "HOME") == "" {
		env = append(env, "HOME="+opt.Home)
	}
	return append(env, "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "SSH_ASKPASS_REQUIRE=never",
		"GCM_INTERACTIVE=never", "LC_ALL=C")
}

// needGit is the refusal where only the git program could help.
func needGit(repo, why string, cli CLI) error {
	if cli == CLINever {
		return diag.New(diag.FetchFailed, "%s: %s, and [git] cli is \"never\"", repo, why).
			WithHint("set [git] cli = \"auto\", or use a mirror")
	}
	return diag.New(diag.FetchFailed, "%s: %s, and there is no git program", repo, why).
		WithHint("install git, or use a mirror")
}
