/**
 * The directory: the unit that holds what the platform knows, with the logs of who changed and who read what
 * (design: architecture, "The one idea"). There is one, under the key {@link DIRECTORY_KEY}. What it holds is brought by
 * its features; what is here is how a call gets to them.
 */
import { PlatformError, type ProblemCode } from '@freehold/contracts';
import { defineUnit, type MigrationSet, type UnitContext } from '@freehold/store';
import { requireActing } from './acting.ts';
import type { AdminCall, AdminResult } from './actors.ts';
import { appendAccessLog } from './audit/access-log.ts';
import { adminLogMigration, auditedCall } from './audit/admin-log.ts';
import { endLeases, openIntentsMigration } from './audit/open-intents.ts';
import { auditFeature } from './audit/operations.ts';
import { backupsFeature } from './backups/feature.ts';
import { connectionsFeature } from './connections/feature.ts';
import type { LogTarget } from './declarations/records.ts';
import { entitlementsFeature } from './entitlements/feature.ts';
import { erasureFeature } from './erasure/feature.ts';
import { expiriesFeature } from './expiries/feature.ts';
import { fleetFeature } from './fleet/operations.ts';
import { hostnamesFeature } from './hostnames/feature.ts';
import { hostnamesMigration } from './hostnames/store.ts';
import { identitiesFeature } from './identities/feature.ts';
import { issuesFeature } from './issues/feature.ts';
import {
  beginEffect,
  type ChangeInput,
  type EffectEnd,
  failEffect,
  leaveOpen,
  makeChange,
  settleEffect,
} from './lib/changes.ts';
import { defineFeature, findHandler, type MethodsOf, mergeFeatures, mergeHandlers } from './lib/feature.ts';
import { idempotencyMigration, keyedFingerprintsMigration } from './lib/idempotency.ts';
import { longWorkFeature } from './long-work/feature.ts';
import { longWorkMethods } from './long-work/work.ts';
import { observabilityFeature } from './observability/observability.ts';
import { operationsLogFeature } from './operations-log/feature.ts';
import { ownerSeatFeature } from './owner-seat/feature.ts';
import { platformGrantsFeature } from './platform-grants/operations.ts';
import { projections, projectionsFeature } from './projections.ts';
import { enqueueReplaced } from './projector/outbox.ts';
import { revocationsFeature } from './revocations/feature.ts';
import { rolesFeature } from './roles/feature.ts';
import { rolesMigration } from './roles/store.ts';
import { scopeDataFeature } from './scope-data/retry.ts';
import { scopesFeature } from './scopes/feature.ts';
import { scopesMigration } from './scopes/store.ts';
import { serviceRefsFeature } from './service-refs/operations.ts';
import { sessionSecretFeature } from './session-secret/operations.ts';
import { staffFeature } from './staff/feature.ts';
import { tenantsFeature } from './tenants/feature.ts';
import { tenantsMigration } from './tenants/store.ts';
import { tokensFeature } from './tokens/feature.ts';
import { tokensMigration } from './tokens/store.ts';
import { usageFeature } from './usage/operations.ts';
import { verticalRegistryFeature } from './vertical-registry/feature.ts';

/** The key of the one directory there is. */
export const DIRECTORY_KEY = 'main';

/**
 * What the rooms bring. In this order an empty database gets their tables, so that a room may build on those before it;
 * one that is new comes last.
 */
export const features = [
  tenantsFeature,
  hostnamesFeature,
  rolesFeature,
  erasureFeature,
  connectionsFeature,
  entitlementsFeature,
  identitiesFeature,
  scopesFeature,
  issuesFeature,
  operationsLogFeature,
  usageFeature,
  verticalRegistryFeature,
  platformGrantsFeature,
  staffFeature,
  tokensFeature,
  longWorkFeature,
  backupsFeature,
  fleetFeature,
  auditFeature,
  expiriesFeature,
  observabilityFeature,
  ownerSeatFeature,
  scopeDataFeature,
  serviceRefsFeature,
  sessionSecretFeature,
  revocationsFeature,
  projectionsFeature,
] as const;

