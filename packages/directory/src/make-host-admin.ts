/**
 * Builds the host administration over an engine and the verticals: access, then the directory's own transaction,
 * then whatever happens elsewhere, then the evidence (spec 1.C and 4.3; design: control-plane).
 */
import { ID_PREFIXES, makeIdFactory, PlatformError, type ScopeExport } from '@freehold/contracts';
import type { Engine, IncidentSink } from '@freehold/store';
import { admitCall } from './access.ts';
import type { AdminCall, AdminResult } from './actors.ts';
import { type LogAnchor, makeAnchoring } from './audit/host-admin-anchor.ts';
import { verifyAdminLog } from './audit/host-admin-verify.ts';
import {
  type Connections,
  type ConnectionsOptions,
  makeConnections,
} from './connections/make-connections.ts';
import { findAdminOperation } from './declarations/index.ts';
import { TOKEN_DAYS_MAX } from './declarations/push-tokens.ts';
import type { VerticalGateway } from './gateway.ts';
import type { HostAdmin } from './host-admin.ts';
import { type IncidentIntake, makeIncidentIntake } from './issues/incident-intake.ts';
import type { ChangeOutcome } from './lib/changes.ts';
import type { Effect, EffectDeps } from './lib/effects.ts';
import type { WiringFacts } from './lib/handlers.ts';
import { makeEffectRunner } from './lib/host-admin-effects.ts';
import { makeOperationsLog, type OperationsLog } from './operations-log/recorder.ts';
import { ownerClaimEffect, readOwnerSeat } from './owner-seat/host-admin-owner-seat.ts';
import { exportScope } from './scope-data/host-admin-export.ts';
import { isScopeRead, readScopeData } from './scope-data/host-admin-scope-data.ts';
import {
  deleteSnapshotEffect,
  restoreEffect,
  rewindEffect,
  snapshotEffect,
} from './scopes/host-admin-copies.ts';
import { configureEffect, provisionEffect } from './scopes/host-admin-scopes.ts';
import { makeAuthenticate } from './tokens/host-admin-authenticate.ts';
import type { ServiceToken } from './tokens/service-tokens.ts';
import { type AccessInput, DIRECTORY_KEY, directoryUnit } from './unit.ts';
import { makeUsage, type UsageIntake } from './usage/make-usage.ts';
import type { Deadline } from './verticals/client.ts';
import { isKnownVertical } from './verticals/reach.ts';

export interface HostAdminOptions {
  /**
   * Over an embedded engine make one host administration: before its first effect it takes whatever the directory
   * shows as running for the leftovers of a process that died.
   */
  readonly engine: Engine;
  readonly gateway: VerticalGateway;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** That many bytes from a cryptographic source. */
  readonly random: (bytes: number) => Uint8Array;
  /** Receives errors that nobody expected. It must not throw. */
  readonly onIncident: IncidentSink;
  /** Where a host name is reached. Default: `https://` and the name. */
  readonly originOf?: (hostname: string) => string;
  /** The version of a vertical that serves, for the router's map. Default: `unversioned`. */
  readonly versionOf?: (vertical: string) => string;
  /** Names below these are active as soon as they are bound. Default: none but `localhost`. */
  readonly baseDomains?: readonly string[];
  /**
   * Names that nobody may bind, because the platform itself is reached there, nor any name below one, unless it is
   * `localhost` or a base domain. Default: none.
   */
  readonly reservedHostnames?: readonly string[];
  /** Where the head of the admin log is kept outside. Default: nowhere, and verification answers `unanchored`. */
  readonly anchor?: LogAnchor;
  /** Bounds how long a vertical or a provider may take. Default: `AbortSignal.timeout`. */
  readonly deadline?: Deadline;
  /** What model calls cost on top of the list price, in basis points: 2000 is a fifth. Default: 0. */
  readonly modelMarginBasisPoints?: number;
  /** The providers that tenants can be connected to. Default: none. */
  readonly connections?: ConnectionsOptions;
}

