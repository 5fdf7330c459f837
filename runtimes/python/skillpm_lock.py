"""Read skills.lock and the skills it names.

One file without dependencies for agent runtimes (Python 3.8 or later). It reads
only: no network, no writing. The format is described in docs/formats.md.

    lock = Lock.load("path/to/project")
    for item in lock.list():              # names and descriptions, no file opened
        print(item["name"], item["description"])
    lock.verify("pdf")                    # raises LockError if a byte differs
    text = lock.body("pdf")               # when the skill is used
    plan = lock.plan("release")           # order of a chain

As a program: skillpm_lock.py list|order|edges|verify|plan|body|resources [KEY] [-C DIR]
prints JSON; its exit status is 2 if something is refused or differs.
"""

import argparse
import hashlib
import json
import os
import re
import stat
import sys

FILE_NAME = "skills.lock"
SIGNATURE_FILE = "skill.oms.sig"
# Limits of the tree format, and of what is read for a model.
MAX_FILES, MAX_BYTES, MAX_FILE_BYTES = 10_000, 512 << 20, 64 << 20
MAX_LOCK_BYTES = 64 << 20
MAX_PLAN_STEPS = 10_000
READ_LIMIT = 1 << 20

_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\\\\]")


class LockError(Exception):
    """A refusal; code is a word of docs/errors.md."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Lock:
    """A parsed lock. root is the project's directory."""

    def __init__(self, data, root="."):
        self.root = root
        self.data = _parse(data)
        # The order for people is the manifest's; a reader without it goes by key.
        self.skills = dict(sorted(self.data["skills"].items(), key=_bytes))

    @classmethod
    def load(cls, root="."):
        with open(os.path.join(root, FILE_NAME), "rb") as f:
            return cls(f.read(MAX_LOCK_BYTES + 1), root)

    def order(self):
        """The keys by their bytes; the order of skills.toml is not in the lock."""
        return list(self.skills)

    def path(self, key):
        """Install directory, relative to the project; "" without targets."""
        targets = self.data["targets"]
        return targets[0] + "/" + key if targets else ""

    def list(self):
        """The catalogue: some fifty tokens a skill, from the lock alone."""
        return [self._item(key, e) for key, e in self.skills.items()]

    def _item(self, key, e):
        return {
            "key": key,
            "name": e.get("declaredName", key),
            "description": e.get("description", ""),
            "version": e.get("version", ""),
            "digest": e.get("digest", ""),
            "path": self.path(key),
            "signer": _signer(e.get("signature")),
            "use": e.get("use", ""),
            # A trainable skill is a target of training, not a text for a prompt.
            "prompt": e.get("training", {}).get("mode") != "trainable",
        }

    def edges(self):
        """Every dependency: from ("" is the project), to, requirement, chain."""
        out = [_edge("", key, r, False) for key, r in sorted(self.data["root"]["requires"].items(), key=_bytes)]
        for key, e in self.skills.items():
            requires, steps = e.get("requires", {}), e.get("chain", {}).get("steps", [])
            for to in sorted({*e.get("dependencies", []), *requires, *steps}, key=str.encode):
                out.append(_edge(key, to, requires.get(to, "*"), to in steps and to not in requires))
        return out

    def parents(self, key):
        """What key depends on directly, with digests."""
        names = sorted(set(self._entry(key).get("dependencies", [])), key=str.encode)
        return [{"name": n, "digest": self.skills.get(n, {}).get("digest", "")} for n in names]

    def plan(self, key):
        """The order in which the chain key runs; nothing is run."""
        chain = self._entry(key).get("chain")
        if chain is None:
            raise LockError("skill_not_found", "the lock has no chain " + key)
        walk = _Plan(self, chain["policy"]["max_depth"])
        steps = walk.steps(key, chain)
        return {"root": key, "mode": chain["mode"], "policy": chain["policy"], "depth": walk.depth, "steps": steps, "flat": walk.flat}

    def verify(self, key):
        """Compare every byte and mode of the installed skill with the lock."""
        e = self._entry(key)
        if e["source"]["type"] == "path":
            return
        directory = self._dir(key)
        if not os.path.isdir(directory):
            raise LockError("verify_missing", key + " is not installed")
        digest, signature = tree_digest(directory)
        if digest != e["digest"]:
            raise LockError("verify_changed", "%s has digest %s, locked is %s" % (key, digest, e["digest"]))
        want = e.get("signature", {}).get("bundle", "")
        if signature != want:
            code = "verify_missing" if not signature else "verify_changed" if want else "verify_extra"
            raise LockError(code, "the signature of %s is not the locked one" % key)

    def body(self, key, limit=READ_LIMIT):
        """SKILL.md after its frontmatter, at most limit bytes of it."""
        directory = self._dir(key)
        names = os.listdir(directory)
        name = "SKILL.md" if "SKILL.md" in names else next((n for n in names if n.lower() == "skill.md"), None)
        if name is None:
            raise LockError("skill_not_found", "no SKILL.md in " + key)
        return _split_body(_read(directory, name, limit + READ_LIMIT))[:limit].decode("utf-8", "replace")

    def resources(self, key):
        """The files beside SKILL.md by path; none is opened."""
        out = []
        for path, info in _walk(self._dir(key)):
            if path.lower() != "skill.md" and path != SIGNATURE_FILE:
                out.append({"path": path, "size": info.st_size, "exec": bool(info.st_mode & 0o100)})
        return out

    def resource(self, key, path, limit=READ_LIMIT):
        """At most limit bytes of one file; no path leads out of the skill."""
        elements = path.split("/")
        if _CONTROL.search(path) or any(e in ("", ".", "..") for e in elements):
            raise LockError("path_unsafe", "%r is no path inside a skill" % path)
        return _read(self._dir(key), path, limit)

    def _entry(self, key):
        if key not in self.skills:
            raise LockError("skill_not_found", "the lock has no skill %r" % key)
        return self.skills[key]

    def _dir(self, key):
        self._entry(key)
        path = self.path(key)
        return os.path.expanduser(path) if path.startswith("~/") else os.path.join(self.root, *path.split("/"))


