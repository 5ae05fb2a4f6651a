/**
 * The work that a scope does by itself: events brought to subscriptions, lent to executors, schedules run. One call
 * is one transaction; each delivery in it has a savepoint, so that a poisonous event costs nobody but its own lane.
 */
import { type ActorId, type EventRecord, PlatformError, type SubjectReader } from '@freehold/contracts';
import { RollbackThen, TransactionLost, type UnitContext } from '@freehold/store';
import type { EventStore } from '../events/store.ts';
import type { Invoke, InvokeInput, InvokeOptions } from '../invoke.ts';
import { soundError } from '../lib/thrown.ts';
import type { makeHousekeeping } from '../retention/housekeeping.ts';
import {
  isKeysNeeded,
  isNothing,
  joinNeeds,
  type KeyNeeds,
  NO_NEEDS,
  needsOf,
} from '../sealing/key-needs.ts';
import type { Vertical } from '../vertical.ts';
import {
  CHAIN_DEFAULT,
  type ClaimedDelivery,
  type DeliveryResult,
  type Schedule,
  type Subscription,
  type WaitingEvent,
  type WorkDone,
  type WorkRequest,
} from './declarations.ts';
import { type Lane, type Lanes, nextRunMs } from './lanes.ts';
import type { DeliveryKey, DeliveryRow, makeDeliveryStore } from './store.ts';

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
  readonly invoke: Invoke;
  readonly store: ReturnType<typeof makeDeliveryStore>;
  readonly housekeeping: ReturnType<typeof makeHousekeeping>;
  /** What declarations of subjects may read. */
  readonly reader: SubjectReader;
}

/** A round takes in what was brought once; each of its calls has a vault behind it, and brings nothing more. */
const NOTHING_MORE = {} as const;

