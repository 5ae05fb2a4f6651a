/** The table of spec 5.2: which provider a configuration selects, by settings in their precedence (spec 2.3). */
import type { EnvSpec } from '@freehold/contracts';
import { OidcConfigError } from '@freehold/oidc-rp';
import { CLIENT_SECRET_KEY, type IdentityChoice, isSameClient } from './config/identity-choice.ts';
import type { IdentityDirectory } from './identity-directory/unit.ts';
import type { CompleteRuntime } from './lib/runtime.ts';
import type { VerifyingAuthProvider } from './lib/subject.ts';
import { oidcAuthProvider } from './providers/oidc-auth-provider.ts';
import { oidcRpAuthProvider } from './providers/oidc-rp-auth-provider.ts';
import { parseResource } from './resource-server/metadata.ts';

/**
 * An instance's sign-in is not configured, or not completely. `status` is 503 when nothing usable is there yet, and
 * 500 when the operator asked for a provider and left a part out (spec 7.3). The application raises it again as its
 * framework's HTTP exception with this status and message.
 */
export class AuthConfigError extends Error {
  override readonly name = 'AuthConfigError';
  readonly status: 500 | 503;

  constructor(status: 500 | 503, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.status = status;
  }
}

/** The three places a setting comes from, the strongest first (spec 2.3). */
export interface SettingSources {
  readonly config: Readonly<Record<string, string>>;
  /** The worker's bindings. Only strings are settings. */
  readonly env: Readonly<Record<string, unknown>>;
  readonly envSpec: EnvSpec;
}

/**
 * Returns one setting by its precedence, or undefined when no place sets it. The binding is shared by every instance
 * of the worker: reading it alone would give one tenant's instance a value that is meant for all.
 */
export function readSetting({ config, env, envSpec }: SettingSources, key: string): string | undefined {
  const bound = Object.hasOwn(env, key) ? env[key] : undefined;
  if (Object.hasOwn(config, key)) return config[key];
  if (typeof bound === 'string') return bound;
  return Object.hasOwn(envSpec, key) ? envSpec[key]?.default : undefined;
}

export interface ProviderSelection {
  readonly instance: { readonly tenantId: string; readonly scopeId: string };
  readonly identity: IdentityChoice | null;
  /** The first signs, all verify. */
  readonly sessionSecrets: readonly string[];
  /** The URLs that stand for this instance as a resource. */
  readonly resources: readonly string[];
  readonly sources: SettingSources;
  readonly directory: IdentityDirectory;
  readonly runtime: CompleteRuntime;
}

/**
 * Makes the selected provider. With a delivered choice the client secret is the delivered one. A bound or preset
 * secret is used only where OIDC_ISSUER and OIDC_CLIENT_ID beside it are the choice's own, so that choosing another
 * issuer never sends it there.
 * @throws AuthConfigError with the status of the condition that failed.
 */
export function selectProvider(selection: ProviderSelection): VerifyingAuthProvider {
  const { identity, sources } = selection;
  if (identity) return rpProvider(selection, identity);
  if (readSetting(sources, 'AUTH_PROVIDER') !== 'oidc')
    throw new AuthConfigError(503, 'Sign-in is not set up for this instance yet.');
  const issuer = readSetting(sources, 'OIDC_ISSUER');
  if (!issuer) throw new AuthConfigError(500, 'AUTH_PROVIDER is oidc, and OIDC_ISSUER is not set.');
  return bearerProvider(selection, issuer);
}

function rpProvider(selection: ProviderSelection, identity: IdentityChoice): VerifyingAuthProvider {
  const { instance, sources, sessionSecrets, directory, runtime } = selection;
  const clientSecret = readClientSecret(sources, identity);
  const baseUrl = readSetting(sources, 'BASE_URL');
  return orConfigError(503, () =>
    oidcRpAuthProvider({
      ...instance,
      issuer: identity.issuer,
      clientId: identity.clientId,
      ...(clientSecret ? { clientSecret } : {}),
      ...(baseUrl ? { baseUrl } : {}),
      sessionSecret: sessionSecrets,
      directory,
      runtime,
    }),
  );
}

/**
 * Returns the secret of the chosen client at the chosen issuer, or undefined for a public client. A delivered secret
 * is the choice's own, as `putConfig` ensures. A secret from elsewhere counts only when that same place, where no
 * delivery reaches, says that it is for this issuer and client.
 */
function readClientSecret(
  { config, env, envSpec }: SettingSources,
  identity: IdentityChoice,
): string | undefined {
  if (Object.hasOwn(config, CLIENT_SECRET_KEY)) return config[CLIENT_SECRET_KEY];
  const bound: SettingSources = { config: {}, env, envSpec: {} };
  const preset: SettingSources = { config: {}, env: {}, envSpec };
  const place = [bound, preset].find((each) => readSetting(each, CLIENT_SECRET_KEY) !== undefined);
  if (place === undefined) return undefined;
  const issuer = readSetting(place, 'OIDC_ISSUER') ?? '';
  const clientId = readSetting(place, 'OIDC_CLIENT_ID') ?? '';
  return isSameClient({ mode: 'oidc', issuer, clientId }, identity)
    ? readSetting(place, CLIENT_SECRET_KEY)
    : undefined;
}

/** The default audience is the scope's id and the instance's own URLs, so that no other resource's token opens it. */
function bearerProvider(selection: ProviderSelection, issuer: string): VerifyingAuthProvider {
  const { instance, sources, resources, runtime } = selection;
  const configured = readSetting(sources, 'OIDC_AUDIENCE')?.split(/\s+/).filter(Boolean) ?? [];
  return orConfigError(500, () => {
    const audience =
      configured.length > 0 ? configured : [instance.scopeId, ...resources.map(requireResource)];
    return oidcAuthProvider({ issuer, audience, runtime });
  });
}

function requireResource(resource: string): string {
  if (parseResource(resource) === null)
    throw new OidcConfigError('resource', 'A resource must be an absolute URL without query and fragment.');
  return resource;
}

/** Reports an unusable setting with a status that tells who must repair it. */
function orConfigError<T>(status: 500 | 503, make: () => T): T {
  try {
    return make();
  } catch (cause) {
    if (!(cause instanceof OidcConfigError)) throw cause;
    throw new AuthConfigError(status, `Sign-in is not set up correctly. ${cause.message}`, { cause });
  }
}
