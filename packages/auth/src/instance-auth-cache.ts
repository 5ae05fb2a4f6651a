/** Keeps the authentication of instances between requests, for as long as their delivered configuration is current. */
import type { EnvSpec } from '@freehold/contracts';
import type { Issuer } from '@freehold/oidc-rp';
import type { IdentityDirectory } from './identity-directory/unit.ts';
import { buildInstanceAuth, type InstanceAuth, readInstance } from './instance-auth.ts';
import { type AuthRuntime, type CompleteRuntime, completeRuntime, issuerAt } from './lib/runtime.ts';

/** One instance costs a few kilobytes: its settings and three derived keys. */
const INSTANCES_MAX_DEFAULT = 1_000;
/** Most instances share a handful of issuers; each holds its metadata and keys. */
const ISSUERS_MAX = 200;

export interface InstanceAuthCacheOptions {
  readonly envSpec: EnvSpec;
  readonly env: Readonly<Record<string, unknown>>;
  readonly runtime?: AuthRuntime;
  /** The number of instances held; the least recently used goes first. Default 1,000. */
  readonly instancesMax?: number;
}

export interface CachedInstance {
  readonly directory: IdentityDirectory;
  readonly scopeId: string;
  /** As in `InstanceAuthInput`. An instance with several host names is held once for each. */
  readonly resource?: string | readonly string[];
  /** As there. Every surface of an instance passes the same one, or a sign-in at one would not be seen at the other. */
  readonly cookieDomain?: string | undefined;
}

export interface InstanceAuthCache {
  /** Returns an instance's authentication. One small read a call while nothing changed. */
  (instance: CachedInstance): Promise<InstanceAuth>;
  /** Returns the held copy of an instance, unchecked: the directory judges its version. */
  known(instance: CachedInstance): { readonly version: string; readonly auth: InstanceAuth } | undefined;
  /**
   * Drops all copies of a deleted scope, its delivered secrets included, at all its host names. No answer depends on
   * it.
   */
  forget(scope: { readonly scopeId: string }): void;
}

/**
 * Makes a cache for all instances of one vertical. Every call asks the directory for the version of the configuration,
 * so that a change of it, and of the session secrets, takes effect with the next request and without a restart.
 */
export function makeInstanceAuthCache(options: InstanceAuthCacheOptions): InstanceAuthCache {
  const { envSpec, env, instancesMax = INSTANCES_MAX_DEFAULT } = options;
  const runtime = withSharedIssuers(completeRuntime(options.runtime));
  const instances = new LruMap<{ readonly version: string; readonly auth: InstanceAuth }>(instancesMax);

  const find = async (instance: CachedInstance): Promise<InstanceAuth> => {
    const { directory, scopeId } = instance;
    const key = keyOf(instance);
    const known = instances.get(key);
    const read = await readInstance(directory, {
      scopeId,
      ...(known === undefined ? {} : { knownVersion: known.version }),
    });
    if (known !== undefined && !read.changed) return known.auth;
    if (!read.changed) throw new TypeError('the directory left out the configuration');
    const auth = buildInstanceAuth({ ...instance, envSpec, env }, read, runtime);
    instances.set(key, { version: read.version, auth });
    return auth;
  };
  return Object.assign(find, {
    known: (instance: CachedInstance) => instances.get(keyOf(instance)),
    forget: ({ scopeId }: { readonly scopeId: string }) => {
      instances.deleteWhere((key) => (JSON.parse(key) as readonly unknown[])[0] === scopeId);
    },
  });
}

function keyOf({ scopeId, resource = [], cookieDomain }: CachedInstance): string {
  return JSON.stringify([scopeId, resource, cookieDomain ?? null]);
}

/** Fetches an issuer's metadata and keys once for all instances that use it. */
function withSharedIssuers(runtime: CompleteRuntime): CompleteRuntime {
  if (runtime.issuer) return runtime;
  const issuers = new LruMap<Issuer>(ISSUERS_MAX);
  return {
    ...runtime,
    issuer: (url) => {
      const known = issuers.get(url);
      if (known) return known;
      const issuer = issuerAt(url, runtime);
      issuers.set(url, issuer);
      return issuer;
    },
  };
}

/** A map that drops the least recently used entry when it is full. */
class LruMap<T> {
  // A Map keeps the order of insertion: each use inserts the entry again, so the first is the oldest.
  readonly #entries = new Map<string, T>();
  readonly #sizeMax: number;

  constructor(sizeMax: number) {
    this.#sizeMax = Math.max(1, sizeMax);
  }

  get(key: string): T | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  set(key: string, value: T): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size > this.#sizeMax) this.#entries.delete(this.#entries.keys().next().value as string);
  }

  deleteWhere(matches: (key: string) => boolean): void {
    for (const key of this.#entries.keys()) if (matches(key)) this.#entries.delete(key);
  }
}
