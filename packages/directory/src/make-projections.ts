/** The projectors of the host administration, and what they follow. */
import type { AdminCall } from './actors.ts';
import type { ScopeRecord } from './declarations/records.ts';
import type { LongEffect } from './long-work/handlers.ts';
import type { SweepUnit } from './operations-log/recorder.ts';
import { projections } from './projections.ts';
import { Projector, type ProjectorWorld, sweepUnits } from './projector/projector.ts';

/** Sends scopes the platform's roles. */
export interface RoleProjection {
  /**
   * Delivers to every scope that is due; a row for each, for `recordSweep`. To be called about every minute.
   * @param options.all true delivers to every scope, due or not: once a day, in case a scope lost what it was sent.
   */
  sweep(options?: { readonly all?: boolean }): AsyncGenerator<SweepUnit, void, undefined>;
}

export interface EntitlementTotals {
  readonly delivered: number;
  readonly failed: number;
}

/** Sends scopes what their tenants are entitled to. */
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
    /** Waits for a call, and then delivers what it changed. The result is that of the call, whatever became of that. */
    follow: async <T>(call: AdminCall, performing: Promise<T>): Promise<T> => {
      const result = await performing;
      for (const projector of projectors) await projector.follow(call, result);
      return result;
    },
    /** Delivers to a scope again after long work replaced it. */
    reprojectAfter: <W extends ScopeWork, F>(effect: LongEffect<W, F>): LongEffect<W, F> => ({
      ...effect,
      run: async (deps, work, run) => {
        const facts = await effect.run(deps, work, run);
        const scope = work.scope.id;
        // A scope that cannot be enqueued here was enqueued for later when the work began.
        await world.directory.enqueueReplacedScope({ scope }).catch(world.incident('projections'));
        for (const projector of projectors) await projector.deliverFirst({ scope });
        return facts;
      },
    }),
  };
}
