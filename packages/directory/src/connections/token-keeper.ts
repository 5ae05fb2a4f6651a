/**
 * Hands out credentials that work, and refreshes tokens before they expire. A refresh token may be good for one use only:
 * each connection has one refresher at a time, by a promise that the callers of this process share, and by a lease in the
 * directory that keeps other processes out.
 */
import { PlatformError } from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import type { LogHead } from '../declarations/records.ts';
import {
  type Credential,
  type CredentialPlace,
  type CredentialVault,
  credentialOfTokens,
} from './credential.ts';
import type { ConnectionMethods } from './feature.ts';
import type { CredentialRef, Ended, Loaded, RefreshEnd } from './maintenance.ts';
import { refreshTokens, revokeToken, type Tokens } from './oauth.ts';
import { type ProviderAccess, ProviderFailure, providerGone, providerProblem } from './provider-exchange.ts';
import type { OAuthProvider, ProviderRegistry } from './providers.ts';
import { type ConnectionRef, needsRefresh } from './store.ts';

/** The means of the host administration to work with providers. */
export interface ConnectionDeps {
  readonly directory: UnitStub<ConnectionMethods>;
  readonly registry: ProviderRegistry;
  readonly vault: CredentialVault;
  readonly access: ProviderAccess;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** That many bytes from a cryptographic source. */
  readonly random: (bytes: number) => Uint8Array;
  readonly newRequestId: () => string;
  /** Offers a head to the anchor. It does not reject. */
  readonly publish: (head: LogHead) => Promise<void>;
  /** Reports an unexpected error of the named method. */
  readonly incident: (method: string) => (error: unknown) => void;
}

/** A token that expires sooner than this is refreshed before it is handed out. */
const REFRESH_BEFORE_MS = 60_000;

/** A secret that is sent to the provider alone. */
export interface UsableCredential {
  readonly kind: Credential['kind'];
  readonly secret: string;
  /** Null when the provider does not say. */
  readonly expiresAtMs: number | null;
  /** Counts the credentials of the connection. */
  readonly generation: number;
}

export interface RefreshOptions {
  /** False: the caller writes a refusal down. Default true. */
  readonly recordsRefusal?: boolean;
}

export interface TokenKeeper {
  /**
   * A credential that works now, of a connection that is active.
   * @throws PlatformError `not_found`; `conflict`, reason `connection_not_live`; `unavailable`, reason
   * `refresh_in_progress` or `credential_unreadable`; the problem of a provider's failure.
   */
  use(ref: ConnectionRef): Promise<UsableCredential>;
  /** The same for a loaded credential, whatever the connection's state: to find out whether it works again. */
  useLoaded(loaded: Loaded, options?: RefreshOptions): Promise<UsableCredential>;
  /** Refreshes now. @throws ProviderFailure, and PlatformError as {@link use}. */
  refresh(loaded: Loaded, options?: RefreshOptions): Promise<UsableCredential>;
  /** Tries to revoke tokens that are no longer needed (RFC 7009), and returns whether it succeeded. */
  revoke(provider: OAuthProvider, credential: Credential): Promise<boolean>;
}

