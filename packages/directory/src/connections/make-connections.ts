/** Everything about connections, wired: what the routes, the connectors and the sweep are given. */
import { ID_PREFIXES, type IdFactory } from '@freehold/contracts';
import { type Keyring, makeKeyring, type UnitStub } from '@freehold/store';
import type { LogHead } from '../declarations/records.ts';
import type { VerticalGateway } from '../gateway.ts';
import type { Effect } from '../lib/effects.ts';
import type { DirectoryMethods } from '../unit.ts';
import type { Deadline } from '../verticals/client.ts';
import { makeConnectorInvoke } from './connector-calls.ts';
import { type ConsentRounds, makeConsentRounds } from './consent.ts';
import { makeCredentialVault } from './credential.ts';
import { type ConnectionCalls, makeConnectionCalls } from './host-admin-connections.ts';
import { makeConnectionEffects } from './host-admin-effects.ts';
import type { ProviderFetch } from './provider-exchange.ts';
import { type ConnectionProviders, makeProviderRegistry } from './providers.ts';
import { type ConnectionSweep, makeConnectionSweep } from './sweep.ts';
import { makeTokenKeeper, type TokenKeeper } from './token-keeper.ts';

/** What the operator's wiring says about connections. */
export interface ConnectionsOptions {
  /** Which other systems there are. */
  readonly providers: ConnectionProviders;
  /** Seals the credentials. Without a key nothing is connected (503). */
  readonly keyring: Keyring;
  /** Goes to providers, guarded. */
  readonly fetch: ProviderFetch;
  /** Where browsers reach the control plane, for consent URLs and the providers' redirects: `https://api.example.com`. */
  readonly baseUrl: () => string;
}

/** What only the platform's own wiring may use: no operation leads to these. */
export interface Connections extends ConsentRounds {
  /** A credential that works now, for a connector to send to the provider. See {@link TokenKeeper.use}. */
  readonly use: TokenKeeper['use'];
  /** Runs one operation in a scope as the connection, through the live-connection gate (spec 4.4). */
  readonly invoke: ReturnType<typeof makeConnectorInvoke>;
  /** Goes through all of them; one line for each that has a credential. */
  readonly sweep: () => AsyncGenerator<ConnectionSweep, void, undefined>;
}

/** What the host administration brings. */
export interface ConnectionsWorld {
  readonly directory: UnitStub<DirectoryMethods>;
  readonly gateway: VerticalGateway;
  readonly deadline: Deadline;
  readonly originOf: (hostname: string) => string;
  readonly now: () => number;
  readonly random: (bytes: number) => Uint8Array;
  readonly newId: IdFactory;
  readonly publish: (head: LogHead) => Promise<void>;
  readonly incident: (method: string) => (error: unknown) => void;
}

/** @throws TypeError for a registry that cannot be used. */
export function makeConnections(
  { newId, ...world }: ConnectionsWorld,
  options: ConnectionsOptions = NONE,
): {
  readonly connections: Connections;
  readonly calls: ConnectionCalls;
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
    effects: makeConnectionEffects(deps, keeper),
    connections: {
      ...makeConsentRounds(deps, keeper),
      use: keeper.use,
      invoke: makeConnectorInvoke(deps, world),
      sweep: makeConnectionSweep(deps, keeper, calls),
    },
  };
}

/** A platform without providers: everything about connections is there, and nothing can be connected. */
const NONE: ConnectionsOptions = {
  providers: {},
  keyring: makeKeyring([]),
  fetch: () => Promise.reject(new TypeError('this platform has no providers')),
  baseUrl: () => 'https://unset.invalid',
};
