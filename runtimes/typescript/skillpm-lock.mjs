// Read skills.lock and the skills it names.
//
// One file without dependencies for agent runtimes (Node 20 or later; types in
// skillpm-lock.d.mts). It reads only: no network, no writing. The format is
// described in docs/formats.md.
//
//   const lock = Lock.load("path/to/project");
//   for (const item of lock.list()) console.log(item.name, item.description);
//   lock.verify("pdf");               // throws LockError if a byte differs
//   const text = lock.body("pdf");    // when the skill is used
//   const plan = lock.plan("release");
//
// As a program: node skillpm-lock.mjs list|order|edges|parents|verify|plan|body|resources|resource [KEY] [-C DIR]
// prints JSON; its exit status is 2 if something is refused or differs.

import { createHash } from "node:crypto";
import { closeSync, constants, existsSync, lstatSync, openSync, readFileSync, readSync, readdirSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

export const FILE_NAME = "skills.lock";
export const SIGNATURE_FILE = "skill.oms.sig";
const MAX_LOCK_BYTES = 64 << 20;
const MAX_FILES = 10_000, MAX_BYTES = 512 * 2 ** 20, MAX_FILE_BYTES = 64 << 20; // limits of the tree format
const MAX_PLAN_STEPS = 10_000;
const MAX_DEPTH = 64; // of JSON
const READ_LIMIT = 1 << 20;

const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\\]/;
const KEY = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** A refusal; code is a word of docs/errors.md. */
export class LockError extends Error {
  constructor(code, message) {
    super(message);
    this.name = "LockError";
    this.code = code;
  }
}

const byBytes = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b));
const sortedSet = (list) => [...new Set(list)].sort(byBytes);

/** A parsed lock; root is the project's directory. */
export class Lock {
  constructor(data, root = ".") {
    this.root = root;
    this.data = parse(data);
    this.skills = this.data.skills;
  }

  static load(root = ".") {
    return new Lock(readFileSync(join(root, FILE_NAME)), root);
  }

  /** The keys by their bytes; the order of skills.toml is not in the lock. */
  order() {
    return sortedSet(this.skills[KEYS]);
  }

  /** Install directory, relative to the project; "" without targets. */
  path(key) {
    return this.data.targets.length > 0 ? this.data.targets[0] + "/" + key : "";
  }

  /** The catalogue: some fifty tokens a skill, from the lock alone. */
  list() {
    return this.order().map((key) => {
      const e = this.skills[key];
      return {
        key,
        name: e.declaredName ?? key,
        description: e.description ?? "",
        version: e.version ?? "",
        digest: e.digest ?? "",
        path: this.path(key),
        signer: signer(e.signature),
        use: e.use ?? "",
        prompt: e.training?.mode !== "trainable", // a target of training is no text for a prompt
      };
    });
  }

  /** Every dependency; from is "" for the project. */
  edges() {
    const requires = this.data.root.requires;
    const out = sortedSet(Object.keys(requires)).map((to) => ({ from: "", to, requirement: requires[to], chain: false }));
    for (const from of this.order()) {
      const e = this.skills[from];
      const own = e.requires ?? {}, steps = e.chain?.steps ?? [];
      for (const to of sortedSet([...(e.dependencies ?? []), ...Object.keys(own), ...steps])) {
        out.push({ from, to, requirement: own[to] ?? "*", chain: steps.includes(to) && !(to in own) });
      }
    }
    return out;
  }

  /** What key depends on directly, with digests. */
  parents(key) {
    return sortedSet(this.#entry(key).dependencies ?? []).map((name) => ({ name, digest: this.skills[name]?.digest ?? "" }));
  }

  /** The order in which the chain key runs; nothing is run. */
  plan(key) {
    const chain = this.#entry(key).chain;
    if (!chain) throw new LockError("skill_not_found", `the lock has no chain ${key}`);
    const plan = { root: key, mode: chain.mode, policy: chain.policy, depth: 0, steps: [], flat: [] };
    plan.steps = this.#steps(plan, [key], chain);
    return plan;
  }

  #steps(plan, trail, chain) {
    if (trail.length > plan.policy.max_depth) {
      throw new LockError("chain_depth_exceeded", `chains are nested deeper than ${plan.policy.max_depth}: ${trail.join(" > ")}`);
    }
    plan.depth = Math.max(plan.depth, trail.length);
    return (chain.steps ?? []).map((name) => {
      const e = this.skills[name];
      if (!e) throw new LockError("subskill_unresolved", `the step ${name} has no entry in the lock`);
      if (trail.includes(name)) throw new LockError("subskill_cycle_detected", `a chain reaches itself: ${[...trail, name].join(" > ")}`);
      plan.flat.push(name);
      if (plan.flat.length > MAX_PLAN_STEPS) throw new LockError("chain_depth_exceeded", `the plan has more than ${MAX_PLAN_STEPS} steps`);
      const step = { name, version: e.version ?? "", digest: e.digest ?? "", path: this.path(name) };
      if (e.chain) step.steps = this.#steps(plan, [...trail, name], e.chain);
      return step;
    });
  }