export function makeTokenKeeper(deps: ConnectionDeps): TokenKeeper {
  const { directory, registry, vault, access, now, newRequestId, publish } = deps;
  const running = new Map<string, Promise<UsableCredential>>();

  const refresh: TokenKeeper['refresh'] = (loaded, options = {}) => {
    const { id } = loaded.connection;
    const found = running.get(id);
    if (found) return found;
    const started = refreshOnce(loaded, options).finally(() => running.delete(id));
    running.set(id, started);
    return started;
  };

  const refreshOnce = async (loaded: Loaded, options: RefreshOptions): Promise<UsableCredential> => {
    const { connection, credential } = loaded;
    const provider = registry.find(connection.provider);
    if (provider?.kind !== 'oauth2') throw providerGone();
    const place: CredentialPlace = { tenant: connection.tenant, connection: connection.id };
    const ref: CredentialRef = { ...place, generation: credential.generation };
    const opened = vault.open(place, credential.sealed);
    if (opened.kind !== 'oauth2' || opened.refreshToken === null)
      throw new TypeError('a credential that cannot be refreshed was to be refreshed');
    if (!(await directory.beginRefresh(ref))) throw busy();
    const tokens = await refreshTokens(access, provider, opened.refreshToken).catch(
      async (error: unknown) => {
        const refused =
          error instanceof ProviderFailure && error.fault === 'refused' && options.recordsRefusal !== false;
        await end(ref, refused ? { outcome: 'refused', reason: 'refresh_refused' } : { outcome: 'failed' });
        throw error;
      },
    );
    const renewed = credentialOfTokens(tokens, opened.refreshToken);
    const expiresAtMs = expiryOf(tokens, now());
    const sealed = vault.seal(place, renewed, expiresAtMs);
    const { generation } = await end(ref, {
      outcome: 'refreshed',
      credential: sealed,
      scopes: tokens.scopes,
    });
    if (generation === null) {
      // The connection was disconnected meanwhile: the new tokens must not outlive it.
      await revoke(provider, renewed);
      throw notLive();
    }
    return { kind: 'oauth2', secret: tokens.accessToken, expiresAtMs, generation };
  };

  const end = async (ref: CredentialRef, how: RefreshEnd): Promise<Ended> => {
    const ended = await directory.endRefresh({ ...ref, end: how, requestId: newRequestId() });
    if (ended.head) await publish(ended.head);
    return ended;
  };

  const useLoaded: TokenKeeper['useLoaded'] = async (loaded, options) => {
    const { credential } = loaded;
    const present = (): UsableCredential => usableOf(deps, loaded);
    const { expiresAtMs } = credential;
    if (expiresAtMs === null || !needsRefresh(credential, now(), REFRESH_BEFORE_MS)) return present();
    const works = expiresAtMs > now();
    if (!credential.refreshable) {
      if (works) return present();
      throw new ProviderFailure('refused', 'The access token has expired and cannot be refreshed.');
    }
    try {
      return await refresh(loaded, options);
    } catch (error) {
      // The present token still works for a moment, and another process may be refreshing it.
      if (works && isTemporary(error)) return present();
      throw error;
    }
  };

  const use: TokenKeeper['use'] = async (ref) => {
    const loaded = await directory.connectionForUse(ref);
    try {
      return await useLoaded(loaded);
    } catch (error) {
      const again = await directory.connectionLoaded(ref);
      const replaced = again.credential.generation !== loaded.credential.generation;
      if (replaced && again.connection.state === 'active' && isBusy(error)) return usableOf(deps, again);
      if (isExpiry(loaded, error)) await breakExpired(loaded);
      throw isRefusedGrant(error) ? notLive() : providerProblem(error);
    }
  };

  const breakExpired = async ({ connection: { tenant, id }, credential: { generation } }: Loaded) => {
    const ref = { tenant, connection: id, generation };
    const { head } = await directory.recordCheck({
      ...ref,
      reason: 'token_expired',
      requestId: newRequestId(),
    });
    if (head) await publish(head);
  };

  const revoke: TokenKeeper['revoke'] = async (provider, credential) => {
    if (credential.kind !== 'oauth2' || provider.revocationEndpoint === undefined) return false;
    const { accessToken, refreshToken } = credential;
    try {
      // RFC 7009, section 2.1: revoking the refresh token ends the access tokens of the grant with it.
      if (refreshToken !== null)
        await revokeToken(access, provider, { token: refreshToken, hint: 'refresh_token' });
      else await revokeToken(access, provider, { token: accessToken, hint: 'access_token' });
      return true;
    } catch (error) {
      if (error instanceof ProviderFailure) return false;
      throw error;
    }
  };

  return { use, useLoaded, refresh, revoke };
}

export function expiryOf({ expiresInMs }: Tokens, nowMs: number): number | null {
  return expiresInMs === null ? null : nowMs + expiresInMs;
}

function usableOf({ vault }: ConnectionDeps, { connection, credential }: Loaded): UsableCredential {
  const place = { tenant: connection.tenant, connection: connection.id };
  const opened = vault.open(place, credential.sealed);
  return {
    kind: opened.kind,
    secret: opened.kind === 'api-key' ? opened.apiKey : opened.accessToken,
    expiresAtMs: credential.expiresAtMs,
    generation: credential.generation,
  };
}

function isTemporary(error: unknown): boolean {
  return isBusy(error) || (error instanceof ProviderFailure && error.fault !== 'refused');
}

function isBusy(error: unknown): boolean {
  return error instanceof PlatformError && error.reason === 'refresh_in_progress';
}

function isRefusedGrant(error: unknown): boolean {
  return error instanceof ProviderFailure && error.fault === 'refused';
}

/** Whether the token has expired and cannot be refreshed. */
function isExpiry({ credential }: Loaded, error: unknown): boolean {
  return !credential.refreshable && isRefusedGrant(error);
}

function busy(): PlatformError {
  return new PlatformError('unavailable', 'The credential of this connection is being refreshed.', {
    reason: 'refresh_in_progress',
    headers: { 'retry-after': '1' },
  });
}

function notLive(): PlatformError {
  return new PlatformError(
    'conflict',
    'This connection has no credential that works. Connect the account anew.',
    {
      reason: 'connection_not_live',
    },
  );
}
