/** What `FREEHOLD_SIGN_IN` means: what verticals are bound to, and what the demo is delivered. */
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

/** The settings delivered to the demo. Null takes away what an earlier start delivered. */
export function demoConfigOf(
  mode: SignInMode,
  client: PlatformClient | null,
): Readonly<Record<string, string | null>> {
  const choice =
    mode === 'hosted' && client?.clientId !== undefined
      ? JSON.stringify({ mode: 'oidc', issuer: client.url, clientId: client.clientId })
      : null;
  return {
    'platform:auth': choice,
    OIDC_CLIENT_SECRET: choice === null ? null : (client?.clientSecret ?? null),
  };
}
