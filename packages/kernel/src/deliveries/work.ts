/**
 * The scope's own work: events brought to subscriptions, claimed for executors, schedules run. One call is one
 * transaction; each delivery in it has a savepoint, so that a poisonous event affects only its own lane.
 */
import { type ActorId, type EventRecord, PlatformError, type SubjectReader } from '@freehold/contracts';
import { RollbackThen, TransactionLost, type UnitContext } from '@freehold/store';
import type {
  ClaimedDelivery,
  DeliveryResult,
  WorkAttempt,
  WorkDone,
  WorkRequest,
} from '../contract/scope-methods.ts';
import type { EventRow, EventStore } from '../events/store.ts';
import { isKeysNeeded, isNothing, joinNeeds, type KeyNeeds, NO_NEEDS, needsOf } from '../keys/key-needs.ts';
import { soundError } from '../lib/thrown.ts';
import {
  dueWork,
  isFinalFailure,
  judgeProgram,
  type LifecycleParts,
  programToJudge,
  putOff,
  stepFailed,
  tidyWork,
} from '../long-work/lifecycle.ts';
import type { WorkEntry } from '../long-work/store.ts';
import type { Invoke, InvokeInput, InvokeOptions } from '../operations/invoke.ts';
import type { makeHousekeeping } from '../retention/housekeeping.ts';
import { CHAIN_DEFAULT, type Lane, type Lanes, nextRunMs, type Schedule } from '../vertical/listeners.ts';
import type { Vertical } from '../vertical/vertical.ts';
import { FailingReactions } from './failing-reactions.ts';
import { stepCall } from './step-call.ts';
import type { DeliveryRow, makeDeliveryStore } from './store.ts';

/** The greatest number of deliveries in one call, so that it does not delay the calls of people. */
const ROUND_MAX = 50;
/** The first wait after a failure; each further one is twice as long. */
const BACKOFF_MS = 1_000;
const BACKOFF_MAX_MS = 3_600_000;
/** Time beyond an executor's own for its answer to arrive. */
const CLAIM_MARGIN_MS = 30_000;
/** The greatest length of a stored failure text. */
const DETAIL_LENGTH_MAX = 500;

export interface WorkParts {
  readonly unit: UnitContext;
  readonly vertical: Vertical;
  readonly lanes: Lanes;
  readonly events: EventStore;
  readonly invoke: Invoke;
  readonly store: ReturnType<typeof makeDeliveryStore>;
  readonly housekeeping: ReturnType<typeof makeHousekeeping>;
  readonly longWork: LifecycleParts;
  /** The view for declarations of subjects. */
  readonly reader: SubjectReader;
}

/** The next times that were found right, by schedule, and the earliest time of the clock for which they are. */
type CheckedTimes = Map<string, { readonly nextAtMs: number; readonly fromMs: number }>;

interface Round extends WorkParts {
  readonly request: WorkRequest;
  readonly checkedTimes: CheckedTimes;
  readonly failing: FailingReactions;
  /** The keys that this round lacks so far. */
  needs: KeyNeeds;
  /** The number of deliveries and schedules that ended. */
  settled: number;
  readonly claimed: ClaimedDelivery[];
  readonly attempts: WorkAttempt[];
  nextAtMs: number | null;
  /** The number of deliveries that may still be made. */
  budget: number;
}

/** The end of one attempt: whether its lane moves on, the claimed delivery, or that it waits for keys. */
type Step = boolean | ClaimedDelivery | 'waits';

