/** A scope's unit: the kernel's parts put together over one database. */
import {
  deadLettersQuery,
  type EventId,
  entityRef,
  facetsQuery,
  firstIdAt,
  ID_PREFIXES,
  PlatformError,
  pageQuery,
  parseInput,
  platformRequestHistoryQuery,
  platformRequestsQuery,
  provisionRequest,
  settleRequest,
  type TenantId,
  tableQuery,
  tenantId as tenantIdSchema,
  timeOfId,
  toTimestamp,
} from '@freehold/contracts';
import {
  appliedMigrations,
  defineUnit,
  type SqlDatabase,
  type UnitContext,
  type UnitDefinition,
} from '@freehold/store';
import { z } from 'zod';
import { makeAttachmentMethods } from './attachments/attachment-methods.ts';
import { listTables, readTable } from './data-window/tables.ts';
import { makeLanes } from './deliveries/lanes.ts';
import { makeWork } from './deliveries/work.ts';
import { makeDenialStore } from './denials/store.ts';
import { makeFacets } from './events/facets.ts';
import { type EventStore, makeEventStore } from './events/store.ts';
import { makeIdempotency } from './idempotency/idempotency.ts';
import { makeInvoke } from './invoke.ts';
import { makeRequireEntity } from './lib/entities.ts';
import { makeCheckMethod } from './permissions/check-method.ts';
import { makeGrantConnection } from './permissions/grant-connection.ts';
import { makePermissions } from './permissions/permissions.ts';
import { makeRoleMethods } from './permissions/role-methods.ts';
import { makeRequests } from './platform-requests/requests.ts';
import type { ScopeMethods } from './scope-methods.ts';
import { makeRedact } from './sealing/redact.ts';
import { makeSubjectKeys } from './sealing/subject-keys.ts';
import { makeSettings } from './settings/settings.ts';
import { spineMigrations } from './spine.ts';
import type { Vertical } from './vertical.ts';

/** What an engine needs to host the scopes of a vertical. */
export interface ScopeUnit extends UnitDefinition<ScopeMethods> {
  /** What the scopes are scopes of. */
  readonly vertical: Vertical;
}

/** Names of tables that a vertical may read and never write. */
const SPINE_PREFIX = '_spine_';

const provisionInput = z.strictObject({ tenantId: tenantIdSchema, name: provisionRequest.shape.name });
const historyInput = z.strictObject({ entity: entityRef, sealed: z.boolean().optional(), ...pageQuery });
const deadLettersInput = deadLettersQuery.omit({ tenantId: true, scopeId: true });
const requestsInput = platformRequestsQuery.omit({ tenantId: true, scopeId: true });
const requestHistoryInput = platformRequestHistoryQuery.omit({ tenantId: true, scopeId: true });
const settleInput = settleRequest.omit({ tenantId: true, scopeId: true });
const tableInput = tableQuery.omit({ tenantId: true, scopeId: true });
const facetsInput = facetsQuery.omit({ tenantId: true, scopeId: true });
const denialsInput = z.strictObject({
  actor: z.string().optional(),
  permission: z.string().optional(),
  ...pageQuery,
});

export interface ScopeUnitOptions {
  /** Told after a commit that put something in line for a subscriber: wake a `DeliveryRunner` with it. */
  readonly onWork?: (scopeId: string) => void;
}

/**
 * The unit that hosts the scopes of a vertical: kind `scope-<slug>`, keyed by scope id. A scope is created by
 * `provision` and migrated whenever it is opened: the spine first, then the vertical's own set, guarded.
 */
export function makeScopeUnit(vertical: Vertical, options: ScopeUnitOptions = {}): ScopeUnit {
  const definition = defineUnit<ScopeMethods>({
    kind: `scope-${vertical.manifest.slug}`,
    admit: admitScope,
    migrations: [spineMigrations, { name: 'vertical', migrations: vertical.migrations, guarded: true }],
    queries: [
      'assignments',
      'holdings',
      'explain',
      'history',
      'cause',
      'effects',
      'invocation',
      'facets',
      'deadLetters',
      'tables',
      'table',
      'listPlatformRequests',
      'platformRequestHistory',
      'listDenials',
      'summarizeDenials',
      'appliedMigrations',
      'identify',
    ],
    open: (unit) => openScope(vertical, unit, options),
  });
  return { ...definition, vertical };
}

