/** A scope's unit: the parts of the kernel over one database, and its methods. */
import {
  firstIdAt,
  ID_PREFIXES,
  PlatformError,
  parseInput,
  provisionRequest,
  type ScopeId,
  type ScopeRef,
  tenantId as tenantIdSchema,
  timeOfId,
} from '@freehold/contracts';
import {
  defineUnit,
  type SqlDatabase,
  type UnitContext,
  type UnitDefinition,
  type UnitMethods,
} from '@freehold/store';
import { z } from 'zod';
import { makeAttachmentMethods } from './attachments/attachment-methods.ts';
import type { ScopeMethods } from './contract/scope-methods.ts';
import { makeDeliveryStore } from './deliveries/store.ts';
import { makeWork } from './deliveries/work.ts';
import { makeDenialStore } from './denials/store.ts';
import { type EventRow, makeEventStore } from './events/store.ts';
import { makeIdempotency } from './idempotency/idempotency.ts';
import { makeSubjectKeys, type SubjectKeys } from './keys/subject-keys.ts';
import { makePruned } from './lib/pruned.ts';
import { makeRequireEntity } from './lib/values.ts';
import { makeLongWorkMethods } from './long-work/methods.ts';
import { haltWorks, makeWorkStore } from './long-work/store.ts';
import { makeMemberMethods } from './members/members.ts';
import { makeInvoke } from './operations/invoke.ts';
import { makePermissionMethods, makeRoleMethods } from './permissions/methods.ts';
import { makePermissions } from './permissions/permissions.ts';
import { makePresentRights } from './permissions/present-rights.ts';
import { makeRequests } from './platform-requests/requests.ts';
import { makeHousekeeping } from './retention/housekeeping.ts';
import { makeSteps } from './retention/steps.ts';
import { makeRetentionStore } from './retention/store.ts';
import { makeReadMethods } from './scope-reads.ts';
import { erasuresUnseen, keysUnbound, makeErasureMethods, type ScopeRow } from './sealing/erasures.ts';
import { makeSettings } from './settings/settings.ts';
import { spineMigrations } from './spine.ts';
import { makeLanes } from './vertical/listeners.ts';
import { requireRetentionSetting } from './vertical/retention.ts';
import type { Vertical } from './vertical/vertical.ts';

/** The definition by which an engine hosts the scopes of a vertical. */
export interface ScopeUnit extends UnitDefinition<ScopeMethods> {
  readonly vertical: Vertical;
  /**
   * Sets the listener for each operation that was performed in a scope of this process, after its commit: for the
   * platform's own counting. Calls of a person, a program, a connection, a subscription and a schedule count; replays,
   * refusals, failures and nested operations do not. It is on the path of every call, and must only count.
   */
  onInvoked(listener: (scopeId: string) => void): void;
  /** Sets the listener for the free keys of a scope's pool when its unit was closed. */
  onKeysUnused(listener: KeysUnusedListener): void;
}

type KeysUnusedListener = (ref: ScopeRef, keyIds: readonly string[]) => void;
type InvokedListener = ((scopeId: string) => void) | null;

/** A vertical may read tables with this prefix, and never write them. */
const SPINE_PREFIX = '_spine_';
const DAY_MS = 86_400_000;
/** The window of a rewind on the embedded engine (design: kernel, "Copies"). */
const REWIND_MS = 7 * DAY_MS;

const provisionInput = z.strictObject({ tenantId: tenantIdSchema, name: provisionRequest.shape.name });

const QUERIES = [
  'assignments',
  'presentRights',
  'holdings',
  'explain',
  'history',
  'cause',
  'effects',
  'invocation',
  'facets',
  'longWorks',
  'longWork',
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
  'pendingErasures',
  'keyWork',
  'heldKeys',
] as const satisfies readonly (keyof ScopeMethods)[];

/** The methods of a closed scope: they tell nothing of its contents, and change only its keys and its mark. */
const ANSWERED_WHILE_CLOSED: readonly string[] = [
  'freezeKeys',
  'keyWork',
  'keysBound',
  'pendingErasures',
  'provideKeys',
  'provision',
  'redactPendingErasures',
];

export interface ScopeUnitOptions {
  /** Called after a commit that put something in line, and for each new scope: it wakes a `DeliveryRunner`. */
  readonly onWork?: (scopeId: string) => void;
  /**
   * The window of a rewind on this engine, in milliseconds: the bytes of removed attachments are kept for that time and
   * a day. Default seven days, for the embedded engine; on Cloudflare it is thirty.
   */
  readonly rewindMs?: number;
  /**
   * Judges a sealed text that does not open with the key of its person. Default `fault`: an unexpected error. `sealed`, for
   * a copy that was not given the keys of its scope: it reads as sealed in events, and as null in the vertical's tables.
   */
  readonly foreignSeals?: 'fault' | 'sealed';
}

/**
 * The unit that hosts the scopes of a vertical: kind `scope-<slug>`, keyed by scope id. A scope is created by
 * `provision` and migrated whenever it is opened: the spine first, then the vertical's own set, guarded.
 */
