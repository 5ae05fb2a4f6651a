/** Builds the world of the host administration: the directory, the facts of the wiring, and the work after each change. */
import { ID_PREFIXES, makeIdFactory, type ScopeExport } from '@freehold/contracts';
import type { AdminCall, AdminResult } from './access/actors.ts';
import { type AdminOperationName, adminOperations } from './admin-operations.ts';
import { makeAnchoring } from './audit/anchor.ts';
import { watchStore } from './backups/backup-store.ts';
import type { ChangeOutcome } from './changes/changes.ts';
import type { AdminOperation } from './declarations/admin-operation.ts';
import type { LogHead } from './declarations/records.ts';
import type { HostAdminOptions } from './host-admin-options.ts';
import type { EffectDeps } from './lib/effects.ts';
import { DIRECTORY_KEY } from './lib/feature.ts';
import type { RoutesChange, WiringFacts } from './lib/handlers.ts';
import { sleepFor } from './long-work/follow.ts';
import { directoryUnit } from './unit.ts';
import { isKnownVertical } from './verticals/reach.ts';

/** Each part of the host administration takes from it the members that it names. */
export type World = ReturnType<typeof makeWorld>;

export function makeWorld(options: HostAdminOptions) {
  const { engine, gateway, anchor, now, random, sleep = sleepFor } = options;
  const directory = engine.unit(directoryUnit, DIRECTORY_KEY, { create: true });
  const watched = options.backups ? watchStore(options.backups) : null;
  const newId = makeIdFactory(options);
  const unregistered = options.versionOf ?? (() => 'unversioned');
  const incident = (method: string) => (error: unknown) =>
    options.onIncident(error, { kind: directoryUnit.kind, key: DIRECTORY_KEY, method });

  const listeners: ((change: RoutesChange) => void)[] = [];
  const reroute = (change: RoutesChange): void => {
    for (const listener of listeners)
      try {
        listener(change);
      } catch (error) {
        incident('onRoutesChanged')(error);
      }
  };
  const publish: (head: LogHead) => Promise<void> = anchor
    ? makeAnchoring({
        anchor,
        hashAt: (sequence) => directory.logHashAt(sequence),
        onIncident: incident('anchor'),
        now,
      })
    : async () => undefined;

  const deps: EffectDeps = {
    gateway,
    deadline: options.deadline ?? ((timeoutMs) => AbortSignal.timeout(timeoutMs)),
    originOf: options.originOf ?? ((hostname) => `https://${hostname}`),
    target: ({ operation, actor, params, query, body }) => {
      const { audit }: AdminOperation = adminOperations[operation as AdminOperationName];
      const call = { operation, actor, params, query, body };
      return directory.scopeTarget({ call, looksInside: audit === 'access' });
    },
  };
  return {
    ...deps,
    effectDeps: deps,
    directory,
    backups: watched?.store ?? null,
    storeFaults: () => watched?.faults() ?? 0,
    // The embedded engine locks its data directory; on workerd any number of isolates share one directory.
    isOnlyProcess: engine.capabilities.name === 'node',
    unregistered,
    ...{ now, random, sleep, newId, newRequestId: () => newId(ID_PREFIXES.request) },
    ...{ publish, incident, reroute },
    onRoutesChanged: (listener: (change: RoutesChange) => void) => void listeners.push(listener),

    factsOf: ({ body }: AdminCall): WiringFacts => ({
      baseDomains: options.baseDomains ?? [],
      reservedHostnames: options.reservedHostnames ?? [],
      verticalKnown: typeof body.vertical === 'string' && isKnownVertical(gateway, body.vertical),
      newScopeSettings:
        typeof body.vertical === 'string' ? (options.newScopeSettings?.(body.vertical) ?? {}) : {},
      unregisteredVersion: unregistered(String(body.vertical)),
    }),

    /** Follows every durable change, and cannot undo it: the router's listeners, then the anchor. */
    finalize: async ({ result, rerouted }: ChangeOutcome): Promise<AdminResult> => {
      if (rerouted) reroute(rerouted);
      if (result.head) await publish(result.head);
      return result;
    },

    /** Copies the directory itself; null where the engine cannot. */
    copyDirectory: engine.tools
      ? async () => engine.tools?.(directoryUnit, DIRECTORY_KEY).export('ndjson') as Promise<ScopeExport>
      : null,
  };
}
