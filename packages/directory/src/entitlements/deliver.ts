/**
 * Tells scopes what their tenant is entitled to: right after a change, and again where that failed. A scope ends an
 * entitlement by itself when it expires, so that nothing goes on working because the platform was away; what waits for
 * a delivery is what was newly given, or taken away before its time.
 */
import {
  PlatformError,
  reconcileResponse,
  type ScopeEntitlements,
  type VerticalScopeHost,
} from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import type { AdminCall } from '../actors.ts';
import type { ScopeRecord } from '../declarations/records.ts';
import type { EffectDeps } from '../lib/effects.ts';
import type { LongEffect } from '../long-work/handlers.ts';
import type { DirectoryMethods } from '../unit.ts';
import { askScope } from '../verticals/ask-scope.ts';
import { type EntitlementDelivery, RENEWED } from './outbox.ts';

/** How long a scope may take. Many may be waiting behind it. */
const TIMEOUT_MS = 10_000;
/** How many scopes are settled at a time, and how many a change waits for: the rest is settled behind it. */
const AT_ONCE = 20;
const CHANGED: ReadonlySet<string> = new Set(['entitlements.put', 'entitlements.delete']);

/** What one round of deliveries came to. */
export interface EntitlementTotals {
  readonly delivered: number;
  readonly failed: number;
}

export interface Entitlements {
  /** Tells every scope that is due. The platform's own work calls it about every minute. It does not reject for a scope. */
  deliver(): Promise<EntitlementTotals>;
}

/** Long work on one scope. */
interface ScopeWork {
  readonly scope: ScopeRecord;
}

export interface DeliverDeps extends Pick<EffectDeps, 'gateway' | 'deadline'> {
  readonly directory: UnitStub<DirectoryMethods>;
  /** Receives errors that nobody expected, with what was being done. */
  readonly incident: (method: string) => (error: unknown) => void;
}

export function makeEntitlements({ directory, incident, ...deps }: DeliverDeps): {
  readonly entitlements: Entitlements;
  /** Waits for a call, and then tells the scopes that it concerns. Its answer is the call's, whatever became of them. */
  readonly follow: <T>(call: AdminCall, performing: Promise<T>) => Promise<T>;
  /** The same for long work that replaces a scope. */
  readonly reprojectAfter: <W extends ScopeWork, F>(effect: LongEffect<W, F>) => LongEffect<W, F>;
} {
  const deliverOne = async (delivery: EntitlementDelivery): Promise<boolean> => {
    const { scope, projection } = delivery;
    try {
      await askScope(deps, scope, {
        path: 'reconcile',
        body: { entitlements: projection },
        // One that does not say so has not understood: it would go on as before.
        answer: reconcileResponse
          .required({ entitlements: true })
          .refine(({ scopeId }) => scopeId === scope.id),
        timeoutMs: TIMEOUT_MS,
        local: async (host, ref) => {
          await requireEntitlements(host, scope.vertical).projectEntitlementsLocal(ref, projection);
          return { ...ref, entitlements: Object.keys(projection.items) };
        },
      });
    } catch (error) {
      if (!(error instanceof PlatformError)) incident('entitlements')(error);
      const reason = error instanceof PlatformError ? (error.reason ?? error.code) : 'internal';
      await directory.entitlementsFailed({ scope, reason });
      return false;
    }
    await directory.entitlementsDelivered(delivery);
    return true;
  };

  /** One round. Null when nothing was due. */
  const round = async (tenant?: string): Promise<EntitlementTotals | null> => {
    const due = await directory.claimEntitlements({
      limit: AT_ONCE,
      ...(tenant === undefined ? {} : { tenant }),
    });
    if (due.length === 0) return null;
    const settled = await Promise.all(due.map(deliverOne));
    const delivered = settled.filter(Boolean).length;
    return { delivered, failed: settled.length - delivered };
  };

  const deliver = async (tenant?: string): Promise<EntitlementTotals> => {
    let totals: EntitlementTotals = { delivered: 0, failed: 0 };
    for (let done = await round(tenant); done; done = await round(tenant))
      totals = { delivered: totals.delivered + done.delivered, failed: totals.failed + done.failed };
    return totals;
  };

  const deliverTenant = async (tenant: string): Promise<void> => {
    const first = await round(tenant);
    if (first && first.delivered + first.failed === AT_ONCE) deliver(tenant).catch(incident('entitlements'));
    // What was changed again while it was settled is settled again.
    else if (first) await round(tenant);
  };

  return {
    entitlements: { deliver: () => deliver() },
    reprojectAfter: (effect) => ({
      ...effect,
      run: async (deps, work, run) => {
        const facts = await effect.run(deps, work, run);
        const { tenant, id: scope } = work.scope;
        // What cannot be written down here was written down when the work began.
        await directory
          .oweEntitlements({ tenant, scope })
          .then(() => deliverTenant(tenant))
          .catch(incident('entitlements'));
        return facts;
      },
    }),
    follow: async (call, performing) => {
      const result = await performing;
      const concerns = CHANGED.has(call.operation) || RENEWED.has(call.operation);
      if (concerns) await deliverTenant(String(call.params.tenant)).catch(incident('entitlements'));
      return result;
    },
  };
}

function requireEntitlements(
  host: VerticalScopeHost & Partial<ScopeEntitlements>,
  vertical: string,
): ScopeEntitlements {
  if (host.projectEntitlementsLocal) return host as VerticalScopeHost & ScopeEntitlements;
  throw new PlatformError('unsupported', `The scopes of the vertical ${vertical} take no entitlements.`, {
    reason: 'no_entitlements',
  });
}
