/** Keeps the authentication of instances between requests, for as long as what was delivered to them stands. */
import type { EnvSpec } from '@freehold/contracts';
import type { Issuer } from '@freehold/oidc-rp';
import type { IdentityDirectory } from './identity-directory/unit.ts';
import { buildInstanceAuth, type InstanceAuth, readInstance } from './instance-auth.ts';
import { makeLruMap } from './lib/lru-map.ts';
import { type AuthRuntime, type CompleteRuntime, completeRuntime, issuerAt } from './lib/runtime.ts';

/** One instance costs a few kilobytes: its settings and three derived keys. */
const INSTANCES_MAX_DEFAULT = 1_000;
/** Most instances share a handful of issuers; each keeps its metadata and keys. */
const ISSUERS_MAX = 200;

export interface InstanceAuthCacheOptions {
  readonly envSpec: EnvSpec;
  readonly env: Readonly<Record<string, unknown>>;
  readonly runtime?: AuthRuntime;
  /** How many instances are kept; the least recently used goes first. Default 1,000. */
  readonly instancesMax?: number;
}

/** An instance as the cache is asked for it. */
export interface CachedInstance {
  readonly directory: IdentityDirectory;
  readonly scopeId: string;
  /** As in `InstanceAuthInput`. An instance with several host names is kept once for each. */
  readonly resource?: string | readonly string[];
  /** The same. Every surface of an instance has the same one, or a sign-in at one would not be seen at the other. */
  readonly cookieDomain?: string | undefined;
}

export interface InstanceAuthCache {
  /** Answers an instance's authentication. One small read a call while nothing changed. */
  (instance: CachedInstance): Promise<InstanceAuth>;
  /** What is kept of an instance, unseen whether it still stands: the directory says so when it is told the version. */
  known(instance: CachedInstance): { readonly version: string; readonly auth: InstanceAuth } | undefined;
  /**
   * Drops what is kept of a scope, its delivered secrets included, at all its host names: for a scope that is deleted,
   * of which nobody asks again. No answer depends on it.
   */
  forget(scope: { readonly scopeId: string }): void;
}

/**
 * Makes a cache for all instances of one vertical. Every call asks the directory for the version of the
 * configuration, so that a change of it, and of the session secrets, takes effect with the next request and without
 * a restart.
 */
export function makeInstanceAuthCache(options: InstanceAuthCacheOptions): InstanceAuthCache {
  const { envSpec, env, instancesMax = INSTANCES_MAX_DEFAULT } = options;
  const runtime = withSharedIssuers(completeRuntime(options.runtime));
  const kept = makeLruMap<{ readonly version: string; readonly auth: InstanceAuth }>(instancesMax);

  const keyOf = ({ scopeId, resource = [], cookieDomain }: CachedInstance): string =>
    JSON.stringify([scopeId, resource, cookieDomain ?? null]);

  const find = async (instance: CachedInstance): Promise<InstanceAuth> => {
    const { directory, scopeId } = instance;
    const key = keyOf(instance);
    const known = kept.get(key);
    const read = await readInstance(directory, {
      scopeId,
      ...(known === undefined ? {} : { knownVersion: known.version }),
    });
    if (known !== undefined && !read.changed) return known.auth;
    if (!read.changed) throw new TypeError('the directory left out what was asked for');
    const auth = buildInstanceAuth({ ...instance, envSpec, env }, read, runtime);
    kept.set(key, { version: read.version, auth });
    return auth;
  };
  return Object.assign(find, {
    known: (instance: CachedInstance) => kept.get(keyOf(instance)),
    forget: ({ scopeId }: { readonly scopeId: string }) => {
      kept.deleteWhere((key) => (JSON.parse(key) as readonly unknown[])[0] === scopeId);
    },
  });
}

/** Fetches an issuer's metadata and keys once for all instances that use it. */
function withSharedIssuers(runtime: CompleteRuntime): CompleteRuntime {
  if (runtime.issuer) return runtime;
  const issuers = makeLruMap<Issuer>(ISSUERS_MAX);
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