function openScope(vertical: Vertical, unit: UnitContext, { onWork }: ScopeUnitOptions): ScopeMethods {
  const { db } = unit;
  const permissions = makePermissions(db, vertical.manifest);
  const subjectKeys = makeSubjectKeys(unit);
  const events = makeEventStore(db, subjectKeys);
  const denials = makeDenialStore(db);
  const facets = makeFacets(db);
  unit.onRollback(permissions.forget);
  const newest = events.newest();

  const sql = unit.guarded({ protectedPrefix: SPINE_PREFIX, readOnly: false });
  const readOnlySql = unit.guarded({ protectedPrefix: SPINE_PREFIX, readOnly: true });
  const requireEntity = makeRequireEntity(vertical.manifest);
  const requests = makeRequests(unit);
  const settings = makeSettings(unit);
  const newestIds = [...newest.ids, denials.newestId(), requests.newestId()].filter((id) => id !== undefined);
  observeNewest(unit, newestIds, newest.endedAtMs);
  const onEvent = (event: { readonly id: EventId; readonly type: string }, nowMs: number): void => {
    if (work.enqueue(event, nowMs) && onWork) unit.afterCommit(() => onWork(unit.key));
  };
  const invoke = makeInvoke({
    unit,
    vertical,
    permissions,
    events,
    denials,
    requireEntity,
    idempotency: makeIdempotency(db, subjectKeys),
    subjectKeys,
    requests,
    settings,
    onEvent,
    sql,
    readOnlySql,
  });

  const work = makeWork({ unit, vertical, lanes: makeLanes(vertical), events, invoke });

  let identity: { readonly tenantId: TenantId; readonly name: string } | null = null;
  unit.onRollback(() => {
    identity = null;
  });
  const identify = (): { tenantId: TenantId; name: string } => {
    identity ??=
      db.get<{ tenantId: TenantId; name: string }>(
        'SELECT tenant_id AS tenantId, name FROM _spine_scope WHERE singleton = 1',
      ) ?? null;
    if (!identity) throw unknownScope();
    return { tenantId: identity.tenantId, name: identity.name };
  };

  return {
    provision: (input) => {
      const { tenantId, name } = parseInput('The scope', provisionInput, input);
      const existing = db.get<{ tenantId: TenantId }>(
        'SELECT tenant_id AS tenantId FROM _spine_scope WHERE singleton = 1',
      );
      if (existing) {
        if (existing.tenantId !== tenantId) throw unknownScope();
        return 'unchanged';
      }
      db.run(
        'INSERT INTO _spine_scope (singleton, tenant_id, name, provisioned_at) VALUES (1, ?, ?, ?)',
        tenantId,
        name,
        unit.now(),
      );
      return 'provisioned';
    },
    identify,
    invoke: (input) => {
      identify();
      return invoke(input);
    },
    ...makeRoleMethods(vertical, unit, permissions, denials),
    grantConnection: makeGrantConnection(vertical, unit, permissions, requireEntity),
    check: makeCheckMethod(vertical, unit, permissions, denials),
    explain: ({ principal, permission, entity }) =>
      permissions.proofs({ principal, permission, entity, nowMs: unit.now() }),
    history: (input) => events.history(parseInput('The query', historyInput, input)),
    cause: ({ event, sealed }) => {
      requireEvent(events, event);
      return events.cause(event, sealed);
    },
    effects: ({ event, sealed }) => {
      requireEvent(events, event);
      return events.effects(event, sealed);
    },
    invocation: ({ invocation, sealed }) => {
      const found = events.invocation(invocation, sealed);
      if (!found)
        throw new PlatformError('not_found', 'There is no such invocation in this scope.', {
          reason: 'unknown_invocation',
        });
      return found;
    },
    facets: (input) => facets(parseInput('The query', facetsInput, input), unit.now()),
    work: () => {
      identify();
      return work.work();
    },
    settle: (input) => work.settle(input),
    deadLetters: (input) => work.deadLetters(parseInput('The query', deadLettersInput, input)),
    retryDeadLetter: (input) => {
      work.retryDeadLetter(input);
      if (onWork) unit.afterCommit(() => onWork(unit.key));
      return null;
    },
    listPlatformRequests: (input) => requests.list(parseInput('The query', requestsInput, input)),
    platformRequestHistory: (input) => requests.history(parseInput('The query', requestHistoryInput, input)),
    settlePlatformRequest: (input) => requests.settle(parseInput('The answer', settleInput, input)),
    provideKeys: ({ keys }) => subjectKeys.provide(keys),
    redact: makeRedact({ unit, vertical, subjectKeys, sql }),
    projectSettings: settings.projectSettings,
    projectEntitlements: settings.projectEntitlements,
    ...makeAttachmentMethods({
      vertical,
      unit,
      permissions,
      denials,
      events,
      requireEntity,
      onEvent,
    }),
    tables: () => listTables(db),
    table: (input) => readTable(db, parseInput('The query', tableInput, input)),
    listDenials: (input) => denials.list(parseInput('The query', denialsInput, input)),
    summarizeDenials: ({ groupBy }) => denials.summarize(groupBy),
    appliedMigrations: () =>
      appliedMigrations(db).map(({ appliedAtMs, ...row }) => ({
        ...row,
        appliedAt: toTimestamp(appliedAtMs),
      })),
  };
}

/** A copy of another scope's is none of this one. Restoring takes a scope of the same tenant, which `identify` tells. */
function admitScope(staged: SqlDatabase): void {
  const found = staged.get('SELECT 1 FROM _spine_scope WHERE singleton = 1');
  if (!found)
    throw new PlatformError('validation_failed', 'This is not a copy of a scope.', {
      reason: 'copy_foreign',
    });
}

/**
 * Makes every id greater than any that this scope has stored. Ids that a vertical made carry no trace here, so
 * the factory goes on one millisecond after the last invocation ended, in which all of its ids were made.
 */
function observeNewest(unit: UnitContext, ids: readonly string[], endedAtMs: number): void {
  const lastMs = Math.max(endedAtMs, ...ids.map(timeOfId));
  if (lastMs > 0) unit.newId.observe(firstIdAt(ID_PREFIXES.event, lastMs + 1));
}

function requireEvent(events: EventStore, id: string): void {
  if (!events.exists(id)) throw new PlatformError('not_found', 'There is no such event in this scope.');
}

function unknownScope(): PlatformError {
  return new PlatformError('not_found', 'There is no such scope.', { reason: 'unknown_scope' });
}