/** Builds what a scope does by itself. */
export function makeWork(parts: WorkParts) {
  const { unit, vertical, lanes, store, events, invoke, housekeeping, reader } = parts;
  const schedules = Object.entries(vertical.schedules ?? {});
  const { chainMax = CHAIN_DEFAULT } = vertical;
  /** Where the next round begins: behind the lane at which the last one had done enough, so that none has to starve. */
  let firstLane = 0;
  /** How this round was asked for. */
  let asked: WorkRequest = {};
  /** What this round lacks so far. */
  let needs: KeyNeeds = NO_NEEDS;

  /** Whether something waits for keys: then its handler has not run, and it stays where it is. */
  const waitsForKeys = (thrown: unknown): boolean => {
    if (asked.withoutKeys || !isKeysNeeded(thrown)) return false;
    const lacking = needsOf(thrown);
    needs = joinNeeds(needs, lacking);
    return !isNothing(lacking);
  };

  /** Runs an operation as a service in a savepoint. Answers what it failed with, or null. */
  const attempt = (input: InvokeInput, options: InvokeOptions, done: () => void): Error | null => {
    try {
      unit.db.savepoint(() => {
        invoke(asked.keys === undefined ? input : { ...input, keys: NOTHING_MORE }, options);
        done();
      });
      return null;
    } catch (thrown) {
      if (thrown instanceof TransactionLost) throw thrown;
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

  const giveUpChain = (key: DeliveryKey, nowMs: number): void =>
    store.giveUp({
      ...key,
      attempts: 0,
      firstAtMs: nowMs,
      lastAtMs: nowMs,
      code: 'conflict',
      detail: chainEnded(chainMax),
    });

  /** Brings the head of a subscription's lane. Answers whether the lane moved on, or that it waits for keys. */
  const deliver = (lane: Lane, row: DeliveryRow): boolean | 'waits' => {
    if (lane.listener.kind !== 'subscription') return false;
    const { operation, as, input, subjects } = lane.listener.subscription;
    const key = { subscriber: lane.subscriber, type: lane.type, event: row.event };
    let failure: Error | null;
    try {
      const found = events.delivered(row.event);
      // It was lost with a damaged log: there is nothing to deliver.
      if (!found) {
        store.remove(key);
        return true;
      }
      const { event, hops } = found;
      const value = input ? input(event) : { event: event.id };
      const call = { operation, input: value, principal: `service:${as}` as ActorId, cause: event.id };
      const declared = declaredBy(event, subjects);
      failure = attempt(call, { declared, causeHops: hops }, () => store.remove(key));
    } catch (thrown) {
      if (thrown instanceof TransactionLost) throw thrown;
      failure = soundError(operation, thrown);
      if (!isKeysNeeded(failure)) unit.report(failure, operation);
    }
    if (failure !== null && waitsForKeys(failure)) return 'waits';
    return failure === null || fail(lane, row, row.attempts + 1, describe(failure));
  };

  /** Whom a delivery touches: the person of its event, and those whom its listener names. */
  const declaredBy = (event: EventRecord, subjects: Subscription['subjects']): string[] => [
    ...(event.subject === null ? [] : [event.subject]),
    ...(subjects?.(event, reader) ?? []),
  ];

  /**
   * Lends the head of an executor's lane, until its time and a margin are over. When there is nothing to lend, it answers
   * whether the lane moved on.
   */
  const claim = (lane: Lane, row: DeliveryRow, timeoutMs: number): ClaimedDelivery | boolean | 'waits' => {
    const nowMs = unit.now();
    const key = { subscriber: lane.subscriber, type: lane.type, event: row.event };
    const attempts = row.attempts + 1;
    let event: EventRecord | null;
    try {
      event = events.record(row.event);
    } catch (thrown) {
      if (!isKeysNeeded(thrown)) throw thrown;
      if (waitsForKeys(thrown)) return 'waits';
      return fail(lane, row, attempts, describe(thrown));
    }
    if (!event) {
      store.remove(key);
      return true;
    }
    // The claim before this one was never answered, and it was the last.
    if (attempts > lane.attemptsMax)
      return fail(lane, row, row.attempts, { code: 'unavailable', detail: 'No answer came in time.' });
    const next = row.claim + 1;
    store.defer(key, { attempts, claim: next, nextAtMs: nowMs + timeoutMs + CLAIM_MARGIN_MS, nowMs });
    return { subscriber: lane.subscriber, event, attempt: attempts, claim: next };
  };

  /** Runs a schedule that is due. One that waits for keys runs in the next round. */
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
      {},
      () => undefined,
    );
    if (failure !== null && waitsForKeys(failure)) return { ran: false, nextAtMs: nowMs };
    store.saveSchedule({
      key,
      pattern,
      nextAtMs,
      ran: { atMs: nowMs, outcome: failure === null ? 'done' : describe(failure).code },
    });
    return { ran: true, nextAtMs };
  };

  const round = (): WorkDone => {
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
    let next = 0;
    for (let i = 0; i < lanes.all.length; i++) {
      const at = (firstLane + i) % lanes.all.length;
      const lane = lanes.all[at] as Lane;
      let heads: DeliveryRow[] = [];
      for (;;) {
        // One more than can be brought, which says when the lane goes on.
        if (heads.length === 0) heads = store.heads(lane.subscriber, lane.type, budget + 1);
        const head = heads.shift();
        if (!head) break;
        if (head.nextAtMs > unit.now() || budget === 0) {
          wait(head.nextAtMs);
          break;
        }
        budget -= 1;
        if (budget === 0) next = at + 1;
        const { listener } = lane;
        const done =
          listener.kind === 'executor' ? claim(lane, head, listener.timeoutMs) : deliver(lane, head);
        if (done === 'waits') {
          needs = joinNeeds(needs, ahead(lane));
          break;
        }
        if (typeof done === 'object') claimed.push(done);
        else if (done) settled += 1;
        // The head is where it was, with another time: nothing behind it comes first.
        if (done !== true) heads = [];
      }
    }
    firstLane = next % Math.max(1, lanes.all.length);
    const kept = housekeeping.round();
    wait(kept.nextAtMs);
    return {
      settled,
      claimed,
      nextAtMs,
      ...(isNothing(needs) ? {} : { needs }),
      ...(kept.sweep ? { sweep: true } : {}),
    };
  };

  /** The persons of the events of a lane whose keys are not here: fetched together with those of its head. */
  const ahead = ({ subscriber, type }: Lane): KeyNeeds => ({
    subjects: events.keyless(store.first(subscriber, type, ROUND_MAX)),
    pool: null,
  });

  return {
    /**
     * Puts an event in line for everybody who listens to its type. Answers whether it is in line. At the end of a chain
     * that is too long it is a dead letter at once: two subscriptions that set each other off would never end.
     */
    enqueue: ({ id, type, hops }: WaitingEvent, nowMs: number): boolean => {
      const listening = lanes.of(type);
      if (listening.length === 0) return false;
      for (const { subscriber } of listening) {
        if (hops < chainMax) store.insert({ subscriber, type, event: id }, nowMs);
        else giveUpChain({ subscriber, type, event: id }, nowMs);
      }
      if (hops >= chainMax) unit.report(new TypeError(`${type}: ${chainEnded(chainMax)}`), 'work');
      return hops < chainMax;
    },

    /** One round: at most 50 deliveries, lane by lane, each lane as far as it goes; and a part of the housekeeping. */
    work: (request: WorkRequest): WorkDone => {
      asked = request;
      needs = NO_NEEDS;
      return round();
    },

    /** What became of a claimed delivery. An answer to a claim that is over changes nothing. */
    settle: ({
      subscriber,
      event,
      claim: answered,
      error,
      handedBack,
    }: DeliveryResult): { readonly settled: boolean } => {
      const type = events.record(event, true)?.type ?? '';
      const lane = lanes.find(subscriber, type);
      const row = store.one({ subscriber, type, event });
      if (!lane || !row || row.claim !== answered) return { settled: false };
      const [key, nowMs] = [{ subscriber, type, event }, unit.now()];
      if (handedBack)
        store.defer(key, { attempts: row.attempts - 1, claim: row.claim + 1, nextAtMs: nowMs, nowMs });
      else if (error === undefined) store.remove(key);
      else fail(lane, row, row.attempts, error);
      return { settled: true };
    },
  };
}

function chainEnded(chainMax: number): string {
  return `It is at the end of a chain of ${chainMax} deliveries, each of which set off the next; that is as many as may follow one another here.`;
}

/** A failure as it is kept: our own words for what was meant for people, and none for what was not. */
export function describe(error: Error): { readonly code: string; readonly detail: string } {
  if (isKeysNeeded(error))
    return { code: error.code, detail: 'The key of a person whom this is about cannot be had.' };
  return error instanceof PlatformError
    ? { code: error.code, detail: error.message }
    : { code: 'internal', detail: 'The vertical failed; the incident log has more.' };
}
