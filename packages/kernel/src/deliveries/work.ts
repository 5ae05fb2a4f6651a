/**
 * The work that a scope does by itself: events brought to subscriptions, lent to executors, schedules run. One call
 * is one transaction; each delivery in it has a savepoint, so that a poisonous event costs nobody but its own lane.
 */
import {
  type ActorId,
  cutPage,
  type DeadLetter,
  decodeCursor,
  type EventId,
  type EventRecord,
  type Page,
  PlatformError,
  toTimestamp,
} from '@freehold/contracts';
import { RollbackThen, TransactionLost, type UnitContext } from '@freehold/store';
import type { EventStore } from '../events/store.ts';
import type { InvokeInput } from '../invoke.ts';
import { soundError } from '../lib/thrown.ts';
import { isKeysNeeded } from '../sealing/subject-keys.ts';
import type { Vertical } from '../vertical.ts';
import type { ClaimedDelivery, DeliveryResult, Schedule, WorkDone } from './declarations.ts';
import { type Lane, type Lanes, nextRunMs } from './lanes.ts';
import { type DeadLetterRow, type DeliveryRow, makeDeliveryStore } from './store.ts';

/** How many deliveries one call makes at most, so that people's calls are not kept waiting. */
const ROUND_MAX = 50;
/** The first wait after a failure; each further one is twice as long. */
const BACKOFF_MS = 1_000;
const BACKOFF_MAX_MS = 3_600_000;
/** Beyond an executor's own time: for its answer to arrive. */
const CLAIM_MARGIN_MS = 30_000;
/** What is kept of a failure's words. */
const DETAIL_LENGTH_MAX = 500;

export interface WorkParts {
  readonly unit: UnitContext;
  readonly vertical: Vertical;
  readonly lanes: Lanes;
  readonly events: EventStore;
  readonly invoke: (input: InvokeInput) => unknown;
}

