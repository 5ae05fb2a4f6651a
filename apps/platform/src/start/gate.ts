/** Puts the gate of the applications together: plans of tenants, sizes of their scopes, and reports to the operator. */
import type { ControlPlaneClient } from '@freehold/control-plane/client';
import type { DeployedVerticals } from '../applications/deployed.ts';
import type { CoLocatedVertical } from '../applications/verticals.ts';
import { OperatorNotice } from '../feeds/feeds.ts';
import { type LimitHit, RequestGate } from '../network/activity.ts';
import { PlanLimits, type Stored } from '../network/plan-limits.ts';
import type { LimitSettings } from '../settings/limits.ts';
import type { Core } from './core.ts';

/** The entitlement whose plan decides the limits of a tenant. */
const PLATFORM_ENTITLEMENT = 'platform';

export interface GateParts {
  readonly settings: LimitSettings;
  readonly core: Pick<Core, 'world' | 'feeds' | 'storage'>;
  readonly verticals: ReadonlyMap<string, Pick<CoLocatedVertical, 'units'>>;
  readonly deployed: { readonly runtime: Pick<DeployedVerticals['runtime'], 'databaseBytes'> };
  /** Its calls are not counted. */
  readonly client: Pick<ControlPlaneClient, 'entitlements'>;
}

export function openGate({ settings, core, verticals, deployed, client }: GateParts): RequestGate {
  const { world, feeds, storage } = core;
  const limits = new PlanLimits({
    settings,
    planOf: async (tenant) => {
      for await (const { key, state, plan } of client.entitlements.list.iterate({ params: { tenant } }))
        if (key === PLATFORM_ENTITLEMENT && state === 'active') return plan;
      return null;
    },
    storedOf: async ({ vertical, scope }): Promise<Stored> => {
      const units = verticals.get(vertical)?.units;
      const database = units
        ? await storage.engine.databaseBytes(units.scope, scope)
        : deployed.runtime.databaseBytes(vertical, scope);
      let bytes = database ?? 0;
      let attachments = 0;
      for await (const blob of storage.blobs(scope).list()) {
        bytes += blob.bytes;
        attachments += 1;
      }
      return { bytes, attachments };
    },
    now: world.now,
    onError: (error, { scope }) =>
      feeds.onIncident(error, { kind: 'platform', key: scope, method: 'readLimits' }),
  });
  return new RequestGate({
    now: world.now,
    limitsOf: limits.of,
    onOften: (hit) => {
      const detail = noticeOf(hit);
      feeds.onIncident(new OperatorNotice(detail), { kind: 'platform', key: 'limits', method: hit.what });
      feeds.onFailure({
        operation: 'limits.refuse',
        tenant: hit.tenant as never,
        scope: hit.scope as never,
        subject: hit.of,
        reason: hit.what,
        detail,
      });
    },
  });
}

function noticeOf({ of, what, tenant, scope }: LimitHit): string {
  const who = { address: 'one network address', scope: `the scope ${scope}`, tenant: `the tenant ${tenant}` }[
    of
  ];
  return `More than a hundred requests of ${who} were refused within a minute by the limit of ${what}. Limits of plans are in FREEHOLD_LIMITS_FILE.`;
}
