/** Types of skillpm-lock.mjs, a reader of skills.lock without dependencies. */

export declare const FILE_NAME: "skills.lock";
export declare const SIGNATURE_FILE: "skill.oms.sig";
/** On an object of the lock: its keys in the order of the file. */
export declare const KEYS: unique symbol;

/** A refusal; code is a word of docs/errors.md. */
export declare class LockError extends Error {
  readonly code: string;
  constructor(code: string, message: string);
}

export interface Item {
  key: string;
  /** As SKILL.md declares it. */
  name: string;
  description: string;
  version: string;
  /** sha256:… of the tree; "" for a path skill. */
  digest: string;
  /** Install directory, relative to the project. */
  path: string;
  /** What the signature says of itself; never a verdict. */
  signer: string;
  use: "" | "required" | "optional";
  /** False for a skill that is a target of training, not a text for a prompt. */
  prompt: boolean;
}

export interface Edge {
  /** "" is the project. */
  from: string;
  to: string;
  requirement: string;
  chain: boolean;
}

export interface Policy {
  continue_on_error: boolean;
  /** Seconds for each step; 0 is unlimited. */
  timeout: number;
  max_depth: number;
  parallel_limit: number;
  cleanup_after: boolean;
  early_exit_on: "none" | "failure" | "success" | "critical";
  continue_on_success: boolean;
  pass_state: boolean;
  retry_count: number;
  retry_until: "none" | "stable" | "success";
  race_mode: boolean;
}

export interface Step {
  name: string;
  version: string;
  digest: string;
  path: string;
  /** Of a nested chain, which keeps its own policy. */
  steps?: Step[];
}

export interface Plan {
  root: string;
  mode: "sequential" | "parallel";
  policy: Policy;
  depth: number;
  steps: Step[];
  /** Depth first, a nested chain before its members. */
  flat: string[];
}

export interface Resource {
  path: string;
  size: number;
  exec: boolean;
}

export declare class Lock {
  /** Throws LockError: lock_corrupt, lock_version, lock_foreign or target_unsafe. */
  constructor(data: Uint8Array, root?: string);
  static load(root?: string): Lock;
  readonly root: string;
  /** The lock as it stands in the file; docs/schema/skills.lock.schema.json. */
  readonly data: Record<string, unknown>;
  order(): string[];
  path(key: string): string;
  list(): Item[];
  edges(): Edge[];
  parents(key: string): { name: string; digest: string }[];
  plan(key: string): Plan;
  /** Throws LockError verify_changed, verify_missing or verify_extra. */
  verify(key: string): void;
  body(key: string, limit?: number): string;
  resources(key: string): Resource[];
  resource(key: string, path: string, limit?: number): Buffer;
}

export declare function treeDigest(dir: string): { digest: string; signature: string };
