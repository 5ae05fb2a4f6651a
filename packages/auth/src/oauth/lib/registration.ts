/**
 * Dynamic registration (RFC 7591) that stores nothing: the id carries what was registered, with a tag. A flood of
 * registrations therefore fills no table and pushes out no other one. A client is stored when a person lets it in.
 */
import type { Seals } from '../../lib/seals.ts';
import { type Client, parseClient } from './client.ts';
import { OAuthError } from './errors.ts';

const PREFIX = 'fh_client_';
/** A registration that no person used within this time has expired. */
const UNUSED_TTL_MS = 30 * 24 * 3_600_000;
const PURPOSE = ['oauth-client'];

export interface Registration {
  readonly client: Client;
  readonly registeredAtMs: number;
  /** Null for a public client. */
  readonly secret: string | null;
}

interface Carried {
  readonly at: number;
  /** Makes two registrations of the same metadata two clients. */
  readonly n: string;
  readonly name: string;
  readonly uris: readonly string[];
  readonly auth: Client['authMethod'];
}

/** @throws OAuthError `invalid_redirect_uri`, `invalid_client_metadata`. */
export function register(
  seals: Seals,
  metadata: Readonly<Record<string, unknown>>,
  { nowMs, nonce }: { readonly nowMs: number; readonly nonce: string },
): Registration {
  const { name, redirectUris, authMethod } = parseClient({ id: PREFIX, kind: 'registered' }, metadata);
  const carried: Carried = { at: nowMs, n: nonce, name, uris: redirectUris, auth: authMethod };
  const id = PREFIX + seals.seal(PURPOSE, JSON.stringify(carried));
  return {
    client: { id, kind: 'registered', name, redirectUris, authMethod },
    registeredAtMs: nowMs,
    secret: authMethod === 'none' ? null : seals.tag(['oauth-client-secret'], id),
  };
}

/** Returns the client of an id that was registered here and has not expired. @throws OAuthError `invalid_client`. */
export function openRegistration(seals: Seals, id: string, nowMs: number): Registration {
  const text = isRegisteredId(id) ? seals.open(PURPOSE, id.slice(PREFIX.length)) : null;
  if (text === null) throw unknownClient();
  const { at, name, uris, auth } = JSON.parse(text) as Carried;
  if (!(nowMs - at < UNUSED_TTL_MS)) throw unknownClient();
  return {
    client: { id, kind: 'registered', name, redirectUris: uris, authMethod: auth },
    registeredAtMs: at,
    secret: auth === 'none' ? null : seals.tag(['oauth-client-secret'], id),
  };
}

/** Whether an id has the form of those that are registered. */
export function isRegisteredId(id: string): boolean {
  return id.startsWith(PREFIX);
}

export function unknownClient(): OAuthError {
  return new OAuthError('invalid_client', 'This client is not known here. Register it again.');
}