  /** Compare every byte and mode of the installed skill with the lock. */
  verify(key) {
    const e = this.#entry(key);
    if (e.source.type === "path") return;
    const dir = this.#dir(key);
    if (!existsSync(dir)) throw new LockError("verify_missing", `${key} is not installed`);
    const { digest, signature } = treeDigest(dir);
    if (digest !== e.digest) throw new LockError("verify_changed", `${key} has digest ${digest}, locked is ${e.digest}`);
    const want = e.signature?.bundle ?? "";
    if (signature !== want) {
      const code = signature === "" ? "verify_missing" : want === "" ? "verify_extra" : "verify_changed";
      throw new LockError(code, `the signature of ${key} is not the locked one`);
    }
  }

  /** SKILL.md after its frontmatter, at most limit bytes of it. */
  body(key, limit = READ_LIMIT) {
    const dir = this.#dir(key);
    const names = readdirSync(dir);
    const name = names.includes("SKILL.md") ? "SKILL.md" : names.find((n) => n.toLowerCase() === "skill.md");
    if (!name) throw new LockError("skill_not_found", `no SKILL.md in ${key}`);
    return splitBody(read(dir, name, limit + READ_LIMIT)).subarray(0, limit).toString("utf8");
  }

  /** The files beside SKILL.md by path; none is opened. */
  resources(key) {
    return walk(this.#dir(key))
      .filter(([path]) => path.toLowerCase() !== "skill.md" && path !== SIGNATURE_FILE)
      .map(([path, info]) => ({ path, size: info.size, exec: (info.mode & 0o100) !== 0 }));
  }

  /** At most limit bytes of one file; no path leads out of the skill. */
  resource(key, path, limit = READ_LIMIT) {
    if (CONTROL.test(path) || path.split("/").some((e) => ["", ".", ".."].includes(e))) {
      throw new LockError("path_unsafe", `${JSON.stringify(path)} is no path inside a skill`);
    }
    return read(this.#dir(key), path, limit);
  }

  #entry(key) {
    const e = this.skills[key];
    if (!e) throw new LockError("skill_not_found", `the lock has no skill ${JSON.stringify(key)}`);
    return e;
  }

  #dir(key) {
    this.#entry(key);
    const path = this.path(key);
    return path.startsWith("~/") ? join(homedir(), path.slice(2)) : join(this.root, path);
  }
}

/**
 * The digest of a directory and the hash of its signature file ("" if none).
 * Where files have no executable bit (Windows) executable files count as plain,
 * so a skill that has some cannot be verified there without skillpm's store.
 */
export function treeDigest(dir) {
  const manifest = createHash("sha256").update("skillpm-tree-v1\n");
  let signature = "";
  for (const [path, info] of walk(dir)) {
    const data = read(dir, path, MAX_FILE_BYTES + 1);
    const sha = createHash("sha256").update(data).digest("hex");
    if (path === SIGNATURE_FILE) {
      signature = "sha256:" + sha;
      continue;
    }
    const mode = (info.mode & 0o100) !== 0 && process.platform !== "win32" ? "x" : "-";
    manifest.update(`${mode} ${sha} ${data.length} ${path}\n`);
  }
  return { digest: "sha256:" + manifest.digest("hex"), signature };
}