export function makeWork(parts: WorkParts) {
  const { lanes, store, unit, events, vertical } = parts;
  const { chainMax = CHAIN_DEFAULT } = vertical;
  /** The lane at which the next round begins: after the one at which the last round ended, so that none starves. */
  let firstLane = 0;
  const checkedTimes: CheckedTimes = new Map();
  const failing = new FailingReactions();

  return {
    /**
     * Puts an event in line for its lanes. Returns whether it is in line. At the end of a chain that is too long it
     * becomes a dead letter at once: two subscriptions that cause each other's events would never end.
     */
    enqueue: ({ id, type, hops }: EventRow, listening: readonly Lane[], nowMs: number): boolean => {
      for (const { subscriber } of listening) {
        const key = { subscriber, type, event: id };
        if (hops < chainMax) store.insert(key, nowMs);
        else {
          const error = { code: 'conflict', detail: chainEnded(chainMax) };
          store.giveUp({ ...key, attempts: 0, firstAtMs: nowMs, lastAtMs: nowMs, ...error });
        }
      }
      if (hops >= chainMax) unit.report(new TypeError(`${type}: ${chainEnded(chainMax)}`), 'work');
      return hops < chainMax;
    },

    /** Runs one round: at most 50 deliveries, lane by lane, each lane as far as it goes; and a part of the housekeeping. */
    work: (request: WorkRequest): WorkDone => {
      const program = programToJudge(parts.longWork);
      if (program !== null && request.program?.grant !== program.grant)
        return { settled: 0, claimed: [], nextAtMs: unit.now(), program };
      const round: Round = {
        ...parts,
        request,
        needs: NO_NEEDS,
        settled: 0,
        claimed: [],
        attempts: [],
        checkedTimes,
        failing,
        nextAtMs: null,
        budget: ROUND_MAX,
      };
      for (const schedule of Object.entries(vertical.schedules ?? {})) runSchedule(round, schedule);
      let next = 0;
      for (let i = 0; i < lanes.all.length; i++) {
        const at = (firstLane + i) % lanes.all.length;
        const before = round.budget;
        runLane(round, lanes.all[at] as Lane);
        if (before > 0 && round.budget === 0) next = at + 1;
      }
      firstLane = next % Math.max(1, lanes.all.length);
      advanceLongWork(round);
      const { nextAtMs, sweep } = parts.housekeeping.round();
      waitUntil(round, nextAtMs);
      return {
        settled: round.settled,
        claimed: round.claimed,
        nextAtMs: round.nextAtMs,
        ...(isNothing(round.needs) ? {} : { needs: round.needs }),
        ...(sweep ? { sweep: true } : {}),
        ...(request.report ? { attempts: round.attempts } : {}),
      };
    },

    /** Takes in the result of a claimed delivery. A result of an earlier claim changes nothing. */
    settle: ({
      subscriber,
      event,
      claim: answered,
      error,
      handedBack,
    }: DeliveryResult): { readonly settled: boolean } => {
      const type = events.one(event)?.type ?? '';
      const lane = lanes.find(subscriber, type);
      const row = store.one({ subscriber, type, event });
      if (!lane || !row || row.claim !== answered) return { settled: false };
      const [key, nowMs] = [{ subscriber, type, event }, unit.now()];
      if (handedBack)
        store.defer(key, { attempts: row.attempts - 1, claim: row.claim + 1, nextAtMs: nowMs, nowMs });
      else if (error === undefined) store.remove(key);
      else fail(parts, lane, row, row.attempts, error);
      return { settled: true };
    },
  };
}

function waitUntil(round: Round, atMs: number | null): void {
  if (atMs !== null) round.nextAtMs = round.nextAtMs === null ? atMs : Math.min(round.nextAtMs, atMs);
}

/** Brings the events of a lane, in order, until one stays where it is or the round has made enough deliveries. */
function runLane(round: Round, lane: Lane): void {
  const { store, unit, events } = round;
  let heads: DeliveryRow[] = [];
  for (;;) {
    // One more than the budget shows when the lane goes on.
    if (heads.length === 0) heads = store.heads(lane.subscriber, lane.type, round.budget + 1);
    const head = heads.shift();
    if (!head) return;
    const aheadMs = head.nextAtMs - unit.now();
    // A wait beyond the longest one is of a clock that was ahead, and is over.
    if ((aheadMs > 0 && aheadMs <= longestWaitMs(lane)) || round.budget === 0) {
      waitUntil(round, head.nextAtMs);
      return;
    }
    round.budget -= 1;
    const { listener } = lane;
    const step =
      listener.kind === 'executor'
        ? claim(round, lane, head, listener.timeoutMs)
        : deliver(round, lane, head);
    if (step === 'waits') {
      // The keys of the next events are fetched together with those of this one.
      const subjects = events.keyless(store.first(lane.subscriber, lane.type, ROUND_MAX));
      round.needs = joinNeeds(round.needs, { subjects, pool: null });
      return;
    }
    if (typeof step === 'object') round.claimed.push(step);
    else if (step) round.settled += 1;
    // A head that stays has another time, and no later event overtakes it.
    if (step !== true) heads = [];
  }
}

/** Brings the head of a subscription's lane. */
function deliver(round: Round, lane: Lane, row: DeliveryRow): Step {
  if (lane.listener.kind !== 'subscription') return false;
  const { store, events, reader } = round;
  const { operation, as, input, subjects } = lane.listener.subscription;
  const key = { subscriber: lane.subscriber, type: lane.type, event: row.event };
  let failure: Error | null;
  try {
    const found = events.one(row.event);
    // An event that was lost with a damaged log cannot be delivered.
    if (!found) {
      store.remove(key);
      return true;
    }
    const [event] = events.recordsOf([found], false) as [EventRecord];
    const value = input ? input(event) : { event: event.id };
    const call = { operation, input: value, principal: `service:${as}` as ActorId, cause: event.id };
    // The person of the event, and those whom the listener names.
    const declared = [
      ...(event.subject === null ? [] : [event.subject]),
      ...(subjects?.(event, reader) ?? []),
    ];
    const options = { declared, causeHops: found.hops };
    failure = attempt(round, nameOf(lane), call, options, () => store.remove(key));
  } catch (thrown) {
    if (thrown instanceof TransactionLost) throw thrown;
    failure = soundError(operation, thrown);
    if (!isKeysNeeded(failure)) reportOnce(round, nameOf(lane), failure, operation);
  }
  if (failure !== null && waitsForKeys(round, failure)) return 'waits';
  const error = failure && describe(failure);
  note(round, { kind: 'subscription', name: lane.subscriber, event: row.event, error });
  return error === null || fail(round, lane, row, row.attempts + 1, error);
}