export function makeScopeUnit(vertical: Vertical, options: ScopeUnitOptions = {}): ScopeUnit {
  const listeners: Listeners = { invoked: null, keysUnused: () => undefined };
  const definition = defineUnit<ScopeMethods>({
    kind: `scope-${vertical.manifest.slug}`,
    admit: admitScope,
    migrations: [spineMigrations, { name: 'vertical', migrations: vertical.migrations, guarded: true }],
    queries: QUERIES,
    background: ['work'],
    open: (unit) => openScope(vertical, unit, options, listeners),
  });
  return {
    ...definition,
    vertical,
    onInvoked: (listener) => {
      listeners.invoked = listener;
    },
    onKeysUnused: (listener) => {
      listeners.keysUnused = listener;
    },
  };
}

interface Listeners {
  invoked: InvokedListener;
  keysUnused: KeysUnusedListener;
}

function openScope(
  vertical: Vertical,
  unit: UnitContext,
  options: ScopeUnitOptions,
  listeners: Listeners,
): ScopeMethods {
  const parts = makeParts(vertical, unit, options, listeners);
  const { subjectKeys } = parts;
  const row = makeScopeRow(unit);
  unit.onClose(() => {
    const unused = subjectKeys.giveUp();
    if (unused.length > 0)
      listeners.keysUnused({ tenantId: row.require().tenantId, scopeId: unit.key as ScopeId }, unused);
  });
  /** False while keys wait to be bound that an earlier opening used. Those of this one are bound in the background. */
  let isBound = !subjectKeys.hasUnbound();
  const keyMethods = makeKeyMethods(unit, subjectKeys, row, () => {
    isBound = true;
  });
  const methods: ScopeMethods = {
    ...makeOwnMethods(parts, row),
    ...makeReadMethods(parts),
    ...makeRoleMethods(parts),
    ...parts.presentRights,
    ...makePermissionMethods(parts),
    ...makeAttachmentMethods({ ...parts, keptMs: (options.rewindMs ?? REWIND_MS) + DAY_MS }),
    ...makeErasureMethods({ ...parts, forgetRow: row.forget }),
    ...makeMemberMethods(unit.db),
    ...makeLongWorkMethods(parts),
    ...keyMethods,
  };
  return closedBy(methods, () => {
    if (row.find()?.pendingErasures) throw erasuresUnseen();
    if (!isBound) throw keysUnbound();
  });
}

/** Closes methods while `requireOpen` throws. */
function closedBy<M extends UnitMethods>(methods: M, requireOpen: () => void): M {
  const guarded = Object.entries(methods).map(([name, method]) => {
    if (ANSWERED_WHILE_CLOSED.includes(name)) return [name, method];
    return [
      name,
      (input: unknown) => {
        requireOpen();
        return method(input);
      },
    ];
  });
  return Object.fromEntries(guarded) as M;
}

export type ScopeParts = ReturnType<typeof makeParts>;

/** Builds the kernel's parts over one database. */
function makeParts(
  vertical: Vertical,
  unit: UnitContext,
  { onWork, foreignSeals }: ScopeUnitOptions,
  listeners: Listeners,
) {
  const { db } = unit;
  const permissions = makePermissions(db, vertical.manifest);
  unit.onRollback(permissions.forget);
  const { methods: presentRights, requireFree } = makePresentRights(unit, permissions);
  const subjectKeys = makeSubjectKeys(unit, foreignSeals);
  const pruned = makePruned(db);
  const events = makeEventStore(db, subjectKeys);
  const denials = makeDenialStore(db, pruned);
  const requests = makeRequests(unit, pruned);
  const settings = makeSettings(unit);
  const idempotency = makeIdempotency(db, subjectKeys);
  observeNewest(unit, events.newest(), [denials.newestId(), requests.newestId()]);
  const lanes = makeLanes(vertical);
  const wake = (): void => onWork?.(unit.key);
  const countInvoked = (): void => listeners.invoked?.(unit.key);
  const shared = {
    unit,
    vertical,
    permissions,
    presentRights,
    requireFree,
    denials,
    events,
    requests,
    settings,
    subjectKeys,
    pruned,
    lanes,
    works: makeWorkStore(db),
    requireEntity: makeRequireEntity(vertical.manifest),
    sql: unit.guarded({ protectedPrefix: SPINE_PREFIX, readOnly: false }),
    readOnlySql: unit.guarded({ protectedPrefix: SPINE_PREFIX, readOnly: true }),
    /** Wakes the runner after the commit. */
    wakeAfterCommit: (): void => {
      if (onWork) unit.afterCommit(wake);
    },
    onEvent: (event: EventRow, nowMs: number): void => {
      const listening = lanes.byType.get(event.type);
      if (listening && work.enqueue(event, listening, nowMs)) shared.wakeAfterCommit();
    },
  };
  const invoke = makeInvoke({
    ...shared,
    idempotency,
    onPerformed: () => {
      if (listeners.invoked) unit.afterCommit(countInvoked);
    },
  });
  const deliveries = makeDeliveryStore(db);
  const store = makeRetentionStore(db);
  const steps = makeSteps({
    store,
    pruned,
    lanes,
    removeDelivery: deliveries.remove,
    clearAnswers: idempotency.clear,
  });
  const housekeeping = makeHousekeeping({ unit, vertical, settings, store, pruned, steps });
  const work = makeWork({
    ...shared,
    store: deliveries,
    invoke,
    housekeeping,
    longWork: shared,
    reader: shared.readOnlySql,
  });
  return { ...shared, invoke, work, deliveries, housekeeping };
}

