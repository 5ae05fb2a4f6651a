/** The table of spec 5.2: which provider a configuration selects. */
import { OidcConfigError } from '@freehold/oidc-rp';
import { AuthConfigError } from './errors.ts';
import { CLIENT_SECRET_KEY, type IdentityChoice, isSameClient } from './config/identity-choice.ts';
import type { IdentityDirectory } from './identity-directory/unit.ts';
import type { VerifyingAuthProvider } from './provider.ts';
import { oidcAuthProvider } from './providers/oidc-auth-provider.ts';
import { oidcRpAuthProvider } from './providers/oidc-rp-auth-provider.ts';
import { parseResource } from './resource-server/metadata.ts';
import type { CompleteRuntime } from './lib/runtime.ts';
import { readSetting, type SettingSources } from './settings.ts';

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
 * Makes the selected provider. With a delivered choice the client secret is the delivered one; one that the worker
 * is bound to, or that a manifest presets, is used only where OIDC_ISSUER and OIDC_CLIENT_ID beside it are the
 * choice's own, so that choosing another issuer never sends it there.
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
 * The secret of the chosen client at the chosen issuer, or undefined for a public client. What was delivered is
 * the choice's own: `putConfig` sees to it. A secret from elsewhere counts only when that same place, where no
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

/**
 * The audience is this instance's own unless told otherwise, so that no other resource's token opens it: the scope's
 * id, and the URLs that the application says it has.
 */
function bearerProvider(selection: ProviderSelection, issuer: string): VerifyingAuthProvider {
  const { instance, sources, resources, runtime } = selection;
  const told = readSetting(sources, 'OIDC_AUDIENCE')?.split(/\s+/).filter(Boolean) ?? [];
  return orConfigError(500, () => {
    const audience = told.length > 0 ? told : [instance.scopeId, ...resources.map(requireResource)];
    return oidcAuthProvider({ issuer, audience, runtime });
  });
}

function requireResource(resource: string): string {
  if (parseResource(resource) === null)
    throw new OidcConfigError('resource', 'A resource must be an absolute URL without query and fragment.');
  return resource;
}

/** A setting that is there and cannot be used, with the status of whoever has to repair it. */
function orConfigError<T>(status: 500 | 503, make: () => T): T {
  try {
    return make();
  } catch (cause) {
    if (!(cause instanceof OidcConfigError)) throw cause;
    throw new AuthConfigError(status, `Sign-in is not set up correctly. ${cause.message}`, { cause });
  }
}