/** Claims the head of an executor's lane, until its time and a margin are over. */
function claim(round: Round, lane: Lane, row: DeliveryRow, timeoutMs: number): Step {
  const { store, unit, events } = round;
  const nowMs = unit.now();
  const key = { subscriber: lane.subscriber, type: lane.type, event: row.event };
  const attempts = row.attempts + 1;
  let event: EventRecord | null;
  try {
    event = events.record(row.event);
  } catch (thrown) {
    if (!isKeysNeeded(thrown)) throw thrown;
    return waitsForKeys(round, thrown) ? 'waits' : fail(round, lane, row, attempts, describe(thrown));
  }
  if (!event) {
    store.remove(key);
    return true;
  }
  // The claim before this one was the last, and was never answered.
  if (attempts > lane.attemptsMax)
    return fail(round, lane, row, row.attempts, { code: 'unavailable', detail: 'No answer came in time.' });
  const next = row.claim + 1;
  store.defer(key, { attempts, claim: next, nextAtMs: nowMs + timeoutMs + CLAIM_MARGIN_MS, nowMs });
  return { subscriber: lane.subscriber, event, attempt: attempts, claim: next };
}

/** Notes an attempt for a caller who asked for them. */
function note({ request, attempts }: Round, attempt: WorkAttempt): void {
  if (request.report) attempts.push(attempt);
}

/** Runs a schedule that is due. One that waits for keys runs in the next round. */
function runSchedule(round: Round, [key, schedule]: [string, Schedule]): void {
  const { store, unit } = round;
  const nowMs = unit.now();
  const pattern = `${schedule.cron} ${schedule.timezone ?? 'UTC'}`;
  const known = store.schedule(key);
  const isKnown = known?.pattern === pattern;
  if (isKnown && known.nextAtMs > nowMs && isWithinPeriod(round, [key, schedule], known.nextAtMs)) {
    waitUntil(round, known.nextAtMs);
    return;
  }
  const nextAtMs = nextRunMs(schedule, nowMs);
  if (nextAtMs === null) return;
  if (!isKnown || known.nextAtMs > nowMs) {
    store.saveSchedule({ key, pattern, nextAtMs });
    waitUntil(round, nextAtMs);
    return;
  }
  // One run makes up for all runs that were missed.
  const principal = `service:${schedule.as}` as ActorId;
  const call = { operation: schedule.operation, input: schedule.input ?? {}, principal };
  const failure = attempt(round, `schedule ${key}`, call, {}, () => undefined);
  if (failure !== null && waitsForKeys(round, failure)) {
    waitUntil(round, nowMs);
    return;
  }
  const error = failure && describe(failure);
  const outcome = error === null ? 'done' : error.code;
  note(round, { kind: 'schedule', name: key, event: null, error });
  store.saveSchedule({ key, pattern, nextAtMs, ran: { atMs: nowMs, outcome } });
  round.settled += 1;
  waitUntil(round, nextAtMs);
}

/** Does the due part of one long work. Others take their turn in the next rounds, so that calls come between. */
function advanceLongWork(round: Round): void {
  const { longWork, unit } = round;
  const entry = dueWork(longWork);
  if (!('id' in entry)) {
    waitUntil(round, entry.nextAtMs);
    return;
  }
  const judged = judgeProgram(longWork, entry, round.request.program);
  const call = judged?.state === 'running' ? stepCall(longWork, judged) : null;
  if (judged !== null && call === null) tidy(round, judged);
  else if (call !== null) {
    const failure = attempt(round, `work ${entry.kind}`, call.input, { step: call.step }, () => undefined);
    if (failure !== null && waitsForKeys(round, failure)) {
      waitUntil(round, unit.now());
      return;
    }
    if (failure !== null) stepFailed(longWork, entry, describe(failure), isFinalFailure(failure));
  }
  round.settled += 1;
  const next = longWork.works.due();
  if (next) waitUntil(round, next.nextAtMs);
}