def tree_digest(directory):
    """The digest of a directory and the hash of its signature file ("" if none).

    Where files have no executable bit (Windows) executable files count as plain,
    so a skill that has some cannot be verified there without skillpm's store.
    """
    lines, signature = [], ""
    for path, info in _walk(directory):
        sha, size = _hash(directory, path)
        if path == SIGNATURE_FILE:
            signature = "sha256:" + sha
            continue
        mode = "x" if info.st_mode & 0o100 and os.name != "nt" else "-"
        lines.append("%s %s %d %s\n" % (mode, sha, size, path))
    manifest = "skillpm-tree-v1\n" + "".join(lines)
    return "sha256:" + hashlib.sha256(manifest.encode()).hexdigest(), signature


class _Plan:
    def __init__(self, lock, limit):
        self.lock, self.limit, self.depth, self.trail, self.flat = lock, limit, 0, [], []

    def steps(self, key, chain):
        self.trail.append(key)
        if len(self.trail) > self.limit:
            raise LockError("chain_depth_exceeded", "chains are nested deeper than %d: %s" % (self.limit, " > ".join(self.trail)))
        self.depth = max(self.depth, len(self.trail))
        out = [self.step(name) for name in chain.get("steps", [])]
        self.trail.pop()
        return out

    def step(self, key):
        e = self.lock.skills.get(key)
        if e is None:
            raise LockError("subskill_unresolved", "the step %s has no entry in the lock" % key)
        if key in self.trail:
            raise LockError("subskill_cycle_detected", "a chain reaches itself: " + " > ".join(self.trail + [key]))
        self.flat.append(key)
        if len(self.flat) > MAX_PLAN_STEPS:
            raise LockError("chain_depth_exceeded", "the plan has more than %d steps" % MAX_PLAN_STEPS)
        out = {"name": key, "version": e.get("version", ""), "digest": e.get("digest", ""), "path": self.lock.path(key)}
        if "chain" in e:
            out["steps"] = self.steps(key, e["chain"])
        return out


def _parse(raw):
    if len(raw) > MAX_LOCK_BYTES:
        raise LockError("lock_corrupt", "the lock is larger than %d bytes" % MAX_LOCK_BYTES)
    try:
        text = raw.decode("utf-8").replace("\r\n", "\n")
        if re.search(r"^(<{7}|>{7})( |$)", text, re.M):
            raise LockError("lock_corrupt", "git's conflict markers in the lock")
        data = json.loads(text, object_pairs_hook=_no_twins, parse_constant=_no_constant)
        json.dumps(data, ensure_ascii=False).encode("utf-8")  # fails on half a surrogate pair
    except (ValueError, RecursionError) as e:
        raise LockError("lock_corrupt", "the lock cannot be read: %s" % e) from None
    if not isinstance(data, dict):
        raise LockError("lock_corrupt", "the lock must be an object")
    if data.get("format") != "skillpm-lock":
        raise LockError("lock_foreign", "this lock was not written by skillpm")
    if data.get("lockVersion") != 1 or isinstance(data["lockVersion"], bool):
        raise LockError("lock_version", "lockVersion %r; this reader knows 1" % data.get("lockVersion"))
    _check(data)
    return data


def _no_twins(pairs):
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError("a key stands twice")
    return out


def _no_constant(word):
    raise ValueError(word + " is no JSON")