/** What the operator's own wiring asks for when it makes a service token. */
export interface ServiceTokenRequest {
  readonly name: string;
  /** Default and most: 365. */
  readonly expiresInDays?: number;
}

/** The host administration with what only the platform's own wiring may use: no route leads to these. */
export interface DirectoryHostAdmin extends HostAdmin, IncidentIntake, OperationsLog, UsageIntake {
  /**
   * Writes the access-log row of a read whose bytes a vertical supplied (spec 4.3.1). Both branches of the read
   * ladder write it through this, so that the row is the same on either.
   */
  recordDelegatedRead(read: AccessInput): Promise<void>;
  /**
   * Opens a copy of a scope, after the access-log row that says so was written: every export goes through here, and a
   * vertical supplies only the bytes (spec 4.3.2). `call` is one of `scopes.export`.
   */
  exportScope(call: AdminCall): Promise<ScopeExport>;
  /** Makes a service token. One of the same name goes on working: a rotation with an overlap. */
  mintServiceToken(request: ServiceTokenRequest): Promise<ServiceToken & { readonly secret: string }>;
  /** Makes a service token unless one of this name works; `secret` is null when there was one. */
  ensureServiceToken(request: ServiceTokenRequest): Promise<ServiceToken>;
  /** Revokes a service token. It stops working at once. */
  revokeServiceToken(id: string): Promise<void>;
  /** Consent rounds, credentials for connectors, and the sweep. */
  readonly connections: Connections;
}

/** Operations whose effect lies in a vertical. */
const EFFECTS: Readonly<Record<string, Effect>> = {
  'scopes.provision': provisionEffect as Effect,
  'scopes.configure': configureEffect as Effect,
  'scopes.restore': restoreEffect as Effect,
  'scopes.rewind': rewindEffect as Effect,
  'snapshots.take': snapshotEffect as Effect,
  'snapshots.delete': deleteSnapshotEffect as Effect,
  'owner-claim.mint': ownerClaimEffect as Effect,
};

