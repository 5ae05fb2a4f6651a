/**
 * The directory: the one unit that knows tenants, scopes, host names, staff, tokens and the logs (design: architecture, "The
 * one idea"). Its features bring the tables, handlers and methods; this file leads a call to its handler.
 */
import { PlatformError, type ProblemCode } from '@freehold/contracts';
import { defineUnit, type MigrationSet, type UnitContext } from '@freehold/store';
import type { AdminCall, AdminResult } from './access/actors.ts';
import { callerMethods, requireActing, requireCall } from './access/callers.ts';
import { type AccessInput, appendAccessLog } from './audit/access-log.ts';
import { adminLogMigration, auditedCall } from './audit/admin-log.ts';
import { endLeases, openIntentsMigration } from './audit/open-intents.ts';
import { auditFeature } from './audit/operations.ts';
import { backupsFeature } from './backups/feature.ts';
import {
  beginEffect,
  type ChangeInput,
  type EffectEnd,
  failEffect,
  findHandler,
  leaveOpen,
  makeChange,
  settleEffect,
  withEtag,
} from './changes/changes.ts';
import { idempotencyMigration, keyedFingerprintsMigration } from './changes/conditions.ts';
import { connectionsFeature } from './connections/feature.ts';
import { copiesFeature } from './copies/feature.ts';
import { directoryRestoreFeature } from './directory-restore/feature.ts';
import { entitlementsFeature } from './entitlements/operations.ts';
import { erasureFeature } from './erasure/operations.ts';
import { expiriesFeature } from './expiries/clear.ts';
import { fleetFeature } from './fleet/operations.ts';
import { hostnamesFeature } from './hostnames/feature.ts';
import { hostnamesMigration } from './hostnames/store.ts';
import { identitiesFeature } from './identities/operations.ts';
import { issuesFeature } from './issues/operations.ts';
import { defineFeature, type MethodsOf, mergeFeatures, mergeHandlers } from './lib/feature.ts';
import { longWorkFeature } from './long-work/feature.ts';
import { longWorkMethods } from './long-work/work.ts';
import { observabilityFeature } from './observability/observability.ts';
import { operationsLogFeature } from './operations-log/operations.ts';
import { ownerSeatFeature } from './owner-seat/operations.ts';
import { platformGrantsFeature } from './platform-grants/operations.ts';
import { previewsFeature } from './previews/feature.ts';
import { projections, projectionsFeature } from './projections.ts';
import { enqueueReplaced } from './projector/outbox.ts';
import { reapFeature } from './reap/feature.ts';
import { revocationsFeature } from './revocations/store.ts';
import { rolesFeature } from './roles/operations.ts';
import { rolesMigration } from './roles/store.ts';
import { scopeDataFeature } from './scope-data/retry.ts';
import { scopesFeature } from './scopes/feature.ts';
import { scopesMigration } from './scopes/store.ts';
import { serviceRefsFeature } from './service-refs/operations.ts';
import { sessionSecretFeature } from './session-secret/operations.ts';
import { staffFeature, staffProgramsFeature } from './staff/sign-in.ts';
import { tenantsFeature } from './tenants/operations.ts';
import { tenantsMigration } from './tenants/store.ts';
import { tokensFeature } from './tokens/operations.ts';
import { tokensMigration } from './tokens/store.ts';
import { usageFeature } from './usage/operations.ts';
import { verticalRegistryFeature } from './vertical-registry/feature.ts';
import { verticalSecretsFeature } from './vertical-secrets/feature.ts';

/**
 * An empty database gets the tables of the features in this order, so that a feature may refer to tables of those before it.
 * A new feature comes last.
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
  copiesFeature,
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
  reapFeature,
  directoryRestoreFeature,
  verticalSecretsFeature,
  previewsFeature,
  staffProgramsFeature,
] as const;

const { reads, changes, delegated, long, plans } = mergeHandlers(features);

/** The first tables of several features, which are numbered together. */
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

const makeMethods = (context: UnitContext) => {
  const work = longWorkMethods(context, long);
  const enqueue = (intent: number, ended: boolean) =>
    enqueueReplaced(context, Object.values(projections), { intent, ended });
  const answer = (call: AdminCall) => {
    const handler = findHandler(reads, call.operation);
    requireCall(context.db, handler.operation, call);
    return withEtag(handler.operation, handler.answer(context, call));
  };
  return {
    ...callerMethods(context),
    ...work,

    /** A read of the directory's own data. */
    read: ({ call }: { readonly call: AdminCall }): AdminResult => ({
      status: 200,
      replayed: false,
      ...answer(call),
    }),

    /** A read that is itself logged: the items, then the row of the access log. */
    readLogged: ({ call }: { readonly call: AdminCall }): AdminResult => {
      const shown = answer(call);
      const { items } = shown.value as { readonly items: readonly unknown[] };
      const target = { tenant: null, scope: null, vertical: null, other: null };
      appendAccessLog(context, auditedCall(call), { target, items: items.length });
      return { status: 200, replayed: false, ...shown };
    },

    recordAccess: ({ call, target, items }: AccessInput): null => {
      appendAccessLog(context, auditedCall(call), { target, items });
      return null;
    },

    change: (input: ChangeInput) => makeChange(context, findHandler(changes, input.call.operation), input),

    /** The plan of a change, as far as the directory knows it. A query. */
    planChange: ({ call }: { readonly call: AdminCall }): unknown => {
      const handler = Object.hasOwn(plans, call.operation) ? plans[call.operation] : undefined;
      if (!handler) requireActing(context.db, call.actor);
      else {
        requireCall(context.db, handler.operation, call);
        return handler.plan(context, call);
      }
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

    beginWork: (input: ChangeInput) => {
      const begun = work.beginWork(input);
      if (begun.head && !begun.replayed) enqueue(begun.head.sequence, false);
      return begun;
    },
  };
};

/** The unit's own methods: they lead calls to the handlers of the features. */
const calls = defineFeature({
  migrations: [firstTables],
  methods: makeMethods,
  queries: ['caller', 'read', 'planChange', 'planWork', 'unfinishedWork'],
});

const parts = [calls, ...features] as const;

export type DirectoryMethods = MethodsOf<typeof parts>;

export const directoryUnit = defineUnit<DirectoryMethods>({ kind: 'directory', ...mergeFeatures(parts) });