/** Does the part of a work that is no step. A failure of it affects no other work. */
function tidy({ longWork, unit, failing }: Round, entry: WorkEntry): void {
  try {
    unit.db.savepoint(() => tidyWork(longWork, entry));
  } catch (thrown) {
    if (thrown instanceof TransactionLost) throw thrown;
    if (failing.isFirst(`work ${entry.kind}`)) unit.report(soundError(entry.kind, thrown), entry.kind);
    putOff(longWork, entry);
  }
}

/**
 * Whether a schedule runs once or not at all before its stored time. A later time was computed while the clock was ahead.
 * One run is admitted, so that a clock that is set back by a little makes no schedule run twice.
 */
function isWithinPeriod(
  { checkedTimes, unit }: Round,
  [key, schedule]: [string, Schedule],
  nextAtMs: number,
): boolean {
  const nowMs = unit.now();
  const checked = checkedTimes.get(key);
  if (checked?.nextAtMs === nextAtMs && checked.fromMs <= nowMs) return true;
  const firstMs = nextRunMs(schedule, nowMs);
  const secondMs = firstMs === null ? null : nextRunMs(schedule, firstMs);
  if (secondMs !== null && nextAtMs > secondMs) return false;
  checkedTimes.set(key, { nextAtMs, fromMs: nowMs });
  return true;
}

/** Whether a failed call waits for keys: then its handler has not run, and it stays where it is. */
function waitsForKeys(round: Round, thrown: Error): boolean {
  if (round.request.withoutKeys || !isKeysNeeded(thrown)) return false;
  const lacking = needsOf(thrown);
  round.needs = joinNeeds(round.needs, lacking);
  return !isNothing(lacking);
}

/** A lane stands still at an event that fails, and the subscriber's other lanes go on. */
function nameOf({ subscriber, type }: Lane): string {
  return `lane ${subscriber} ${type}`;
}

/** Reports the first failure of a subscription or a schedule since it was last done: it is tried again and again. */
function reportOnce({ failing, unit }: Round, reaction: string, error: Error, method: string): void {
  if (failing.isFirst(reaction)) unit.report(error, method);
}

/** Runs an operation of a subscription or a schedule as a service in a savepoint. Returns its failure, or null. */
function attempt(
  round: Round,
  reaction: string,
  input: InvokeInput,
  options: InvokeOptions,
  done: () => void,
): Error | null {
  const { unit, invoke, request } = round;
  try {
    unit.db.savepoint(() => {
      // The round took its keys in at its beginning; each call has a vault behind it, and brings no more.
      invoke(request.keys === undefined ? input : { ...input, keys: {} }, options);
      done();
    });
    round.failing.done(reaction);
    return null;
  } catch (thrown) {
    if (thrown instanceof TransactionLost) throw thrown;
    if (thrown instanceof RollbackThen) {
      unit.db.savepoint(thrown.write);
      return thrown.error;
    }
    const error = soundError(input.operation, thrown);
    if (!(error instanceof PlatformError)) reportOnce(round, reaction, error, input.operation);
    return error;
  }
}

/** Puts a failed delivery off, or gives it up after its last attempt. Returns whether that was its end. */
function fail(
  { store, unit }: WorkParts,
  lane: Lane,
  row: DeliveryRow,
  attempts: number,
  error: DeliveryResult['error'],
): boolean {
  const nowMs = unit.now();
  const key = { subscriber: lane.subscriber, type: lane.type, event: row.event };
  if (attempts < lane.attemptsMax) {
    const nextAtMs = nowMs + backoffMs(attempts, unit.random(1)[0]);
    store.defer(key, { attempts, claim: row.claim + 1, nextAtMs, nowMs });
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
}

/** Twice as long each time, give or take a fifth, so that calls that failed together are not tried together. */
function backoffMs(attempts: number, dice = 128): number {
  const wait = Math.min(BACKOFF_MAX_MS, BACKOFF_MS * 2 ** Math.min(attempts - 1, 30));
  return Math.round(wait * (0.8 + (dice / 255) * 0.4));
}

/** The longest time for which a delivery is put off: after a failure, or for an executor to answer. */
function longestWaitMs({ listener }: Lane): number {
  const claimMs = listener.kind === 'executor' ? listener.timeoutMs + CLAIM_MARGIN_MS : 0;
  return Math.max(backoffMs(Number.MAX_SAFE_INTEGER, 255), claimMs);
}

function chainEnded(chainMax: number): string {
  return `It is at the end of a chain of ${chainMax} deliveries, each of which caused the next; no more may follow one another here.`;
}

/** Returns a failure as it is stored: the public text of one that was meant for people, and no text of another. */
export function describe(error: Error): { readonly code: string; readonly detail: string } {
  if (isKeysNeeded(error))
    return { code: error.code, detail: 'The key of a person of this event cannot be had.' };
  return error instanceof PlatformError
    ? { code: error.code, detail: error.message }
    : { code: 'internal', detail: 'The vertical failed; the incident log has more.' };
}
