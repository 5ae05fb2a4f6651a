/** Provisions the one instance of a development server, as a platform does it. */
import { IDENTITY_CHOICE_KEY } from '@freehold/auth';
import {
  type OwnerSeat,
  PLATFORM_SECRET_HEADER,
  type ProvisionRequest,
  type ScopeId,
  type ScopeRef,
  type TenantId,
} from '@freehold/contracts';
import type { App } from './app.ts';
import { manifest } from './manifest.ts';

export const INSTANCE: ScopeRef = {
  tenantId: 'tnt_00000000000000000000000001' as TenantId,
  scopeId: 'scp_00000000000000000000000001' as ScopeId,
};

/** A client of an OpenID Connect issuer, where people sign in. */
export interface Identity {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
}

/**
 * Makes the instance, or finds it, and delivers how people sign in. Returns its owner seat: for 15 minutes after the
 * first call, the first person who signs in becomes the owner.
 */
export async function provisionInstance(
  { app }: App,
  { identity, platformSecret }: { readonly identity: Identity; readonly platformSecret: string },
): Promise<OwnerSeat> {
  const { issuer, clientId, clientSecret = null } = identity;
  const config = {
    [IDENTITY_CHOICE_KEY]: JSON.stringify({ mode: 'oidc', issuer, clientId }),
    OIDC_CLIENT_SECRET: clientSecret,
  };
  const request: ProvisionRequest = { ...INSTANCE, name: manifest.name, config };
  const headers = { [PLATFORM_SECRET_HEADER]: platformSecret, 'content-type': 'application/json' };
  const call = async (path: string, init: RequestInit): Promise<Response> => {
    const response = await app.fetch(new Request(`http://internal.invalid${path}`, init), { node: null });
    if (response.ok) return response;
    throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  };
  await call('/internal/provision', { method: 'POST', headers, body: JSON.stringify(request) });
  const seat = await call(`/internal/owner-seat?${new URLSearchParams({ ...INSTANCE })}`, { headers });
  return (await seat.json()) as OwnerSeat;
}
