/** Turns the delivered configuration of one instance into its way of signing people in (spec 2.3 and 5.2). */

import type { EnvSpec } from '@freehold/contracts';
import { type IdentityChoice, parseIdentityChoice } from './config/identity-choice.ts';
import type { InstanceConfig } from './config/operations.ts';
import type { IdentityDirectory } from './identity-directory/unit.ts';
import { refusal } from './lib/refusals.ts';
import { type AuthRuntime, type CompleteRuntime, completeRuntime } from './lib/runtime.ts';
import type { VerifyingAuthProvider } from './lib/subject.ts';
import { readSetting, type SettingSources, selectProvider } from './select-provider.ts';

export interface InstanceAuthInput {
  readonly directory: IdentityDirectory;
  readonly scopeId: string;
  /** The settings that the vertical declares in its manifest. */
  readonly envSpec: EnvSpec;
  /** The worker's bindings. They are shared by every instance of the worker. */
  readonly env: Readonly<Record<string, unknown>>;
  /**
   * The URLs by which clients name this instance as a resource (RFC 8707, section 2): its origin, its MCP endpoint.
   * Access tokens made for one of them are taken beside those made for the scope's id, unless OIDC_AUDIENCE says
   * otherwise. Compared character for character. Default: none.
   */
  readonly resource?: string | readonly string[];
  /** Domain of this instance's session cookie, from `resolveCookieDomain` over its surfaces. Default: the runtime's. */
  readonly cookieDomain?: string | undefined;
  /** Default: the system's clock and network, host-only cookies. */
  readonly runtime?: AuthRuntime;
}

export interface InstanceAuth {
  /** The delivered `platform:auth` choice, or null when nothing usable was delivered. */
  readonly identity: IdentityChoice | null;
  /** The tenant's own session-signing secret. */
  readonly sessionSecret: string;
  /** Every secret of the tenant that verifies, the one that signs first: several for a while after a rotation. */
  readonly sessionSecrets: readonly string[];
  /** The declared settings that have a value: delivered, then binding, then manifest default. */
  readonly settings: Readonly<Record<string, string>>;
  /** All delivered settings, undeclared keys included. */
  readonly config: Readonly<Record<string, string>>;
  /**
   * Returns the provider that this configuration selects; the same one on every call. With a delivered choice its
   * client secret is the delivered one, or a bound one whose own OIDC_ISSUER and OIDC_CLIENT_ID are the choice's.
   * @throws AuthConfigError 503 when nothing usable is configured; 500 for AUTH_PROVIDER `oidc` without OIDC_ISSUER.
   */
  provider(): VerifyingAuthProvider;
}

/**
 * Reads an instance's configuration and returns its authentication. Each call reads and derives anew; an application
 * that answers requests uses one `makeInstanceAuthCache` instead.
 * @throws PlatformError as the directory does.
 */
export async function instanceAuthFor(input: InstanceAuthInput): Promise<InstanceAuth> {
  const read = await readInstance(input.directory, { scopeId: input.scopeId });
  // Without a known version the directory always answers in full.
  if (!read.changed) throw new TypeError('the directory left out the configuration');
  return buildInstanceAuth(input, read, completeRuntime(input.runtime));
}

/**
 * Reads an instance's configuration. The first use mints the tenant's secret, and secrets in clear or under a key that
 * is being replaced are sealed anew.
 */
export async function readInstance(
  directory: IdentityDirectory,
  input: { readonly scopeId: string; readonly knownVersion?: string },
): Promise<InstanceConfig> {
  const read = await directory.readInstanceConfig(input);
  if (!read.changed || (read.sessionSecret !== null && !read.resealDue)) return read;
  if (read.sessionSecret === null) await directory.sessionSecret();
  // In several transactions, so that no call waits for a long one.
  if (read.resealDue) while ((await directory.resealSecrets({})).left > 0);
  return directory.readInstanceConfig({ scopeId: input.scopeId });
}

/** Builds the answer from a full reading. @throws PlatformError `unavailable` when it holds no session secret. */
export function buildInstanceAuth(
  input: Omit<InstanceAuthInput, 'runtime'>,
  read: Extract<InstanceConfig, { changed: true }>,
  runtime: CompleteRuntime,
): InstanceAuth {
  const { directory, scopeId, envSpec, env, cookieDomain = runtime.cookieDomain } = input;
  const { sessionSecret, sessionSecrets } = read;
  if (sessionSecret === null)
    throw refusal(
      'unavailable',
      'session_secret_missing',
      'This tenant has no secret to sign sessions with.',
    );
  const sources: SettingSources = { config: read.config, env, envSpec };
  const identity = parseIdentityChoice(read.config);
  let selected: VerifyingAuthProvider | undefined;
  return {
    identity,
    sessionSecret,
    sessionSecrets,
    settings: resolveSettings(sources),
    config: Object.freeze({ ...read.config }),
    provider: () => {
      selected ??= selectProvider({
        instance: { tenantId: read.tenantId, scopeId },
        identity,
        sessionSecrets,
        resources: [input.resource ?? []].flat(),
        sources,
        directory,
        runtime: cookieDomain === undefined ? runtime : { ...runtime, cookieDomain },
      });
      return selected;
    },
  };
}

/** Returns the declared settings that have a value: delivered, then binding, then manifest default (spec 2.3). */
export function resolveSettings(sources: SettingSources): Readonly<Record<string, string>> {
  const pairs = Object.keys(sources.envSpec).flatMap((key) => {
    const value = readSetting(sources, key);
    return value === undefined ? [] : [[key, value] as const];
  });
  return Object.freeze(Object.fromEntries(pairs));
}
