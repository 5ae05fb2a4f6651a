/** What `FREEHOLD_SIGN_IN` means: what verticals are bound to, and what new instances are delivered. */
import type { SignInMode } from '../settings/settings.ts';

/** The client that an issuer knows this platform by. */
export interface PlatformClient {
  readonly url: string;
  readonly clientId: string | undefined;
  readonly clientSecret: string | undefined;
}

/**
 * The settings that every instance takes where nothing was delivered to it. None for `hosted`: there, an instance
 * without a delivered choice lets nobody in.
 */
export function bindingsOf(mode: SignInMode, issuerUrl: string | null): Readonly<Record<string, string>> {
  if (mode === 'directory') return { AUTH_PROVIDER: 'directory' };
  if (mode === 'tokens' && issuerUrl !== null) return { AUTH_PROVIDER: 'oidc', OIDC_ISSUER: issuerUrl };
  return {};
}

/** The settings delivered to every new instance whose provisioning says nothing of them: to sign in at the platform's issuer. */
export function newScopeSettingsOf(
  mode: SignInMode,
  client: PlatformClient | null,
): Readonly<Record<string, string>> {
  if (mode !== 'hosted' || client?.clientId === undefined) return {};
  const { url: issuer, clientId, clientSecret } = client;
  return {
    'platform:auth': JSON.stringify({ mode: 'oidc', issuer, clientId }),
    ...(clientSecret === undefined ? {} : { OIDC_CLIENT_SECRET: clientSecret }),
  };
}

/** The settings delivered to the demo. Null takes away what an earlier start delivered. */
export function demoConfigOf(
  mode: SignInMode,
  client: PlatformClient | null,
): Readonly<Record<string, string | null>> {
  return { 'platform:auth': null, OIDC_CLIENT_SECRET: null, ...newScopeSettingsOf(mode, client) };
}
