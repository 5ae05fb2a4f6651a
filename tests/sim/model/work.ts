/** The model of a scope's background work: deliveries, claims, dead letters, schedules. */
import { EXECUTORS, SCHEDULES, SUBSCRIPTIONS } from '../ledger/ledger.ts';
import {
  type CallWorld,
  enqueue,
  eventOf,
  invoke,
  keysNeeded,
  ModelFailure,
  type ModelRequest,
  type PendingEvent,
  whole,
} from './calls.ts';
import type { DeliveryRow } from './state.ts';

const ROUND_MAX = 50;
const BACKOFF_MS = 1_000;
const BACKOFF_MAX_MS = 3_600_000;
const CLAIM_MARGIN_MS = 30_000;

interface Lane {
  readonly subscriber: string;
  readonly type: string;
  readonly attemptsMax: number;
}

/** One lane for each subscriber and type, in the order of their declarations. */
const LANES: readonly Lane[] = [...Object.entries(SUBSCRIPTIONS), ...Object.entries(EXECUTORS)].flatMap(
  ([subscriber, { on, attemptsMax }]) => on.map((type) => ({ subscriber, type, attemptsMax })),
);

/** The open scope's memory of its last round. */
export interface WorkMemory {
  /** The lane at which the next round begins: the one behind the last round's end. */
  firstLane: number;
}

/**
 * Performs one round. Returns a function that makes its answer once the chance values are known. A lane whose head
 * lacks a key stays where it is.
 */
export function work(world: CallWorld, memory: WorkMemory): () => unknown {
  const { state, nowMs } = world;
  let settled = 0;
  const claimed: { subscriber: string; event: string; attempt: number; claim: number }[] = [];
  /** Evaluated at the end: chance decides some of these times. */
  const waits: (() => number)[] = [];

  for (const name of Object.keys(SCHEDULES)) {
    if (runSchedule(world, name)) settled += 1;
    waits.push(() => state.schedules.get(name)?.nextAt ?? Infinity);
  }
  let budget = ROUND_MAX;
  let next = 0;
  for (let i = 0; i < LANES.length; i++) {
    const at = (memory.firstLane + i) % LANES.length;
    const lane = LANES[at] as Lane;
    for (;;) {
      const row = headOf(world, lane);
      if (!row) break;
      if (row.nextAt > nowMs || budget === 0) {
        waits.push(() => rowOf(world, row)?.nextAt ?? Infinity);
        break;
      }
      budget -= 1;
      if (budget === 0) next = at + 1;
      try {
        requireReadable(world, row.event);
        if (Object.hasOwn(EXECUTORS, lane.subscriber)) {
          if (!claim(world, lane, row, claimed)) settled += 1;
        } else if (deliver(world, lane, row)) settled += 1;
      } catch (error) {
        if (!(error instanceof ModelFailure) || error.reason !== 'subject_keys_needed') throw error;
        break;
      }
    }
  }
  memory.firstLane = next % LANES.length;
  return () => {
    const nextAtMs = Math.min(...waits.map((wait) => wait()));
    return {
      settled,
      claimed: claimed.map((each) => ({ ...each, event: world.real.get(each.event) ?? each.event })),
      nextAtMs: Number.isFinite(nextAtMs) ? nextAtMs : null,
    };
  };
}

/** Settles a claimed delivery. */
export function settleDelivery(
  world: CallWorld,
  answer: {
    readonly subscriber: string;
    readonly event: string;
    readonly claim: number;
    readonly error?: { readonly code: string };
    readonly handedBack?: true;
  },
): { settled: boolean } {
  const { state } = world;
  const type = state.events.get(answer.event)?.type ?? '';
  const lane = LANES.find((each) => each.subscriber === answer.subscriber && each.type === type);
  const row = state.deliveries.get(`${answer.subscriber} ${type} ${answer.event}`);
  if (!lane || !row || row.claim !== answer.claim) return { settled: false };
  if (answer.handedBack)
    state.deliveries.set(keyOf(lane, row.event), {
      ...row,
      attempts: row.attempts - 1,
      claim: row.claim + 1,
      nextAt: world.nowMs,
    });
  else if (answer.error) fail(world, lane, row, row.attempts, answer.error.code);
  else state.deliveries.delete(keyOf(lane, row.event));
  return { settled: true };
}

export function retryDeadLetter(
  { state, nowMs }: CallWorld,
  { event, subscriber }: { readonly event: string; readonly subscriber: string },
): null {
  const row = state.dead.get(`${event} ${subscriber}`);
  if (!row) throw new ModelFailure('not_found', 'unknown_dead_letter');
  state.dead.delete(`${event} ${subscriber}`);
  enqueue(state, { subscriber, type: row.type, event }, nowMs);
  return null;
}

/** Events of a lane come in their order: the oldest is first, however often it failed. */
function headOf({ state }: CallWorld, { subscriber, type }: Lane): DeliveryRow | undefined {
  return state.deliveries.values().find((row) => row.subscriber === subscriber && row.type === type);
}

/** Returns the current row of a delivery, even if its event got its real id in the meantime. */
function rowOf(
  { state, real }: CallWorld,
  { subscriber, type, event }: DeliveryRow,
): DeliveryRow | undefined {
  return state.deliveries.get(`${subscriber} ${type} ${real.get(event) ?? event}`);
}