const { reads, changes, delegated, long, plans } = mergeHandlers(features);

/** The first tables of several rooms, which are numbered together. */
const firstTables: MigrationSet = {
  name: 'directory',
  migrations: [
    tenantsMigration,
    scopesMigration,
    hostnamesMigration,
    rolesMigration,
    tokensMigration,
    adminLogMigration,
    idempotencyMigration,
    openIntentsMigration,
    keyedFingerprintsMigration,
  ],
};

/** One row of the access log, before it is written. */
export interface AccessInput {
  readonly call: AdminCall;
  readonly target: LogTarget;
  /** How many items the reader was shown. */
  readonly items: number;
}

const makeMethods = (context: UnitContext) => {
  const work = longWorkMethods(context, long);
  const enqueue = (intent: number, ended: boolean) =>
    enqueueReplaced(context, Object.values(projections), { intent, ended });
  return {
    /** A read of the directory's own data. */
    read: ({ call }: { readonly call: AdminCall }): AdminResult => {
      const answer = findHandler(reads, call.operation);
      requireActing(context.db, call.actor, answer.operation);
      return { status: 200, replayed: false, ...answer(context, call) };
    },

    /** A read that is itself logged: what was shown, then the row that says so. */
    readLogged: ({ call }: { readonly call: AdminCall }): AdminResult => {
      const show = findHandler(reads, call.operation);
      requireActing(context.db, call.actor, show.operation);
      const answer = show(context, call);
      const { items } = answer.value as { readonly items: readonly unknown[] };
      const target = { tenant: null, scope: null, vertical: null, other: null };
      appendAccessLog(context, auditedCall(call), { target, items: items.length });
      return { status: 200, replayed: false, ...answer };
    },

    recordAccess: ({ call, target, items }: AccessInput): null => {
      appendAccessLog(context, auditedCall(call), { target, items });
      return null;
    },

    change: (input: ChangeInput) => makeChange(context, findHandler(changes, input.call.operation), input),

    /** What a change would touch, as far as the directory knows. A query. */
    planChange: ({ call }: { readonly call: AdminCall }): unknown => {
      const plan = Object.hasOwn(plans, call.operation) ? plans[call.operation] : undefined;
      requireActing(context.db, call.actor, plan?.operation);
      if (plan) return plan(context, call);
      throw new PlatformError('unsupported', `There is no plan of ${call.operation}.`, { reason: 'no_plan' });
    },

    begin: (input: ChangeInput) => {
      const beginning = beginEffect(context, findHandler(delegated, input.call.operation), input);
      if ('intent' in beginning) enqueue(beginning.intent.sequence, false);
      return beginning;
    },

    settle: (input: EffectEnd & { readonly answer: unknown }) => {
      const outcome = settleEffect(context, findHandler(delegated, input.call.operation), input);
      enqueue(input.intent, true);
      return outcome;
    },

    fail: (input: EffectEnd & { readonly prepared: unknown; readonly code: ProblemCode }) =>
      failEffect(context, findHandler(delegated, input.call.operation), input),

    leaveOpen: (input: { readonly intent: number }) => leaveOpen(context, input),

    endLeases: (): null => {
      endLeases(context.db);
      return null;
    },

    ...work,

    beginWork: (input: ChangeInput) => {
      const begun = work.beginWork(input);
      if (begun.head && !begun.replayed) enqueue(begun.head.sequence, false);
      return begun;
    },
  };
};

/** The unit's own: how calls get to what the rooms bring. */
const calls = defineFeature({
  migrations: [firstTables],
  methods: makeMethods,
  queries: ['read', 'planChange', 'planWork', 'unfinishedWork'],
});

const parts = [calls, ...features] as const;

export type DirectoryMethods = MethodsOf<typeof parts>;

export const directoryUnit = defineUnit<DirectoryMethods>({ kind: 'directory', ...mergeFeatures(parts) });