/** Every file as [path, lstat], sorted by the bytes of the path. */
function walk(dir) {
  const found = [], pending = [""];
  let total = 0;
  while (pending.length > 0) {
    const prefix = pending.pop();
    for (const raw of readdirSync(join(dir, prefix), { encoding: "buffer" })) {
      const name = raw.toString("utf8");
      const path = prefix + name;
      // A path with a line end could stand for two lines of the manifest.
      if (CONTROL.test(name) || !Buffer.from(name).equals(raw)) throw new LockError("path_unsafe", `${JSON.stringify(path)} is no plain name`);
      const info = lstatSync(join(dir, path));
      if (info.isDirectory()) {
        pending.push(path + "/");
        continue;
      }
      if (!info.isFile()) throw new LockError("path_unsafe", `${JSON.stringify(path)} is no regular file`);
      total += info.size;
      if (found.push([path, info]) > MAX_FILES || total > MAX_BYTES || info.size > MAX_FILE_BYTES) {
        throw new LockError("tree_too_large", `${JSON.stringify(path)} goes beyond the limits of a skill`);
      }
    }
  }
  return found.sort((a, b) => byBytes(a[0], b[0]));
}

/** Read a regular file without following a link in any element of path. */
function read(dir, path, limit) {
  const elements = path.split("/");
  let current = dir;
  elements.forEach((element, i) => {
    current = join(current, element);
    const info = lstatSync(current);
    if (!(i === elements.length - 1 ? info.isFile() : info.isDirectory())) {
      throw new LockError("path_unsafe", `${JSON.stringify(path)} is no regular file of the skill`);
    }
  });
  const fd = openSync(current, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  try {
    const chunks = [];
    for (let left = limit; left > 0; ) {
      const chunk = Buffer.alloc(Math.min(left, 1 << 16));
      const n = readSync(fd, chunk);
      if (n === 0) break;
      chunks.push(chunk.subarray(0, n));
      left -= n;
    }
    return Buffer.concat(chunks);
  } finally {
    closeSync(fd);
  }
}

function splitBody(text) {
  let at = text.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf])) ? 3 : 0;
  const line = () => {
    const end = text.indexOf(10, at);
    const s = text.subarray(at, end < 0 ? text.length : end).toString("latin1");
    at = end < 0 ? text.length : end + 1;
    return s;
  };
  const fence = (s) => s.replace(/[ \t\r]+$/, "") === "---";
  let first = "";
  while (at < text.length && first.trim() === "") first = line();
  if (!fence(first)) return text;
  while (at < text.length) if (fence(line())) return text.subarray(at);
  return text;
}

function signer(s) {
  if (!s) return "";
  const key = s.key ? "key " + s.key.slice(0, 19) : "an unknown key";
  const who = s.kind === "key" ? key : (s.identity ?? s.subject ?? "");
  return who + (s.issuer ? ` (${s.issuer})` : "");
}

function parse(raw) {
  const corrupt = (message) => new LockError("lock_corrupt", message);
  if (raw.length > MAX_LOCK_BYTES) throw corrupt(`the lock is larger than ${MAX_LOCK_BYTES} bytes`);
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(raw).replaceAll("\r\n", "\n");
  } catch {
    throw corrupt("the lock is not UTF-8");
  }
  if (/^(<{7}|>{7})( |$)/m.test(text)) throw corrupt("git's conflict markers in the lock");
  const data = new Reader(text).document();
  if (!isObject(data)) throw corrupt("the lock must be an object");
  if (data.format !== "skillpm-lock") throw new LockError("lock_foreign", "this lock was not written by skillpm");
  if (data.lockVersion !== 1) throw new LockError("lock_version", `lockVersion ${data.lockVersion}; this reader knows 1`);
  check(data, corrupt);
  return data;
}

const isObject = (v) => typeof v === "object" && v !== null && !Array.isArray(v);

