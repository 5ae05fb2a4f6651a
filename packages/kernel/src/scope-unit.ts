/** A scope's unit: the kernel's parts put together over one database. */
import {
  deadLettersQuery,
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
  type ScopeId,
  type ScopeRef,
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
import { makeDeadLetters } from './deliveries/dead-letters.ts';
import type { WaitingEvent } from './deliveries/declarations.ts';
import { makeLanes } from './deliveries/lanes.ts';
import { makeDeliveryStore } from './deliveries/store.ts';
import { makeWork } from './deliveries/work.ts';
import { makeDenialStore } from './denials/store.ts';
import { makeFacets } from './events/facets.ts';
import { makeEventStore } from './events/store.ts';
import { makeIdempotency } from './idempotency/idempotency.ts';
import { makeInvoke } from './invoke.ts';
import { makeRequireEntity } from './lib/entities.ts';
import { makeCheckMethod } from './permissions/check-method.ts';
import { makeGrantConnection } from './permissions/grant-connection.ts';
import { makePermissions } from './permissions/permissions.ts';
import { makeRoleMethods } from './permissions/role-methods.ts';
import { makeRequests } from './platform-requests/requests.ts';
import { makeHousekeeping } from './retention/housekeeping.ts';
import { requireRetentionSetting } from './retention/policy.ts';
import { makePruned } from './retention/pruned.ts';
import { makeSteps } from './retention/steps.ts';
import { makeRetentionStore } from './retention/store.ts';
import type { ScopeMethods } from './scope-methods.ts';
import {
  closedUntilVaultIsAsked,
  makeRedactPendingErasures,
  type ScopeRow,
} from './sealing/pending-erasures.ts';
import { makeRedact } from './sealing/redact.ts';
import { makeSubjectKeys } from './sealing/subject-keys.ts';
import { makeSettings } from './settings/settings.ts';
import { spineMigrations } from './spine.ts';
import type { Vertical } from './vertical.ts';

/** What an engine needs to host the scopes of a vertical. */
export interface ScopeUnit extends UnitDefinition<ScopeMethods> {
  /** What the scopes are scopes of. */
  readonly vertical: Vertical;
  /**
   * Has somebody told of every operation that was performed in a scope of this process, once it is durable: for the
   * platform's own counting, which depends on nothing that a vertical passes on. Whoever called is told of alike: a
   * person, a program, a connection, a subscription, a schedule. Not told of are replays, refusals, failures, and what
   * an operation invokes itself. The listener is called within the kernel's way of every call: it only counts.
   */
  onInvoked(listener: (scopeId: string) => void): void;
  /** Sets who is handed the keys that a scope's pool still held when its unit was closed. */
  onKeysUnused(listener: KeysUnusedListener): void;
}

type KeysUnusedListener = (ref: ScopeRef, keyIds: readonly string[]) => void;

/** Names of tables that a vertical may read and never write. */
const SPINE_PREFIX = '_spine_';
const DAY_MS = 86_400_000;
/** How far back the embedded engine goes (design: kernel, "Copies"). */
const REWIND_MS = 7 * DAY_MS;

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
  /** Told after a commit that put something in line, and of each new scope: wake a `DeliveryRunner` with it. */
  readonly onWork?: (scopeId: string) => void;
  /**
   * How far back in time a scope can be taken on this engine, in milliseconds: so long, and a day, are the bytes of
   * removed attachments kept. Default seven days, as the embedded engine has it; on Cloudflare it is thirty.
   */
  readonly rewindMs?: number;
}

/**
 * The unit that hosts the scopes of a vertical: kind `scope-<slug>`, keyed by scope id. A scope is created by
 * `provision` and migrated whenever it is opened: the spine first, then the vertical's own set, guarded.
 */
export function makeScopeUnit(vertical: Vertical, options: ScopeUnitOptions = {}): ScopeUnit {
  let listener: InvokedListener = null;
  let keysUnused: KeysUnusedListener = () => undefined;
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
      'retention',
      'latecomers',
      'keyWork',
      'heldKeys',
    ],
    open: (unit) =>
      openScope(vertical, unit, {
        ...options,
        invokedListener: () => listener,
        onKeysUnused: (ref, keyIds) => keysUnused(ref, keyIds),
      }),
  });
  return {
    ...definition,
    vertical,
    onInvoked: (told) => {
      listener = told;
    },
    onKeysUnused: (told) => {
      keysUnused = told;
    },
  };
}