export function makeHostAdmin(options: HostAdminOptions): DirectoryHostAdmin {
  const { engine, gateway, onIncident, anchor } = options;
  const directory = engine.unit(directoryUnit, DIRECTORY_KEY, { create: true });
  const newId = makeIdFactory(options);
  const listeners: (() => void)[] = [];
  const incident = (method: string) => (error: unknown) =>
    onIncident(error, { kind: directoryUnit.kind, key: DIRECTORY_KEY, method });

  const publish = makeAnchoring({
    anchor,
    hashAt: (sequence) => directory.logHashAt(sequence),
    onIncident: incident('anchor'),
  });

  const deps: EffectDeps = {
    gateway,
    deadline: options.deadline ?? ((timeoutMs) => AbortSignal.timeout(timeoutMs)),
    originOf: options.originOf ?? ((hostname) => `https://${hostname}`),
    target: ({ actor, params }) =>
      directory.scopeTarget({ actor, tenant: String(params.tenant), scope: String(params.scope) }),
  };

  const {
    connections,
    calls,
    effects: connectionEffects,
  } = makeConnections(
    { ...deps, directory, now: options.now, random: options.random, newId, publish, incident },
    options.connections,
  );
  const effects: Readonly<Record<string, Effect>> = { ...EFFECTS, ...connectionEffects };

  const issues = makeIncidentIntake({ directory, now: options.now });
  const versionOf = options.versionOf ?? (() => 'unversioned');
  const marginBasisPoints = options.modelMarginBasisPoints ?? 0;
  const usage = makeUsage({ ...deps, directory, versionOf, now: options.now, marginBasisPoints });

  const factsOf = ({ body }: AdminCall): WiringFacts => ({
    baseDomains: options.baseDomains ?? [],
    reservedHostnames: options.reservedHostnames ?? [],
    verticalKnown: typeof body.vertical === 'string' && isKnownVertical(gateway, body.vertical),
  });

  /** The change is durable. What follows is evidence and news, and cannot undo it. */
  const conclude = async ({ result, rerouted }: ChangeOutcome): Promise<AdminResult> => {
    if (rerouted) for (const listener of listeners) attempt(listener, incident('onRoutesChanged'));
    if (result.head) await publish(result.head);
    return result;
  };

  const performEffect = makeEffectRunner({
    directory,
    effectDeps: deps,
    // The embedded engine locks its data directory; on workerd any number of isolates share one directory.
    isOnlyProcess: engine.capabilities.name === 'node',
    factsOf,
    conclude,
    publish,
    incident,
  });

  const performScopeRead = async (call: AdminCall, logged: boolean): Promise<AdminResult> => {
    const { value, target, items } = await readScopeData(deps, call);
    // Nobody is shown what could not be logged.
    if (logged) await recordDelegatedRead({ call, target, items });
    return found(value);
  };

  const recordDelegatedRead = async (read: AccessInput): Promise<void> => {
    await directory.recordAccess(read);
  };

  const performExport = async (call: AdminCall): Promise<AdminResult> => {
    const { body, ...head } = await exportScope(deps, call, recordDelegatedRead);
    return { ...found(head), body };
  };

  const order = async (
    { name, expiresInDays = TOKEN_DAYS_MAX }: ServiceTokenRequest,
    another: boolean,
  ): Promise<ServiceToken> => {
    if (!Number.isInteger(expiresInDays) || expiresInDays < 1 || expiresInDays > TOKEN_DAYS_MAX)
      throw new RangeError(`a service token works for 1 to ${TOKEN_DAYS_MAX} days`);
    const requestId = newId(ID_PREFIXES.request);
    const token = await directory.orderServiceToken({ name, days: expiresInDays, requestId, another });
    if (token.head) await publish(token.head);
    return token;
  };

  return {
    ...issues.intake,
    ...makeOperationsLog({ directory, newId }),
    ...usage.intake,

    authenticate: makeAuthenticate({ directory, now: options.now, onIncident: incident('touchToken') }),

    perform: async (received) => {
      const operation = findAdminOperation(received.operation);
      if (!operation)
        throw new PlatformError('not_found', 'There is no such operation.', { reason: 'unknown_operation' });
      const call = admitCall(operation, received);
      const { name, audit } = operation;
      const effect = Object.hasOwn(effects, name) ? effects[name] : undefined;
      if (effect) return performEffect(effect, call);
      if (calls.performs(name)) return conclude(await calls.perform(call, factsOf(call)));
      if (name === 'scopes.export') return performExport(call);
      if (isScopeRead(name)) return performScopeRead(call, audit === 'access');
      if (usage.performs(name)) return found(await usage.read(call));
      // Staff see what there is, and a verdict is about what was seen before it.
      if (name.startsWith('issues.')) await issues.flush();
      if (name === 'owner-seat.get') return found(await readOwnerSeat(deps, call));
      if (name === 'admin-log.verify')
        return found(
          await verifyAdminLog({
            anchor,
            head: () => directory.logHead(),
            slice: (range) => directory.logSlice(range),
          }),
        );
      if (audit === 'audit') return conclude(await directory.change({ call, facts: factsOf(call) }));
      return audit === 'access' ? directory.readLogged({ call }) : directory.read({ call });
    },

    routes: async () => {
      return (await directory.routes()).map((route) => ({ ...route, version: versionOf(route.vertical) }));
    },

    onRoutesChanged: (listener) => void listeners.push(listener),

    recordDelegatedRead,

    exportScope: (call) => exportScope(deps, call, recordDelegatedRead),

    mintServiceToken: async (request) => {
      const token = await order(request, true);
      if (token.secret === null) throw new TypeError('a new service token came without its secret');
      return { ...token, secret: token.secret };
    },

    ensureServiceToken: (request) => order(request, false),

    connections,

    revokeServiceToken: async (id) => {
      const { head } = await directory.revokeServiceToken({ id, requestId: newId(ID_PREFIXES.request) });
      if (head) await publish(head);
    },
  };
}

function found(value: unknown): AdminResult {
  return { status: 200, value, replayed: false };
}

function attempt(task: () => void, onError: (error: unknown) => void): void {
  try {
    task();
  } catch (error) {
    onError(error);
  }
}
