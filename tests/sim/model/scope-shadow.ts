/** The shadow of a scope: the effect of each method on the model, and its answer. */
import { canonicalJson, type EntityRef } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { nameOf, summary, textOf, type WatchedCall } from '../engine/watch.ts';
import { BANK } from '../ledger/ledger.ts';
import {
  type CallWorld,
  invoke,
  ModelFailure,
  type ModelRequest,
  makeCallWorld,
  nothingRecorded,
  whole,
} from './calls.ts';
import { comparable, proofOf, READS, requestRecord, requireScope, unknownScope } from './reads.ts';
import { areCarried, carryRights, presentRights, sortedRights } from './rights.ts';
import { assignRole, projectRoles, revokeRole, setRoles } from './roles.ts';
import { requireNothingNew, settle } from './settle.ts';
import { makeShadow, type Shadow, type ShadowParts } from './shadow.ts';
import {
  type Difference,
  difference,
  MIRRORS,
  makeScopeState,
  type ScopeState,
  sealedDifference,
} from './state.ts';
import type { Contents } from './tables.ts';
import { retryDeadLetter, settleDelivery, type WorkMemory, work } from './work.ts';

export interface ScopeShadow extends Shadow {
  readonly state: ScopeState;
  /** The caller was told that this person was erased. */
  erased(person: string): void;
  readonly erasedPersons: ReadonlySet<string>;
  /** An older state came back and answers no call, because the vault was not asked since. */
  readonly isMarked: boolean;
  /**
   * Checks that no erased person is back. While an older state is on its way, or is marked, that is not settled yet.
   */
  requireErased(): void;
}

export interface ScopeShadowParts
  extends Omit<
    ShadowParts,
    'tables' | 'execute' | 'requireNothingLeft' | 'difference' | 'forget' | 'admitted'
  > {
  readonly now: () => number;
  /** The key of a person, from the vault's shadow. */
  readonly keyOf: (scopeId: string, person: string) => Uint8Array | 'destroyed' | undefined;
  /** Whether the outside system has done the work of a delivery at least once. */
  readonly wasDone: (subscriber: string, event: string) => boolean;
}

interface Receipt {
  readonly subject: string;
  readonly keyDigest: string | null;
  readonly shreddedAt: string;
}

interface Supply {
  readonly keys?: Readonly<Record<string, { readonly key: string } | { readonly shredded: Receipt }>>;
}
interface Brought {
  readonly keys?: Supply;
}

/** The methods that answer before the vault was asked. */
const WHILE_MARKED: readonly string[] = [
  'freezeKeys',
  'keyWork',
  'keysBound',
  'pendingErasures',
  'provideKeys',
  'provision',
  'redactPendingErasures',
];

