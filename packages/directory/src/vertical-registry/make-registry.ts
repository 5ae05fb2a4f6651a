/** Wires the registry: the work around the directory's own transactions, the routes, and the version that serves. */
import type { SnapshotRecord } from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import type { AdminCall, AdminResult } from '../access/actors.ts';
import type { ChangeInput, ChangeOutcome } from '../changes/changes.ts';
import type { LogHead } from '../declarations/records.ts';
import type { HostDestination, HostRoute } from '../hostnames/store.ts';
import type { CallOf, RoutesChange, WiringFacts } from '../lib/handlers.ts';
import { found, type Performers } from '../lib/performers.ts';
import type { VerticalGateway } from '../verticals/gateway.ts';
import { isKnownVertical } from '../verticals/reach.ts';
import type { BuiltIn } from './built-in.ts';
import { type DeployDeps, readModules } from './deploy.ts';
import { type EgressDeps, readEgress } from './egress.ts';
import type { RegistryMethods } from './feature.ts';
import { moveScope } from './move-scope.ts';
import { slugTaken } from './operations.ts';
import type { scopeVersionSet } from './scope-version.ts';

/** For the platform's own wiring alone: no operation leads to it. */
export interface RegistryIntake {
  /**
   * Registers a vertical that is compiled into this platform, admits it and makes it serve. Call it at every start: where
   * nothing is new, nothing is written. A number is never reused: a build that differs from the one under its number is
   * registered under the number, `+` and part of its digest.
   * @throws PlatformError `conflict`, reason `slug_taken`, when the slug belongs to a tenant.
   */
  registerBuiltIn(builtIn: BuiltIn): Promise<{ readonly version: string; readonly changed: boolean }>;
  /** The vertical of a tenant's scope; null for one that is not there, or is another tenant's. */
  verticalOfScope(ref: { readonly tenant: string; readonly scope: string }): Promise<string | null>;
  /** The name of a tenant's scope; null for one that is not there. */
  nameOfScope(ref: { readonly tenant: string; readonly scope: string }): Promise<string | null>;
  /** The version on prod; null for a vertical that has none there, or is not registered. */
  versionOnProd(vertical: string): Promise<string | null>;
}

interface RegistryDeps extends EgressDeps, Pick<DeployDeps, 'runtime'> {
  readonly directory: UnitStub<
    RegistryMethods & { previewRoute(hostname: string): HostDestination | null } & {
      change(input: ChangeInput): ChangeOutcome;
    }
  >;
  readonly gateway: VerticalGateway;
  /** The version of a vertical that the registry does not know. */
  readonly unregistered: (vertical: string) => string;
  readonly factsOf: (call: AdminCall) => WiringFacts;
  /** Follows every durable change. It does not reject. */
  readonly finalize: (outcome: ChangeOutcome) => Promise<AdminResult>;
  readonly publish: (head: LogHead) => Promise<void>;
  /** Takes a snapshot, as the operation of that name does. */
  readonly takeSnapshot: (call: AdminCall) => Promise<AdminResult>;
  /** Tells the router that the targets of host names have changed. */
  readonly rerouted: (change: RoutesChange) => void;
}

interface Registry {
  readonly intake: RegistryIntake;
  readonly performers: Performers;
  routes(): Promise<readonly HostRoute[]>;
  route(hostname: string): Promise<HostDestination | null>;
  /** The version on prod. */
  servingVersion(vertical: string): Promise<string>;
}

export function makeRegistry(deps: RegistryDeps): Registry {
  const { directory, gateway, unregistered, factsOf, finalize } = deps;

  /** A builder must not take a slug for which a worker or a host of this platform answers. */
  const create = async (call: AdminCall): Promise<AdminResult> => {
    const slug = String(call.body.slug);
    if (call.actor.kind === 'builder' && isKnownVertical(gateway, slug)) {
      if (!(await directory.registeredVertical(slug))) throw slugTaken();
    }
    return finalize(await directory.change({ call, facts: factsOf(call) }));
  };

  const bindScope = async (call: AdminCall): Promise<AdminResult> => {
    const { body } = call as unknown as CallOf<typeof scopeVersionSet>;
    // No data is copied for a binding that would be refused.
    const takes = body.snapshot && (await directory.plannedBinding({ call })).changes;
    const snapshot = takes ? await deps.takeSnapshot(snapshotCall(call)) : null;
    const taken = (snapshot?.value as SnapshotRecord | undefined)?.id ?? null;
    await moveToBinding(call);
    return finalize(await directory.bindScopeVersion({ call, facts: factsOf(call), snapshot: taken }));
  };

  /** First the scope is moved: one that cannot run the version is not bound to it. */
  const moveToBinding = async (call: AdminCall): Promise<void> => {
    if (!deps.runtime) return;
    const { changes, scope, script } = await directory.plannedBinding({ call });
    if (changes && script !== null) await moveScope(deps.runtime, { scope, script });
  };

  return {
    performers: {
      'verticals.create': create,
      'verticals.modules': async (call) => found(await readModules(deps, call)),
      'verticals.egress': async (call) => found(await readEgress(deps, call)),
      'scope-version.set': bindScope,
    },
    routes: async () =>
      (await directory.versionedRoutes()).map((route) => ({
        ...route,
        version: route.version ?? unregistered(route.vertical),
      })),
    route: async (hostname) => {
      const route = await directory.versionedRoute(hostname);
      if (route) return { ...route, version: route.version ?? unregistered(route.vertical) };
      return directory.previewRoute(hostname);
    },
    servingVersion: async (vertical) => (await directory.servingVersion(vertical)) ?? unregistered(vertical),
    intake: {
      verticalOfScope: (ref) => directory.verticalOfScope(ref),
      nameOfScope: (ref) => directory.nameOfScope(ref),
      versionOnProd: (vertical) => directory.servingVersion(vertical),
      registerBuiltIn: async (builtIn) => {
        const { head, version, changed } = await directory.registerBuiltIn(builtIn);
        if (head) await deps.publish(head);
        if (changed) deps.rerouted({ tenant: null, scope: null, vertical: builtIn.manifest.slug });
        return { version, changed };
      },
    },
  };
}

/** The snapshot before a binding is a call of its own, by the same caller; its key is derived from the binding's. */
function snapshotCall({ ifMatch: _, idempotencyKey, ...call }: AdminCall): AdminCall {
  return {
    ...call,
    operation: 'snapshots.take',
    query: {},
    body: { name: 'before another version' },
    ...(idempotencyKey === undefined ? {} : { idempotencyKey: `${idempotencyKey} (scope-version)` }),
  };
}