/** Builds what a scope does by itself. */
export function makeWork({ unit, vertical, lanes, events, invoke }: WorkParts) {
  const store = makeDeliveryStore(unit.db);
  const schedules = Object.entries(vertical.schedules ?? {});

  /** Runs an operation as a service in a savepoint. Answers what it failed with, or null. */
  const attempt = (input: InvokeInput, done: () => void): Error | null => {
    try {
      unit.db.savepoint(() => {
        invoke(input);
        done();
      });
      return null;
    } catch (thrown) {
      if (thrown instanceof TransactionLost || isKeysNeeded(thrown)) throw thrown;
      if (thrown instanceof RollbackThen) {
        unit.db.savepoint(thrown.write);
        return thrown.error;
      }
      const error = soundError(input.operation, thrown);
      if (!(error instanceof PlatformError)) unit.report(error, input.operation);
      return error;
    }
  };

  /** Twice as long each time, give or take a fifth, so that what failed together is not tried together. */
  const backoffMs = (attempts: number): number => {
    const wait = Math.min(BACKOFF_MAX_MS, BACKOFF_MS * 2 ** Math.min(attempts - 1, 30));
    const [dice = 128] = unit.random(1);
    return Math.round(wait * (0.8 + (dice / 255) * 0.4));
  };

  /** Puts a failed delivery off, or gives it up after its last attempt. Answers whether that was the end of it. */
  const fail = (lane: Lane, row: DeliveryRow, attempts: number, error: DeliveryResult['error']): boolean => {
    const nowMs = unit.now();
    const key = { subscriber: lane.subscriber, type: lane.type, event: row.event };
    if (attempts < lane.attemptsMax) {
      store.defer(key, { attempts, claim: row.claim + 1, nextAtMs: nowMs + backoffMs(attempts), nowMs });
      return false;
    }
    store.giveUp({
      ...key,
      attempts,
      firstAtMs: row.firstAtMs ?? nowMs,
      lastAtMs: nowMs,
      code: error?.code ?? 'internal',
      detail: error?.detail.slice(0, DETAIL_LENGTH_MAX) ?? '',
    });
    return true;
  };

  /** Brings the head of a subscription's lane. Answers whether the lane moved on. */
  const deliver = (lane: Lane, row: DeliveryRow): boolean => {
    if (lane.listener.kind !== 'subscription') return false;
    const { operation, as, input } = lane.listener.subscription;
    const key = { subscriber: lane.subscriber, type: lane.type, event: row.event };
    const event = events.record(row.event);
    // Pruned by policy since: there is nothing to tell any more.
    if (!event) {
      store.remove(key);
      return true;
    }
    let failure: Error | null;
    try {
      const value = input ? input(event) : { event: event.id };
      const call = { operation, input: value, principal: `service:${as}` as ActorId, cause: event.id };
      failure = attempt(call, () => store.remove(key));
    } catch (thrown) {
      if (thrown instanceof TransactionLost || isKeysNeeded(thrown)) throw thrown;
      failure = soundError(operation, thrown);
      unit.report(failure, operation);
    }
    return failure === null || fail(lane, row, row.attempts + 1, describe(failure));
  };

  /** Lends the head of an executor's lane, until its time and a margin are over. */
  const claim = (lane: Lane, row: DeliveryRow): ClaimedDelivery | null => {
    if (lane.listener.kind !== 'executor') return null;
    const nowMs = unit.now();
    const key = { subscriber: lane.subscriber, type: lane.type, event: row.event };
    const event = events.record(row.event);
    if (!event) {
      store.remove(key);
      return null;
    }
    const attempts = row.attempts + 1;
    // The claim before this one was never answered, and it was the last.
    if (attempts > lane.attemptsMax) {
      fail(lane, row, row.attempts, { code: 'unavailable', detail: 'No answer came in time.' });
      return null;
    }
    const { timeoutMs } = lane.listener;
    const next = row.claim + 1;
    store.defer(key, { attempts, claim: next, nextAtMs: nowMs + timeoutMs + CLAIM_MARGIN_MS, nowMs });
    return { subscriber: lane.subscriber, event, attempt: attempts, claim: next };
  };

  const runSchedule = ([key, schedule]: [string, Schedule]): { ran: boolean; nextAtMs: number | null } => {
    const nowMs = unit.now();
    const pattern = `${schedule.cron} ${schedule.timezone ?? 'UTC'}`;
    const known = store.schedule(key);
    if (known?.pattern === pattern && known.nextAtMs > nowMs) return { ran: false, nextAtMs: known.nextAtMs };
    const nextAtMs = nextRunMs(schedule, nowMs);
    if (nextAtMs === null) return { ran: false, nextAtMs: null };
    if (known?.pattern !== pattern) {
      store.saveSchedule({ key, pattern, nextAtMs });
      return { ran: false, nextAtMs };
    }
    // However many times were missed while nothing ran, one run makes up for them.
    const failure = attempt(
      {
        operation: schedule.operation,
        input: schedule.input ?? {},
        principal: `service:${schedule.as}` as ActorId,
      },
      () => undefined,
    );
    store.saveSchedule({
      key,
      pattern,
      nextAtMs,
      ran: { atMs: nowMs, outcome: failure === null ? 'done' : describe(failure).code },
    });
    return { ran: true, nextAtMs };
  };

  return {
    /** Puts an event in line for everybody who listens to its type. Answers whether anybody does. */
    enqueue: (event: { readonly id: EventId; readonly type: string }, nowMs: number): boolean => {
      const listening = lanes.of(event.type);
      for (const { subscriber } of listening)
        store.insert({ subscriber, type: event.type, event: event.id }, nowMs);
      return listening.length > 0;
    },

    /** One round: at most 50 deliveries, lane by lane, each lane as far as it goes. */
    work: (): WorkDone => {
      let settled = 0;
      let nextAtMs: number | null = null;
      const wait = (atMs: number | null): void => {
        if (atMs !== null) nextAtMs = nextAtMs === null ? atMs : Math.min(nextAtMs, atMs);
      };
      for (const schedule of schedules) {
        const { ran, nextAtMs: next } = runSchedule(schedule);
        if (ran) settled += 1;
        wait(next);
      }
      const claimed: ClaimedDelivery[] = [];
      let budget = ROUND_MAX;
      for (const lane of lanes.all) {
        for (;;) {
          const head = store.head(lane.subscriber, lane.type);
          if (!head) break;
          if (head.nextAtMs > unit.now() || budget === 0) {
            wait(head.nextAtMs);
            break;
          }
          budget -= 1;
          const lent = claim(lane, head);
          if (lent) claimed.push(lent);
          else if (lane.listener.kind === 'executor' || deliver(lane, head)) settled += 1;
        }
      }
      return { settled, claimed, nextAtMs };
    },

    /** What became of a claimed delivery. An answer to a claim that is over changes nothing. */
    settle: ({
      subscriber,
      event,
      claim: answered,
      error,
    }: DeliveryResult): { readonly settled: boolean } => {
      const type = events.record(event, true)?.type ?? '';
      const lane = lanes.find(subscriber, type);
      const row = store.one({ subscriber, type, event });
      if (!lane || !row || row.claim !== answered) return { settled: false };
      if (error === undefined) store.remove({ subscriber, type, event });
      else fail(lane, row, row.attempts, error);
      return { settled: true };
    },

    deadLetters: (query: {
      readonly subscriber?: string | undefined;
      readonly limit: number;
      readonly cursor?: string | undefined;
    }): Page<DeadLetter> => {
      const before = query.cursor === undefined ? undefined : keyOf(decodeCursor(query.cursor));
      const rows = store.deadLetters(query.subscriber, before, query.limit + 1);
      return cutPage(rows, query.limit, ({ event, subscriber }) => `${event} ${subscriber}`, toDeadLetter);
    },

    /** @throws PlatformError `not_found`, reason `unknown_dead_letter`. */
    retryDeadLetter: ({
      event,
      subscriber,
    }: {
      readonly event: string;
      readonly subscriber: string;
    }): null => {
      const row = store.deadLetter(event, subscriber);
      if (!row)
        throw new PlatformError('not_found', 'There is no such dead letter.', {
          reason: 'unknown_dead_letter',
        });
      store.revive(row, unit.now());
      return null;
    },
  };

  function toDeadLetter(row: DeadLetterRow): DeadLetter {
    return {
      event: events.record(row.event, true) as EventRecord,
      subscriber: row.subscriber,
      attempts: row.attempts,
      firstAttemptAt: toTimestamp(row.firstAtMs),
      lastAttemptAt: toTimestamp(row.lastAtMs),
      error: { code: row.code, detail: row.detail },
    };
  }
}

function keyOf(cursor: string): readonly [string, string] {
  const [event = '', subscriber = ''] = cursor.split(' ');
  return [event, subscriber];
}

/** A failure as it is kept: our own words for what was meant for people, and none for what was not. */
export function describe(error: Error): { readonly code: string; readonly detail: string } {
  return error instanceof PlatformError
    ? { code: error.code, detail: error.message }
    : { code: 'internal', detail: 'The vertical failed; the incident log has more.' };
}