function runSchedule(world: CallWorld, name: string): boolean {
  const { state, nowMs } = world;
  const schedule = SCHEDULES[name] as (typeof SCHEDULES)[string];
  const { everyMs, offsetMs, operation, as, input } = schedule;
  const known = state.schedules.get(name);
  if (known && known.nextAt > nowMs) return false;
  const nextAt = Math.floor((nowMs - offsetMs) / everyMs) * everyMs + everyMs + offsetMs;
  if (!known) {
    state.schedules.set(name, { key: name, nextAt, lastAt: null, outcome: null });
    return false;
  }
  const failure = attempt(world, { operation, input, principal: `service:${as}` }, () => undefined);
  state.schedules.set(name, { key: name, nextAt, lastAt: nowMs, outcome: failure?.code ?? 'done' });
  return true;
}

/** Delivers an event to a subscription. Returns whether it is done with. */
function deliver(world: CallWorld, lane: Lane, row: DeliveryRow): boolean {
  const { state, keys } = world;
  const { operation, as, input } = SUBSCRIPTIONS[lane.subscriber] as (typeof SUBSCRIPTIONS)[string];
  const event = eventOf(world, row.event);
  const isHidden = event?.payload === 'sealed' && keys.get(event.subject as string) === 'erased';
  const payload = isHidden ? { $shredded: { at: '' } } : JSON.parse(clearOf(world, row.event) ?? 'null');
  const request = {
    operation,
    principal: `service:${as}`,
    input: input({ id: row.event as never, payload }),
    cause: row.event,
    declared: event?.subject == null ? [] : [event.subject],
  };
  const failure = attempt(world, request, () => state.deliveries.delete(keyOf(lane, row.event)));
  return failure === null || fail(world, lane, row, row.attempts + 1, failure.code);
}

/** Returns the plain payload. */
function clearOf(world: CallWorld, id: string): string | null {
  const event = eventOf(world, id);
  if (event?.payload !== 'sealed') return event?.payload ?? null;
  return world.state.clear.get(`event/${id}`) ?? (event as PendingEvent).clear;
}

/** Lends an event to an executor; false: it became a dead letter instead. */
function claim(
  world: CallWorld,
  lane: Lane,
  row: DeliveryRow,
  claimed: { subscriber: string; event: string; attempt: number; claim: number }[],
): boolean {
  const { state, nowMs } = world;
  const attempts = row.attempts + 1;
  if (attempts > lane.attemptsMax) {
    fail(world, lane, row, row.attempts, 'unavailable');
    return false;
  }
  const { timeoutMs } = EXECUTORS[lane.subscriber] as (typeof EXECUTORS)[string];
  state.deliveries.set(keyOf(lane, row.event), {
    ...row,
    attempts,
    claim: row.claim + 1,
    nextAt: nowMs + timeoutMs + CLAIM_MARGIN_MS,
    firstAt: row.firstAt ?? nowMs,
  });
  claimed.push({ subscriber: lane.subscriber, event: row.event, attempt: attempts, claim: row.claim + 1 });
  return true;
}

/** Puts a delivery off, or makes it a dead letter; returns whether it did the latter. */
function fail(world: CallWorld, lane: Lane, row: DeliveryRow, attempts: number, code: string): boolean {
  const { state, recorded, nowMs } = world;
  const key = keyOf(lane, row.event);
  if (attempts < lane.attemptsMax) {
    const wait = Math.min(BACKOFF_MAX_MS, BACKOFF_MS * 2 ** (attempts - 1));
    state.deliveries.set(key, {
      ...row,
      attempts,
      claim: row.claim + 1,
      nextAt: nowMs + wait,
      firstAt: row.firstAt ?? nowMs,
    });
    recorded.deferred.push({
      ...lane,
      event: row.event,
      earliestMs: Math.round(nowMs + wait * 0.8),
      latestMs: Math.round(nowMs + wait * 1.2),
    });
    return false;
  }
  const before = state.dead.get(`${row.event} ${lane.subscriber}`);
  state.deliveries.delete(key);
  state.dead.set(`${row.event} ${lane.subscriber}`, {
    event: row.event,
    subscriber: lane.subscriber,
    type: lane.type,
    attempts,
    firstAt: before?.firstAt ?? row.firstAt ?? nowMs,
    lastAt: nowMs,
    code,
  });
  return true;
}

/** Runs an invocation by a service in a savepoint. Returns its failure. @throws ModelFailure when keys are missing. */
function attempt(world: CallWorld, request: ModelRequest, done: () => void): ModelFailure | null {
  const denials: CallWorld['recorded']['denials'] = [];
  try {
    whole(world, () => {
      invoke(world, request, (denial) => denials.push(denial));
      done();
    });
    return null;
  } catch (error) {
    if (!(error instanceof ModelFailure) || error.reason === 'subject_keys_needed') throw error;
    world.recorded.denials.push(...denials);
    return error;
  }
}

/** Reading an event about a person takes the person's key, even when its payload is redacted. */
function requireReadable(world: CallWorld, event: string): void {
  const subject = eventOf(world, event)?.subject;
  if (subject != null && !world.keys.has(subject)) throw keysNeeded();
}

function keyOf({ subscriber, type }: Lane, event: string): string {
  return `${subscriber} ${type} ${event}`;
}
