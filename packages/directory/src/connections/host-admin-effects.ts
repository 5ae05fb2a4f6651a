/** What disconnecting does at the provider, and what a grant does in the vertical. */
import { type ConnectorGrant, connectorGrantResponse, type ScopeRef } from '@freehold/contracts';
import type { z } from 'zod';
import type { AdminCall } from '../actors.ts';
import type { VerticalGateway } from '../gateway.ts';
import type { Effect } from '../lib/effects.ts';
import type { CallOf } from '../lib/handlers.ts';
import { askVertical } from '../verticals/client.ts';
import { isKnownVertical, noVertical } from '../verticals/reach.ts';
import type {
  Admission,
  connectionGrantsPut,
  connectionsDisconnect,
  Disconnecting,
  Revocation,
} from './delegated-operations.ts';
import type { ConnectionDeps } from './deps.ts';
import type { OAuthProvider } from './providers.ts';
import type { TokenKeeper } from './token-keeper.ts';

/** Effects by the name of their operation. */
export function makeConnectionEffects(
  deps: ConnectionDeps & { readonly gateway: VerticalGateway },
  keeper: TokenKeeper,
): Readonly<Record<string, Effect>> {
  const { directory, registry, vault, gateway, incident } = deps;

  const revokingProvider = (key: string): OAuthProvider | null => {
    const provider = registry.find(key);
    return provider?.kind === 'oauth2' && provider.revocationEndpoint !== undefined ? provider : null;
  };

  /** The provider's part is done as well as it can be: a person who disconnects must never be held up by it. */
  const revokeAt = async ({
    tenant,
    connection,
    provider: key,
    sealed,
  }: Disconnecting): Promise<Revocation> => {
    const provider = revokingProvider(key);
    if (!provider) return 'revocation_unsupported';
    if (sealed === null) return 'revocation_failed';
    try {
      const credential = vault.open({ tenant, connection }, sealed);
      return (await keeper.revoke(provider, credential)) ? 'revoked' : 'revocation_failed';
    } catch (error) {
      incident('revoke')(error);
      return 'revocation_failed';
    }
  };

  const disconnect: Effect<Disconnecting> = {
    check: async () => undefined,
    plan: async (_deps, _call, known) => {
      const { connection, credential } = known as z.output<typeof connectionsDisconnect.plan>;
      const revocable = credential && revokingProvider(connection.provider) !== null;
      return { value: { ...(known as object), revocable } };
    },
    run: async (_deps, _call, prepared) => ({ facts: { revocation: await revokeAt(prepared) } }),
  };

  const grant: Effect<Admission> = {
    check: async (_deps, call) => {
      const { vertical } = (await directory.connectionAdmission({ call })).connection;
      if (!isKnownVertical(gateway, vertical)) throw noVertical(vertical);
    },
    run: async ({ deadline }, call, { connection, scope }) => {
      const ref = scope as ScopeRef;
      const body = grantOf(call);
      const bound = gateway.bound(connection.vertical);
      if (bound)
        await askVertical(
          bound,
          { path: 'connector-grant', scope: ref, body, answer: connectorGrantResponse },
          deadline,
        );
      else {
        const local = gateway.local(connection.vertical);
        if (!local) throw noVertical(connection.vertical);
        await local.connectorGrantLocal({ ...ref, ...body });
      }
      return { facts: { granted: true } };
    },
  };

  return { 'connections.disconnect': disconnect, 'connection-grants.put': grant };
}

function grantOf(call: AdminCall): Omit<ConnectorGrant, keyof ScopeRef> {
  const { params, body } = call as unknown as CallOf<typeof connectionGrantsPut>;
  const { permission, entity } = body;
  return { connection: params.connection, permission, ...(entity === undefined ? {} : { entity }) };
}