export function makeScopeShadow(parts: ScopeShadowParts): ScopeShadow {
  const { unit, judge, now, keyOf, wasDone } = parts;
  const state = makeScopeState();
  const keys = new Map<string, 'key' | 'erased'>();
  const memory: WorkMemory = { firstLane: 0 };
  const erasedPersons = new Set<string>();
  let isHeld = false;
  // The rows of the vertical's first migration.
  state.accounts.set(BANK, { id: BANK, balance: 0 });
  state.tables.commit();
  const fresh = state.tables.snapshot();
  state.accounts.delete(BANK);
  state.tables.commit();

  const isMarked = (): boolean => state.scope.get('scope')?.mark != null;

  /** Stores the keys that a host passes in. They stay even if the call fails. */
  const learn = ({ keys: supply }: Brought): void => {
    for (const [person, found] of Object.entries(supply?.keys ?? {})) {
      // A late key must not bring back data that was destroyed in the meantime.
      const isErased = keys.get(person) === 'erased' || state.shredded.has(person);
      keys.set(person, 'key' in found && !isErased ? 'key' : 'erased');
    }
  };

  /** Performs a method. Returns a function that makes its answer once all ids are known. */
  const perform = (world: CallWorld, { method, input }: WatchedCall): (() => unknown) => {
    if (isMarked() && !WHILE_MARKED.includes(method))
      throw new ModelFailure('unavailable', 'erasures_unseen');
    const read = READS[method];
    if (read) {
      const value = read({ state, nowMs: world.nowMs, keys }, input as never);
      return () => value;
    }
    switch (method) {
      case 'provision': {
        const { tenantId, name } = input as { tenantId: string; name: string };
        const existing = state.scope.get('scope');
        if (existing && existing.tenantId !== tenantId) throw unknownScope();
        if (!existing) state.scope.set('scope', { tenantId, name, mark: null });
        return () => (existing ? 'unchanged' : 'provisioned');
      }
      case 'invoke':
        requireScope(state);
        return invoke(world, input as ModelRequest, (denial) => world.recorded.denials.push(denial));
      case 'work':
        requireScope(state);
        return whole(world, () => work(world, memory));
      case 'settle': {
        const given = input as Parameters<typeof settleDelivery>[1];
        const answer = settleDelivery(world, given);
        if (answer.settled && !given.error && !given.handedBack && !wasDone(given.subscriber, given.event))
          judge.fail(
            'deliveries',
            `${given.subscriber} is rid of ${given.event}, and the outside system has not done it`,
          );
        return () => answer;
      }
      case 'retryDeadLetter':
        return always(retryDeadLetter(world, input as Parameters<typeof retryDeadLetter>[1]));
      case 'assignRole':
        return always(assignRole(world, input as never));
      case 'revokeRole':
        return always(revokeRole(world, input as never));
      case 'setRoles':
        return always(setRoles(world, input as never));
      case 'projectRoles':
        return always(projectRoles(world, input as never));
      case 'check':
        return always(check(world, input as never));
      case 'projectSettings': {
        for (const key of state.settings.keys()) state.settings.delete(key);
        const { settings } = input as { settings: Record<string, string> };
        for (const [key, value] of Object.entries(settings)) state.settings.set(key, { key, value });
        return always(null);
      }
      case 'provideKeys':
        return always(null);
      case 'keysBound':
        return always({ more: false });
      case 'freezeKeys':
        return always(null);
      case 'presentRights':
        return always(presentRights(state));
      case 'holdRights': {
        const { known } = input as { known: Parameters<typeof areCarried>[1] | null };
        isHeld = known !== null && areCarried(state, known);
        return always(isHeld);
      }
      case 'giveUpKeys':
        return always([]);
      case 'redact': {
        const { receipt } = input as { receipt: Receipt };
        keys.set(receipt.subject, 'erased');
        redact(state, receipt);
        return always(null);
      }
      case 'redactPendingErasures': {
        const { mark, receipts } = input as { mark: string; receipts: readonly Receipt[] };
        const row = requireScope(state);
        if (row.mark !== mark) return always(null);
        for (const receipt of receipts.filter(({ subject }) => !state.shredded.has(subject))) {
          keys.set(receipt.subject, 'erased');
          redact(state, receipt);
        }
        state.scope.set('scope', { ...row, mark: null });
        return always(null);
      }
      case 'settlePlatformRequest':
        return settleRequest(world, input as never);
      default:
        throw new Error(`the model knows no method ${method}`);
    }
  };

  const execute = (call: WatchedCall, db: SqlDatabase): void => {
    const { outcome } = call;
    if (!outcome) return;
    const what = `${nameOf(unit)}.${call.method} ${textOf(call.input)}`;
    const world = makeCallWorld({ state, nowMs: now(), keys, isHeld });
    const mark = state.tables.mark();
    let make: (() => unknown) | null = null;
    let failure: ModelFailure | null = null;
    try {
      make = perform(world, call);
    } catch (error) {
      if (!(error instanceof ModelFailure)) throw error;
      failure = error;
      state.tables.rollback(mark);
    }
    if (failure) {
      const expected = `${failure.code}/${failure.reason}`;
      const found = outcome.ok ? summary(outcome) : `${outcome.failure.code}/${outcome.failure.reason ?? ''}`;
      if (
        found !== expected &&
        !(failure.code === 'validation_failed' && found.startsWith('validation_failed/'))
      )
        judge.fail('outcome', `${what} came to ${found} instead of ${expected}`);
      if (world.recorded.denials.length === 0) return;
      // A denial that is not recorded comes here as well, before it is undone.
      if (!call.hasWritten) judge.fail('denials', `${what} was refused, and the refusal is not written down`);
      const { denials } = world.recorded;
      settle({ ...world, recorded: { ...nothingRecorded(), denials } }, db, judge, what);
      return;
    }
    if (!outcome.ok) throw judge.fail('outcome', `${what} came to ${summary(outcome)} instead of a success`);
    settle(world, db, judge, what, call.method === 'work');
    const expected = canonicalJson(comparable(make?.() ?? null));
    const value = answerOf(call.method, outcome.value);
    const found = canonicalJson(comparable(value ?? null));
    if (found !== expected)
      judge.fail(
        call.method === 'work' || call.method === 'settle' ? 'deliveries' : 'outcome',
        `${what} answered ${found} instead of ${expected}`,
      );
  };

  const differs = (db: SqlDatabase, contents: Contents): Difference | null => {
    const isFresh = (contents.get('accounts')?.size ?? 0) === 0;
    const expected = isFresh ? fresh : contents;
    return (
      difference(db, expected, MIRRORS) ??
      sealedDifference(db, unit.key, expected.get('clear') ?? new Map(), (person) => keyOf(unit.key, person))
    );
  };

  const shadow = makeShadow({
    ...parts,
    tables: state.tables,
    begun: ({ method, input }) => {
      if (method === 'provideKeys') learn({ keys: input as Supply });
      else if (!isMarked() && (method === 'invoke' || method === 'work')) learn(input as Brought);
    },
    execute,
    requireNothingLeft: (db) => requireNothingNew(db, state, judge, nameOf(unit)),
    difference: differs,
    forget: () => {
      keys.clear();
      isHeld = false;
      memory.firstLane = 0;
      if (state.accounts.size === 0) state.tables.load(fresh);
    },
    admitted: (db, contents) => {
      const receipts = db
        .all<{ subject: string; keyDigest: string | null; shreddedAt: string }>(
          'SELECT subject, key_digest AS keyDigest, shredded_at AS shreddedAt FROM _spine_shredded',
        )
        .map((row) => ({ ...row }));
      const row = db.get<{ mark: string | null }>('SELECT latecomers AS mark FROM _spine_scope');
      return admitted(contents, { receipts, mark: row?.mark ?? 'a mark', present: state });
    },
  });

  return {
    ...shadow,
    get bookmarks() {
      return shadow.bookmarks;
    },
    get isSettled() {
      return shadow.isSettled;
    },
    state,
    erased: (person) => void erasedPersons.add(person),
    erasedPersons,
    get isMarked() {
      return isMarked();
    },
    requireErased: () => {
      if (isMarked()) return;
      const back = [...erasedPersons].find((person) => !state.shredded.has(person));
      if (back !== undefined)
        judge.fail('erasure', `${nameOf(unit)}: an older state came back with ${back}, who was erased`);
    },
  };
}

