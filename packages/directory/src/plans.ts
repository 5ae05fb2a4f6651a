/**
 * The plans of changes, by operation: what the directory knows of them. Most long work keeps its own with itself
 * (`long-work/handlers.ts`).
 */
import { PlatformError } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { requireActing } from './acting.ts';
import type { AdminCall } from './actors.ts';
import { planBackupDelete, planDirectoryBackupDelete } from './backups/operations.ts';
import { planDisconnect } from './connections/delegated-operations.ts';
import { planErasure } from './erasure/plan.ts';
import { planUnbind } from './hostnames/operations.ts';
import type { PlanHandler } from './lib/plans.ts';
import { planCopy, planRewindChecks, planSnapshotDelete } from './scopes/copies-plan.ts';
import { planScopeStatus } from './scopes/status-plan.ts';
import { planRotation } from './session-secret/operations.ts';
import { planRemoval } from './staff/removal-plan.ts';
import { planTenantStatus } from './tenants/status-plan.ts';
import { planPromotion } from './vertical-registry/channels.ts';

const PLANS: Readonly<Record<string, PlanHandler>> = {
  'tenants.set-status': planTenantStatus,
  'scopes.set-status': planScopeStatus,
  'scopes.restore': planCopy,
  'scopes.rewind': planRewindChecks,
  'snapshots.delete': planSnapshotDelete,
  'scope-backups.delete': planBackupDelete,
  'directory-backups.delete': planDirectoryBackupDelete,
  'session-secret.rotate': planRotation,
  'subjects.shred': planErasure,
  'channels.promote': planPromotion,
  'hostnames.delete': planUnbind,
  'connections.disconnect': planDisconnect,
  'staff.remove': planRemoval,
};

/** The methods of the unit. */
export const planMethods = (context: UnitContext) => ({
  /** What a change would touch, as far as the directory knows. A query. */
  planChange: ({ call }: { readonly call: AdminCall }): unknown => {
    requireActing(context.db, call.actor, call.operation);
    const plan = Object.hasOwn(PLANS, call.operation) ? PLANS[call.operation] : undefined;
    if (plan) return plan(context, call);
    throw new PlatformError('unsupported', `There is no plan of ${call.operation}.`, { reason: 'no_plan' });
  },
});

/** The methods of these that only read. */
export const PLAN_QUERIES = ['planChange'] as const;
