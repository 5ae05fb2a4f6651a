/**
 * The projections of the directory, the roles and the entitlements that every scope concerned has a copy of, and how they
 * are delivered.
 */
import type { AdminCall, AdminResult } from './access/actors.ts';
import type { ScopeRecord } from './declarations/records.ts';
import { entitlementProjection } from './entitlements/projection.ts';
import { defineFeature } from './lib/feature.ts';
import type { LongEffect } from './long-work/effects.ts';
import type { SweepUnit } from './operations-log/recorder.ts';
import { outboxMethods, REPLACING } from './projector/outbox.ts';
import { Projector, type ProjectorWorld, sweepUnits } from './projector/projector.ts';
import { roleProjection } from './roles/projection.ts';

export const projections = { roles: roleProjection, entitlements: entitlementProjection } as const;

export const projectionsFeature = defineFeature({
  methods: (context) => outboxMethods(context, projections),
});

/** The operations after which scopes must hear of something. */
export const PROJECTED: ReadonlySet<string> = new Set([
  ...REPLACING,
  ...Object.values(projections).flatMap(({ changedBy }) => changedBy),
]);

/** Sends scopes the platform's roles. */
export interface RoleProjection {
  /**
   * Delivers to every scope that is due; a row for each, for `recordSweep`. To be called about every minute.
   * @param options.all true delivers to every scope, due or not: once a day, in case a scope lost its copy.
   */
  sweep(options?: { readonly all?: boolean }): AsyncGenerator<SweepUnit, void, undefined>;
}

export interface EntitlementTotals {
  readonly delivered: number;
  readonly failed: number;
}

/** Sends scopes the entitlements of their tenants. */
export interface Entitlements {
  /** Delivers to every scope that is due. To be called about every minute. It does not reject for a scope. */
  deliver(): Promise<EntitlementTotals>;
}

/** Long work on one scope. */
interface ScopeWork {
  readonly scope: ScopeRecord;
}

export function makeProjections(world: ProjectorWorld) {
  const roles = new Projector(projections.roles, world);
  const entitlements = new Projector(projections.entitlements, world);
  const projectors = [entitlements, roles];
  return {
    roles: {
      sweep: ({ all = false } = {}) => sweepUnits(all ? roles.deliverAnew() : roles.deliver()),
    } satisfies RoleProjection,
    entitlements: {
      deliver: async () => {
        const totals = { delivered: 0, failed: 0 };
        for await (const { outcome } of entitlements.deliver())
          totals[outcome === 'failed' ? 'failed' : 'delivered'] += 1;
        return totals;
      },
    } satisfies Entitlements,
    /** Delivers the changes of a call of a {@link PROJECTED} operation. It does not reject. */
    afterCommit: async (call: AdminCall, result: AdminResult): Promise<void> => {
      for (const projector of projectors) await projector.deliverAfter(call, result);
    },
    /** Delivers to a scope again after long work replaced it. */
    reprojectAfter: <W extends ScopeWork, F, D>(effect: LongEffect<W, F, D>): LongEffect<W, F, D> => ({
      ...effect,
      run: async (deps, work, run) => {
        const facts = await effect.run(deps, work, run);
        const scope = work.scope.id;
        // The scope is enqueued since the work began; this makes it due at once.
        await world.directory.enqueueReplacedScope({ scope }).catch(world.incident('projections'));
        for (const projector of projectors) await projector.deliverFirst({ scope });
        return facts;
      },
    }),
  };
}