/** Removes the data of a person whose key was destroyed. */
function redact(state: ScopeState, receipt: Receipt): void {
  const { subject, keyDigest, shreddedAt } = receipt;
  for (const row of state.events.values()) {
    if (row.subject !== subject || row.payload === null) continue;
    state.events.set(row.id, { ...row, payload: JSON.stringify({ $shredded: { at: shreddedAt } }) });
    state.clear.delete(`event/${row.id}`);
  }
  state.people.delete(subject);
  if (!state.shredded.has(subject)) state.shredded.set(subject, { subject, keyDigest, shreddedAt });
}

/** Returns an older state as it comes back: with present rights, without the known erased persons, and with a mark. */
function admitted(
  contents: Contents,
  {
    receipts,
    mark,
    present,
  }: { readonly receipts: readonly Receipt[]; readonly mark: string; readonly present: ScopeState },
): Contents {
  const state = makeScopeState();
  state.tables.load(contents);
  const row = state.scope.get('scope');
  if (row) state.scope.set('scope', { ...row, mark });
  carryRights(state, present);
  for (const receipt of receipts) redact(state, receipt);
  state.tables.commit();
  return state.tables.snapshot();
}

function check(
  world: CallWorld,
  input: { readonly principal: string; readonly permission: string; readonly entity?: EntityRef },
): unknown {
  const proof = proofOf(world, input);
  if (proof) return proof;
  const { principal, permission, entity } = input;
  world.recorded.denials.push({
    id: '',
    actor: principal,
    permission,
    entityType: entity?.type ?? null,
    entityId: entity?.id ?? null,
    operation: null,
    at: world.nowMs,
  });
  throw new ModelFailure('permission_denied', permission.replaceAll('.', '_'));
}

function settleRequest(
  { state, nowMs }: CallWorld,
  input: {
    readonly id: string;
    readonly revision: number;
    readonly status: string;
    readonly result?: unknown;
  },
): () => unknown {
  const before = state.requests.get(input.id);
  if (!before) throw new ModelFailure('not_found', 'unknown_platform_request');
  const result = JSON.stringify(input.result ?? null);
  if (before.status !== 'pending') {
    const isSame = before.status === input.status && before.result === result;
    if (!isSame || input.revision !== before.revision - 1)
      throw new ModelFailure('invalid_transition', 'already_settled');
    return () => requestRecord(before);
  }
  if (input.revision !== before.revision) throw new ModelFailure('precondition_failed');
  const after = { ...before, status: input.status, result, revision: before.revision + 1, settledAt: nowMs };
  state.requests.set(input.id, after);
  return () => requestRecord(after);
}

/** Returns the part of an answer that the model knows. */
function answerOf(method: string, value: unknown): unknown {
  if (method === 'work') return claimsOf(value);
  return method === 'presentRights' ? sortedRights(value as Parameters<typeof sortedRights>[0]) : value;
}

/** Returns the answer of a round, with its claims by the ids of their events. */
function claimsOf(value: unknown): unknown {
  // The missing keys of a round are the vault's business; the effects show that nothing ran without them.
  const { claimed, needs, ...rest } = value as {
    readonly needs?: unknown;
    claimed: readonly { event: { id: string } }[];
  };
  return { ...rest, claimed: claimed.map((each) => ({ ...each, event: each.event.id })) };
}

function always(value: unknown): () => unknown {
  return () => value;
}