/** Check what the methods of Lock rely on. */
function check(data, corrupt) {
  if (!isObject(data.root?.requires) || !isObject(data.skills) || !Array.isArray(data.targets)) {
    throw corrupt("root.requires, skills and targets must stand in the lock");
  }
  for (const target of data.targets) {
    const rest = String(target).replace(/^~\//, "");
    if (typeof target !== "string" || CONTROL.test(rest) || rest[1] === ":" || rest[0] === ":" || rest.split("/").some((e) => ["", ".", ".."].includes(e))) {
      throw new LockError("target_unsafe", `the target ${JSON.stringify(target)} lies outside the project`);
    }
  }
  const folded = new Set();
  const types = { version: "string", declaredName: "string", description: "string", use: "string", requires: "object", signature: "object", chain: "object", training: "object", dependencies: "array" };
  for (const key of data.skills[KEYS]) {
    if (!KEY.test(key) || folded.has(key.toLowerCase())) throw corrupt(`${JSON.stringify(key)} cannot be a key`);
    folded.add(key.toLowerCase());
    const e = data.skills[key];
    if (!isObject(e?.source) || !["git", "index", "path"].includes(e.source.type)) throw corrupt(`the entry ${key} has no known source`);
    if (e.source.type !== "path" && !DIGEST.test(e.digest)) throw corrupt(`the entry ${key} has no digest`);
    for (const [field, want] of Object.entries(types)) {
      const is = Array.isArray(e[field]) ? "array" : e[field] === null ? "null" : typeof e[field];
      if (field in e && is !== want) throw corrupt(`${field} of ${key} has the wrong type`);
    }
    if (e.chain && !(Number.isInteger(e.chain.policy?.max_depth) && "mode" in e.chain)) throw corrupt(`the chain of ${key} has no policy`);
  }
}

/** On an object of Reader: its keys in the order of the file, which JavaScript would change for keys that are whole numbers. */
export const KEYS = Symbol("keys");

/** Strict JSON: JSON.parse takes the last of two equal keys and half surrogate pairs. */
class Reader {
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.depth = 0;
  }

  fail(message) {
    return new LockError("lock_corrupt", `line ${this.text.slice(0, this.at).split("\n").length}: ${message}`);
  }

  space() {
    while (" \t\n\r".includes(this.text[this.at] ?? "x")) this.at++;
  }

  document() {
    const v = this.value();
    if (this.at < this.text.length) throw this.fail("more data after the end of the file's object");
    return v;
  }

  value() {
    this.space();
    const c = this.text[this.at];
    const v = c === "{" ? this.nested(() => this.object()) : c === "[" ? this.nested(() => this.array()) : this.scalar();
    this.space();
    return v;
  }

  nested(readIt) {
    if (++this.depth > MAX_DEPTH) throw this.fail("nested too deep");
    this.at++;
    this.space();
    const v = readIt();
    this.depth--;
    return v;
  }

  take(c) {
    if (this.text[this.at] !== c) return false;
    this.at++;
    return true;
  }

  object() {
    const out = Object.create(null), keys = [];
    Object.defineProperty(out, KEYS, { value: keys });
    if (this.take("}")) return out;
    do {
      this.space();
      if (this.text[this.at] !== '"') throw this.fail("expected a key");
      const key = this.scalar();
      if (key in out) throw this.fail(`the key ${JSON.stringify(key)} stands a second time`);
      this.space();
      if (!this.take(":")) throw this.fail("expected a colon");
      out[key] = this.value();
      keys.push(key);
    } while (this.take(","));
    if (!this.take("}")) throw this.fail("expected a comma or a closing brace");
    return out;
  }

  array() {
    const out = [];
    if (this.take("]")) return out;
    do out.push(this.value());
    while (this.take(","));
    if (!this.take("]")) throw this.fail("expected a comma or a closing bracket");
    return out;
  }

  /** A string, number or word, delimited here and judged by JSON.parse. */
  scalar() {
    const pattern = /"[^"\\]*(?:\\.[^"\\]*)*"|[-+.\w]+/y;
    pattern.lastIndex = this.at;
    const token = pattern.exec(this.text)?.[0];
    let v;
    try {
      v = JSON.parse(token);
    } catch {
      throw this.fail("expected a value");
    }
    if (typeof v === "string" && !v.isWellFormed()) throw this.fail("half of a surrogate pair in a string");
    this.at += token.length;
    return v;
  }
}

function main(argv) {
  const c = argv.indexOf("-C");
  const root = c < 0 ? "." : argv.splice(c, 2)[1];
  const [command, ...args] = argv;
  try {
    const lock = Lock.load(root);
    if (command === "verify") {
      const keys = args.length > 0 ? args : lock.order();
      keys.forEach((key) => lock.verify(key));
      return [0, { verified: keys }];
    }
    if (command === "resource") return [0, lock.resource(...args).toString("utf8")];
    if (!["list", "order", "edges", "parents", "plan", "body", "resources"].includes(command)) return [64, { code: "usage", message: `no command ${command}` }];
    return [0, lock[command](...args)];
  } catch (e) {
    if (!(e instanceof LockError)) throw e;
    return [2, { code: e.code, message: e.message }];
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) {
  const [status, answer] = main(process.argv.slice(2));
  console.log(JSON.stringify(answer));
  process.exitCode = status;
}
