/** Compares the recorded rows of a call with the model's, and gives the model the ids. */
import { canonicalJson } from '@freehold/contracts';
import type { SqlDatabase, SqlRow } from '@freehold/store';
import type { Invariant, Judge } from '../lib/violation.ts';
import type { CallWorld, DeferredDelivery, PendingEvent, Recorded } from './calls.ts';
import { DENIAL_ROWS, EVENT_ROWS, INVOCATION_ROWS, REQUEST_ROWS, type ScopeState } from './state.ts';

const KINDS = [
  { name: 'events', sql: EVENT_ROWS, invariant: 'history' },
  { name: 'invocations', sql: INVOCATION_ROWS, invariant: 'history' },
  { name: 'denials', sql: DENIAL_ROWS, invariant: 'denials' },
  { name: 'requests', sql: REQUEST_ROWS, invariant: 'all_or_nothing' },
] as const satisfies { name: keyof Recorded; sql: string; invariant: Invariant }[];

type Kind = (typeof KINDS)[number];

const PROVISIONAL_IDS = /~\d{6}/g;

/** Returns the rows that are newer than the model's newest. */
function newRows(db: SqlDatabase, state: ScopeState, { name, sql }: Kind): SqlRow[] {
  return db.all(`${sql} WHERE id > ? ORDER BY id`, state.newest.get(name) ?? '').map((row) => ({ ...row }));
}

/** Checks that a failed call recorded nothing. */
export function requireNothingNew(db: SqlDatabase, state: ScopeState, judge: Judge, what: string): void {
  for (const kind of KINDS) {
    const [row] = newRows(db, state, kind);
    if (row)
      judge.fail('all_or_nothing', `${what} failed, and left ${kind.name} behind: ${canonicalJson(row)}`);
  }
}

/** Settles a call that succeeded, or whose refusal was recorded. */
export function settle(world: CallWorld, db: SqlDatabase, judge: Judge, what: string, isWork = false): void {
  const { state, recorded } = world;
  const found = KINDS.map((kind) => ({
    kind,
    rows: newRows(db, state, kind),
    // Background work of a scope has a delivery or a schedule as its cause.
    invariant: isWork && kind.invariant === 'history' ? ('deliveries' as const) : kind.invariant,
  }));
  // Rows name one another, so all ids must be known before any row is judged.
  for (const each of found) learnIds(world, each, judge, what);
  for (const each of found) judgeRows(world, each, judge, what);
  for (const event of recorded.events) remember(world, event);
  if (recorded.events.length > 0) renameNotes(world);
  for (const delivery of recorded.deferred) learnDelay(world, db, judge, delivery);
  for (const task of recorded.later) task();
}

interface Found {
  readonly kind: Kind;
  readonly rows: readonly SqlRow[];
  readonly invariant: Invariant;
}

/** Pairs expected and recorded rows, in order. */
function learnIds(
  { recorded, real }: CallWorld,
  { kind, rows, invariant }: Found,
  judge: Judge,
  what: string,
): void {
  const pending = recorded[kind.name];
  if (rows.length !== pending.length)
    judge.fail(
      invariant,
      `${what} recorded ${rows.length} ${kind.name} instead of ${pending.length}: ${canonicalJson(rows)} instead of ${canonicalJson(pending)}`,
    );
  rows.forEach((row, i) => void real.set((pending[i] as { id: string }).id, String(row.id)));
}

function judgeRows(world: CallWorld, { kind, rows, invariant }: Found, judge: Judge, what: string): void {
  const { state, recorded } = world;
  const { name } = kind;
  rows.forEach((row, i) => {
    const { clear: _clear, ...expected } = { clear: null, ...recorded[name][i], id: String(row.id) };
    const wanted = withRealIds(world, expected);
    const [is, should] = [canonicalJson(row), canonicalJson(wanted)];
    if (is !== should) judge.fail(invariant, `${what} recorded in ${name} ${is} instead of ${should}`);
    (state[name] as { set(key: string, value: object): void }).set(wanted.id, wanted);
    state.newest.set(name, wanted.id);
  });
}

/** A provisional id may stand in any text: a subscription makes its input of the event's. */
function withRealIds<T>(world: CallWorld, value: T): T {
  return JSON.parse(withRealText(world, JSON.stringify(value)));
}

function withRealText({ real }: CallWorld, text: string): string {
  return text.replaceAll(PROVISIONAL_IDS, (id) => real.get(id) ?? id);
}

/** Renames notes that a subscription wrote under the id of an event of the same round. */
function renameNotes(world: CallWorld): void {
  const { notes } = world.state;
  for (const key of notes.keys().filter((each) => each.includes('~'))) {
    const row = withRealIds(world, notes.get(key) as { id: string; value: string });
    notes.delete(key);
    notes.set(row.id, row);
  }
}

/** Stores an event under its real id. */
function remember(world: CallWorld, event: PendingEvent): void {
  const { state, real } = world;
  const id = real.get(event.id) as string;
  state.newest.set(`version ${event.entityType} ${withRealText(world, event.entityId)}`, id);
  if (event.clear !== null) state.clear.set(`event/${id}`, event.clear);
  for (const row of state.deliveries.values().filter((each) => each.event === event.id)) {
    state.deliveries.delete(`${row.subscriber} ${row.type} ${event.id}`);
    state.deliveries.set(`${row.subscriber} ${row.type} ${id}`, { ...row, event: id });
  }
  for (const row of state.dead.values().filter((each) => each.event === event.id)) {
    state.dead.delete(`${event.id} ${row.subscriber}`);
    state.dead.set(`${id} ${row.subscriber}`, { ...row, event: id });
  }
}

/** Reads when a delivery comes again: chance decides within bounds. */
function learnDelay(
  { state, real }: CallWorld,
  db: SqlDatabase,
  judge: Judge,
  { subscriber, type, event: pending, earliestMs, latestMs }: DeferredDelivery,
): void {
  const event = real.get(pending) ?? pending;
  const key = `${subscriber} ${type} ${event}`;
  const row = state.deliveries.get(key);
  const found = db.get<{ nextAt: number }>(
    'SELECT next_at AS nextAt FROM _spine_deliveries WHERE subscriber = ? AND type = ? AND event = ?',
    subscriber,
    type,
    event,
  );
  if (!found || !row) throw judge.fail('deliveries', `the delivery ${key} is gone; it was to be tried again`);
  if (found.nextAt < earliestMs || found.nextAt > latestMs)
    judge.fail(
      'deliveries',
      `the delivery ${key} waits until ${found.nextAt}; expected ${earliestMs} to ${latestMs}`,
    );
  state.deliveries.set(key, { ...row, nextAt: found.nextAt });
}
