/** Wires everything about connections for the routes, the connectors and the sweep. */
import {
  type ConnectorInvoke,
  connectorInvokeResponse,
  ID_PREFIXES,
  type IdFactory,
} from '@freehold/contracts';
import { type Keyring, makeKeyring } from '@freehold/store';
import type { z } from 'zod';
import type { Effect } from '../lib/effects.ts';
import type { ConnectionSweep } from '../operations-log/recorder.ts';
import { askScope, type VerticalAccess } from '../verticals/client.ts';
import { type ConsentRounds, makeConsentRounds } from './consent.ts';
import { makeCredentialVault } from './credential.ts';
import { connectionsDisconnect, makeDisconnectEffect } from './disconnect.ts';
import { connectionGrantsPut, makeGrantEffect } from './grants.ts';
import { type ConnectionCalls, makeConnectionCalls } from './host-admin-connections.ts';
import { makeConnectionSweep } from './maintenance.ts';
import type { ProviderFetch } from './provider-exchange.ts';
import { type ConnectionProviders, makeProviderRegistry } from './providers.ts';
import { type ConnectionDeps, makeTokenKeeper, type TokenKeeper } from './token-keeper.ts';

/** The operator's options. */
export interface ConnectionsOptions {
  /** The systems that tenants can be connected to. */
  readonly providers: ConnectionProviders;
  /** Seals the credentials. Without a key nothing is connected (503). */
  readonly keyring: Keyring;
  /** Goes to providers, guarded. */
  readonly fetch: ProviderFetch;
  /** Where browsers reach the control plane, for consent URLs and the providers' redirects: `https://api.example.com`. */
  readonly baseUrl: () => string;
}

/** For the platform's own wiring alone: no operation leads to these. */
export interface Connections extends ConsentRounds {
  /** A credential that works now, for a connector to send to the provider. See {@link TokenKeeper.use}. */
  readonly use: TokenKeeper['use'];
  /**
   * Runs one operation in a scope as the connection (spec 4.4). Each call passes the gate anew, whatever the scope's own
   * grants say. It rejects with `not_found`; `conflict`, reason `connection_not_live`; `forbidden`, reason `not_granted`;
   * the vertical's own refusal.
   */
  readonly invoke: (call: ConnectorInvoke) => Promise<z.output<typeof connectorInvokeResponse>>;
  /** Sweeps all of them; one line for each that has a credential. */
  readonly sweep: () => AsyncGenerator<ConnectionSweep, void, undefined>;
}

type ConnectionsWorld = Omit<ConnectionDeps, 'registry' | 'vault' | 'access' | 'newRequestId'> &
  VerticalAccess & { readonly originOf: (hostname: string) => string; readonly newId: IdFactory };

/** @throws TypeError for a registry that cannot be used. */
export function makeConnections(
  { newId, ...world }: ConnectionsWorld,
  options: ConnectionsOptions = NONE,
): {
  readonly connections: Connections;
  readonly calls: ConnectionCalls;
  /** By operation. */
  readonly effects: Readonly<Record<string, Effect>>;
} {
  const deps = {
    ...world,
    registry: makeProviderRegistry(options.providers),
    vault: makeCredentialVault(options.keyring, world.random),
    access: { fetch: options.fetch, deadline: world.deadline },
    baseUrl: options.baseUrl,
    newRequestId: () => newId(ID_PREFIXES.request),
  };
  const keeper = makeTokenKeeper(deps);
  const calls = makeConnectionCalls(deps, keeper);
  return {
    calls,
    effects: {
      [connectionsDisconnect.name]: makeDisconnectEffect(deps, keeper),
      [connectionGrantsPut.name]: makeGrantEffect(deps),
    },
    connections: {
      ...makeConsentRounds(deps, keeper),
      use: keeper.use,
      invoke: async (call) => {
        const { tenantId: tenant, scopeId: scope, ...body } = call;
        const { connection } = body;
        const { vertical } = await world.directory.connectionGate({ tenant, scope, connection });
        return askScope(world, { tenant, id: scope, vertical } as Parameters<typeof askScope>[1], {
          path: 'connector-invoke',
          body,
          answer: connectorInvokeResponse,
          local: (host) => host.connectorInvokeLocal(call),
        });
      },
      sweep: makeConnectionSweep(deps, keeper, calls),
    },
  };
}

/** A platform without providers: nothing can be connected. */
const NONE: ConnectionsOptions = {
  providers: {},
  keyring: makeKeyring([]),
  fetch: () => Promise.reject(new TypeError('this platform has no providers')),
  baseUrl: () => 'https://unset.invalid',
};