def _check(data):
    """Check what the methods above rely on."""
    need = [
        isinstance(data.get("root"), dict) and isinstance(data["root"].get("requires"), dict),
        isinstance(data.get("skills"), dict),
        isinstance(data.get("targets"), list) and all(isinstance(t, str) for t in data["targets"]),
    ]
    if not all(need):
        raise LockError("lock_corrupt", "root.requires, skills and targets must stand in the lock")
    for target in data["targets"]:
        rest = target[2:] if target.startswith("~/") else target
        if _CONTROL.search(rest) or ":" in rest[:2] or any(e in ("", ".", "..") for e in rest.split("/")):
            raise LockError("target_unsafe", "the target %r lies outside the project" % target)
    folded = set()
    for key, e in data["skills"].items():
        if not _KEY.fullmatch(key) or key.lower() in folded:
            raise LockError("lock_corrupt", "%r cannot be a key" % key)
        folded.add(key.lower())
        source = e.get("source") if isinstance(e, dict) else None
        if not isinstance(source, dict) or source.get("type") not in ("git", "index", "path"):
            raise LockError("lock_corrupt", "the entry %s has no known source" % key)
        if source["type"] != "path" and not _DIGEST.fullmatch(str(e.get("digest", ""))):
            raise LockError("lock_corrupt", "the entry %s has no digest" % key)
        for field, kind in _FIELDS.items():
            if field in e and not isinstance(e[field], kind):
                raise LockError("lock_corrupt", "%s of %s has the wrong type" % (field, key))
        chain = e.get("chain")
        if chain and not (isinstance(chain.get("policy"), dict) and isinstance(chain["policy"].get("max_depth"), int) and "mode" in chain):
            raise LockError("lock_corrupt", "the chain of %s has no policy" % key)


_FIELDS = {
    "version": str, "declaredName": str, "description": str, "requires": dict, "dependencies": list,
    "signature": dict, "use": str, "chain": dict, "training": dict,
}


def _edge(a, b, requirement, chain):
    return {"from": a, "to": b, "requirement": requirement, "chain": chain}


def _bytes(pair):
    return pair[0].encode()


def _signer(s):
    if not s:
        return ""
    who = s.get("identity", s.get("subject", ""))
    if s["kind"] == "key":
        who = "key " + s["key"][:19] if "key" in s else "an unknown key"
    return who + (" (%s)" % s["issuer"] if s.get("issuer") else "")


def _walk(directory):
    """Every file as (path, lstat), sorted by the bytes of the path."""
    found, total, pending = [], 0, [""]
    while pending:
        prefix = pending.pop()
        with os.scandir(os.path.join(directory, prefix)) as entries:
            for entry in entries:
                path = prefix + entry.name
                info = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(info.st_mode):
                    pending.append(path + "/")
                    continue
                total += info.st_size
                _check_file(path, info, len(found), total)
                found.append((path, info))
    return sorted(found, key=lambda f: f[0].encode())


def _check_file(path, info, count, total):
    # A path with a line end could stand for two lines of the manifest.
    if not stat.S_ISREG(info.st_mode) or _CONTROL.search(path) or path != path.encode("utf-8", "replace").decode():
        raise LockError("path_unsafe", "%r is no regular file with a plain name" % path)
    if count >= MAX_FILES or total > MAX_BYTES or info.st_size > MAX_FILE_BYTES:
        raise LockError("tree_too_large", "%r goes beyond the limits of a skill" % path)


def _open(directory, path):
    """Open a regular file without following a link in any element of path."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    elements = path.split("/")
    current = directory
    for i, element in enumerate(elements):
        current = os.path.join(current, element)
        mode = os.lstat(current).st_mode
        if not (stat.S_ISREG(mode) if i == len(elements) - 1 else stat.S_ISDIR(mode)):
            raise LockError("path_unsafe", "%r is no regular file of the skill" % path)
    return os.fdopen(os.open(current, flags), "rb")


def _read(directory, path, limit):
    with _open(directory, path) as f:
        return f.read(limit)


def _hash(directory, path):
    h, size = hashlib.sha256(), 0
    with _open(directory, path) as f:
        for block in iter(lambda: f.read(1 << 16), b""):
            h.update(block)
            size += len(block)
    return h.hexdigest(), size


def _split_body(text):
    rest = text[3:] if text.startswith(b"\xef\xbb\xbf") else text
    line = b""
    while rest and not line.strip():
        line, _, rest = rest.partition(b"\n")
    if line.rstrip(b" \t\r") != b"---":
        return text
    while rest:
        line, _, rest = rest.partition(b"\n")
        if line.rstrip(b" \t\r") == b"---":
            return rest
    return text


def _main(argv):
    parser = argparse.ArgumentParser(description="read skills.lock")
    parser.add_argument("command", choices=["list", "order", "edges", "parents", "verify", "plan", "body", "resources", "resource"])
    parser.add_argument("args", nargs="*")
    parser.add_argument("-C", dest="root", default=".")
    opt = parser.parse_args(argv)
    try:
        lock = Lock.load(opt.root)
        if opt.command == "verify":
            for key in opt.args or lock.order():
                lock.verify(key)
            answer = {"verified": opt.args or lock.order()}
        elif opt.command == "resource":
            answer = lock.resource(*opt.args).decode("utf-8", "replace")
        else:
            answer = getattr(lock, opt.command)(*opt.args)
    except LockError as e:
        print(json.dumps({"code": e.code, "message": str(e)}))
        return 2
    print(json.dumps(answer, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