type Row = ReturnType<typeof makeScopeRow>;

/** The row of the scope, in memory until it changes or a call is rolled back. */
function makeScopeRow(unit: UnitContext) {
  let known: ScopeRow | null = null;
  const forget = (): void => {
    known = null;
  };
  unit.onRollback(forget);
  /** Returns null before the scope is provisioned. */
  const find = (): ScopeRow | null => {
    known ??=
      unit.db.get<ScopeRow>(
        'SELECT tenant_id AS tenantId, name, latecomers AS pendingErasures FROM _spine_scope WHERE singleton = 1',
      ) ?? null;
    return known;
  };
  const require = (): ScopeRow => {
    const found = find();
    if (!found) throw unknownScope();
    return found;
  };
  return { find, require, forget };
}

/** Its existence, its operations and its own work. */
function makeOwnMethods(
  { unit, subjectKeys, invoke, work, settings, vertical, ...parts }: ScopeParts,
  row: Row,
) {
  return {
    provision: (input) => {
      const { tenantId, name } = parseInput('The scope', provisionInput, input);
      const existing = row.find();
      if (existing) {
        if (existing.tenantId !== tenantId) throw unknownScope();
        return 'unchanged';
      }
      unit.db.run(
        'INSERT INTO _spine_scope (singleton, tenant_id, name, provisioned_at, scope_id) VALUES (1, ?, ?, ?, ?)',
        tenantId,
        name,
        unit.now(),
        unit.key,
      );
      // Its schedules and its housekeeping begin.
      parts.wakeAfterCommit();
      return 'provisioned';
    },
    identify: () => {
      const { tenantId, name } = row.require();
      return { tenantId, name };
    },
    invoke: ({ tenantId, ...input }) => {
      const own = row.require();
      if (tenantId !== undefined && tenantId !== own.tenantId) throw unknownScope();
      if (input.keys) subjectKeys.supply(input.keys);
      const result = invoke(input);
      const keyWork = input.keys === undefined ? null : subjectKeys.waits();
      return keyWork === null ? result : { ...result, keyWork };
    },
    work: (input) => {
      row.require();
      if (input.keys) subjectKeys.supply(input.keys);
      return work.work(input);
    },
    settle: work.settle,
    projectSettings: (input) => {
      requireRetentionSetting(vertical, input.settings);
      return settings.projectSettings(input);
    },
    projectEntitlements: settings.projectEntitlements,
    retention: () => parts.housekeeping.state(),
  } satisfies Partial<ScopeMethods>;
}

/** The keys of persons, for a host with a vault. */
function makeKeyMethods(unit: UnitContext, subjectKeys: SubjectKeys, row: Row, onAllBound: () => void) {
  return {
    provideKeys: (supply) => {
      subjectKeys.supply(supply);
      return null;
    },
    keyWork: ({ limit }) => ({ tenantId: row.require().tenantId, ...subjectKeys.work(limit) }),
    keysBound: ({ bindings, vaultMissing = false }) => {
      const more = subjectKeys.bound(bindings);
      if (!more || vaultMissing) unit.afterCommit(onAllBound);
      return { more };
    },
    heldKeys: ({ subject }) => subjectKeys.heldBy(subject),
    freezeKeys: ({ frozen }) => {
      subjectKeys.freeze(frozen);
      return null;
    },
    giveUpKeys: () => subjectKeys.giveUp(),
    pendingErasures: () => {
      const { tenantId, pendingErasures } = row.require();
      return { tenantId, mark: pendingErasures };
    },
  } satisfies Partial<ScopeMethods>;
}

/** Admits only a copy of a scope, with its long work halted. A restore takes one of the same tenant, which `identify` tells. */
function admitScope(staged: SqlDatabase): void {
  const found = staged.get('SELECT 1 FROM _spine_scope WHERE singleton = 1');
  if (!found)
    throw new PlatformError('validation_failed', 'This is not a copy of a scope.', {
      reason: 'copy_foreign',
    });
  haltWorks(staged);
}

/**
 * Makes every id greater than any that this scope has stored. A vertical's own ids are not stored here, so the factory
 * continues one millisecond after the end of the last invocation, in which all of its ids were made.
 */
function observeNewest(
  unit: UnitContext,
  newest: { readonly ids: readonly string[]; readonly endedAtMs: number },
  others: readonly (string | undefined)[],
): void {
  const ids = [...newest.ids, ...others].filter((id) => id !== undefined);
  const lastMs = Math.max(newest.endedAtMs, ...ids.map(timeOfId));
  if (lastMs > 0) unit.newId.observe(firstIdAt(ID_PREFIXES.event, lastMs + 1));
}

function unknownScope(): PlatformError {
  return new PlatformError('not_found', 'There is no such scope.', { reason: 'unknown_scope' });
}