type InvokedListener = ((scopeId: string) => void) | null;

interface OpenOptions extends ScopeUnitOptions {
  readonly invokedListener: () => InvokedListener;
  readonly onKeysUnused: KeysUnusedListener;
}

function openScope(
  vertical: Vertical,
  unit: UnitContext,
  { onWork, rewindMs = REWIND_MS, invokedListener, onKeysUnused }: OpenOptions,
): ScopeMethods {
  const { db } = unit;
  const permissions = makePermissions(db, vertical.manifest);
  const subjectKeys = makeSubjectKeys(unit);
  const pruned = makePruned(db);
  const events = makeEventStore(db, subjectKeys, pruned);
  const denials = makeDenialStore(db, pruned);
  const facets = makeFacets(db, pruned);
  unit.onRollback(permissions.forget);
  const newest = events.newest();

  const sql = unit.guarded({ protectedPrefix: SPINE_PREFIX, readOnly: false });
  const readOnlySql = unit.guarded({ protectedPrefix: SPINE_PREFIX, readOnly: true });
  const requireEntity = makeRequireEntity(vertical.manifest);
  const requests = makeRequests(unit, pruned);
  const settings = makeSettings(unit);
  const newestIds = [...newest.ids, denials.newestId(), requests.newestId()].filter((id) => id !== undefined);
  observeNewest(unit, newestIds, newest.endedAtMs);
  const onEvent = (event: WaitingEvent, nowMs: number): void => {
    if (work.enqueue(event, nowMs) && onWork) unit.afterCommit(() => onWork(unit.key));
  };
  const idempotency = makeIdempotency(db, subjectKeys);
  // One closure for all calls: what a call pays for being counted is one more task of its commit.
  const tellInvoked = (): void => invokedListener()?.(unit.key);
  const invoke = makeInvoke({
    unit,
    vertical,
    permissions,
    events,
    denials,
    requireEntity,
    idempotency,
    subjectKeys,
    requests,
    settings,
    onEvent,
    onPerformed: () => {
      if (invokedListener()) unit.afterCommit(tellInvoked);
    },
    sql,
    readOnlySql,
  });

  const lanes = makeLanes(vertical);
  const deliveries = makeDeliveryStore(db);
  const retentionStore = makeRetentionStore(db);
  const housekeeping = makeHousekeeping({
    unit,
    vertical,
    settings,
    store: retentionStore,
    pruned,
    steps: makeSteps({
      store: retentionStore,
      pruned,
      lanes,
      removeDelivery: deliveries.remove,
      clearAnswers: idempotency.clear,
    }),
  });
  const deadLetters = makeDeadLetters({ unit, lanes, store: deliveries, events });
  const work = makeWork({
    unit,
    vertical,
    lanes,
    store: deliveries,
    events,
    invoke,
    housekeeping,
    reader: readOnlySql,
  });

  let known: ScopeRow | null = null;
  const forgetRow = (): void => {
    known = null;
  };
  unit.onRollback(forgetRow);
  const row = (): ScopeRow | null => {
    known ??=
      db.get<ScopeRow>(
        'SELECT tenant_id AS tenantId, name, latecomers FROM _spine_scope WHERE singleton = 1',
      ) ?? null;
    return known;
  };
  const requireRow = (): ScopeRow => {
    const found = row();
    if (!found) throw unknownScope();
    return found;
  };
  const identify = (): { tenantId: TenantId; name: string } => {
    const { tenantId, name } = requireRow();
    return { tenantId, name };
  };
  const redact = makeRedact({ unit, vertical, subjectKeys, sql });
  unit.onClose(() => {
    const unused = subjectKeys.giveUp();
    if (unused.length > 0)
      onKeysUnused({ tenantId: requireRow().tenantId, scopeId: unit.key as ScopeId }, unused);
  });
  /** Set while keys wait to be bound that an earlier opening used. Those of this one are bound in the background. */
  let isBound = !subjectKeys.hasUnbound();
  const allBound = (): void => {
    isBound = true;
  };

  return closedUntilVaultIsAsked({ row, isBound: () => isBound }, {
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
        'INSERT INTO _spine_scope (singleton, tenant_id, name, provisioned_at, scope_id) VALUES (1, ?, ?, ?, ?)',
        tenantId,
        name,
        unit.now(),
        unit.key,
      );
      // Its schedules and its housekeeping have never been looked at.
      if (onWork) unit.afterCommit(() => onWork(unit.key));
      return 'provisioned';
    },
    identify,
    invoke: ({ tenantId, ...input }) => {
      const row = requireRow();
      if (tenantId !== undefined && tenantId !== row.tenantId) throw unknownScope();
      if (input.keys) subjectKeys.supply(input.keys);
      const result = invoke(input);
      const keyWork = input.keys === undefined ? null : subjectKeys.waits();
      return keyWork === null ? result : { ...result, keyWork };
    },
    ...makeRoleMethods(vertical, unit, permissions, denials),
    grantConnection: makeGrantConnection(vertical, unit, permissions, requireEntity),
    check: makeCheckMethod(vertical, unit, permissions, denials),
    explain: ({ principal, permission, entity }) =>
      permissions.proofs({ principal, permission, entity, nowMs: unit.now() }),
    history: (input) => events.history(parseInput('The query', historyInput, input)),
    cause: ({ event, sealed }) => {
      events.require(event);
      return events.cause(event, sealed);
    },
    effects: ({ event, sealed }) => {
      events.require(event);
      return events.effects(event, sealed);
    },
    invocation: ({ invocation, sealed }) => events.invocation(invocation, sealed),
    facets: (input) => facets(parseInput('The query', facetsInput, input), unit.now()),
    work: (input) => {
      requireRow();
      if (input.keys) subjectKeys.supply(input.keys);
      return work.work(input);
    },
    retention: () => housekeeping.state(),
    settle: (input) => work.settle(input),
    deadLetters: (input) => deadLetters.list(parseInput('The query', deadLettersInput, input)),
    retryDeadLetter: (input) => {
      deadLetters.retry(input);
      if (onWork) unit.afterCommit(() => onWork(unit.key));
      return null;
    },
    listPlatformRequests: (input) => requests.list(parseInput('The query', requestsInput, input)),
    platformRequestHistory: (input) => requests.history(parseInput('The query', requestHistoryInput, input)),
    settlePlatformRequest: (input) => requests.settle(parseInput('The answer', settleInput, input)),
    provideKeys: (supply) => {
      subjectKeys.supply(supply);
      return null;
    },
    keyWork: ({ limit }) => ({ tenantId: requireRow().tenantId, ...subjectKeys.work(limit) }),
    keysBound: ({ bindings }) => {
      const more = subjectKeys.bound(bindings);
      if (!more) unit.afterCommit(allBound);
      return { more };
    },
    heldKeys: ({ subject }) => subjectKeys.heldBy(subject),
    freezeKeys: ({ frozen }) => {
      subjectKeys.freeze(frozen);
      return null;
    },
    giveUpKeys: () => subjectKeys.giveUp(),
    redact,
    latecomers: () => {
      const { tenantId, latecomers: pendingErasures } = requireRow();
      return { tenantId, mark: pendingErasures };
    },
    redactLatecomers: makeRedactPendingErasures({
      db,
      redact: (receipt) => redact({ receipt }),
      changed: forgetRow,
    }),
    projectSettings: (input) => {
      requireRetentionSetting(vertical, input.settings);
      return settings.projectSettings(input);
    },
    projectEntitlements: settings.projectEntitlements,
    ...makeAttachmentMethods({
      vertical,
      unit,
      permissions,
      denials,
      events,
      requireEntity,
      onEvent,
      keptMs: rewindMs + DAY_MS,
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
  } satisfies ScopeMethods);
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

function unknownScope(): PlatformError {
  return new PlatformError('not_found', 'There is no such scope.', { reason: 'unknown_scope' });
}
