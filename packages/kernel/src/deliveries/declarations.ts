/** What a vertical does when something has happened, or when it is time (design: kernel, "Events, causes, deliveries"). */
import type { EventId, EventRecord, SubjectReader } from '@freehold/contracts';
import type { KeyNeeds, KeySupply } from '../sealing/key-needs.ts';

/** Which events, and as whom. */
interface Listener {
  /** Types of events: `order.completed`. */
  readonly on: readonly string[];
  /** The service of the manifest as which it acts: nothing happens with nobody's permissions. */
  readonly as: string;
  /** How often it is tried before the event becomes a dead letter. Default 10; at most 100. */
  readonly attemptsMax?: number;
  /**
   * The persons whose sealed data the delivery touches, beside the one whom the event is about and those whom the
   * operation itself declares. Default: nobody.
   */
  readonly subjects?: (event: EventRecord, read: SubjectReader) => readonly string[];
}

/**
 * Runs an operation of the vertical for each event, after its commit, in the order of the events of a type. The
 * delivery is struck off in the transaction of the operation: it happens once.
 */
export interface Subscription extends Listener {
  readonly operation: string;
  /** The operation's input. Default: `{ event: <the event's id> }`. */
  readonly input?: (event: EventRecord) => unknown;
}

/** What an executor is given beside its event. */
export interface ExecutorTools {
  /** 1 for the first time. */
  readonly attempt: number;
  /** The same for every attempt at this event: what the outside world can recognise a repetition by. */
  readonly deliveryKey: string;
  /** Aborted when the time is over. */
  readonly signal: AbortSignal;
  /**
   * Runs an operation as the executor's service, caused by the event. Repeated under one `step` (default: the
   * operation's name) it is done once, for as long as answers are kept, which is 24 hours: an executor that is tried
   * again after days asks the scope what was done.
   */
  invoke(operation: string, input: unknown, step?: string): Promise<unknown>;
}

/**
 * Does work in the outside world for each event: outside of any transaction, at least once, in the order of the
 * events of a type. What it throws or rejects with is tried again later.
 */
export interface Executor extends Listener {
  /** Milliseconds. Default 30,000; at most 600,000. */
  readonly timeoutMs?: number;
  run(event: EventRecord, tools: ExecutorTools): Promise<void>;
}

/** Runs an operation at the times of a cron expression. */
export interface Schedule {
  /** Five or six fields, as in crontab(5): `0 6 * * MON`. */
  readonly cron: string;
  /** An IANA name such as `Europe/Vienna`. Default `UTC`. */
  readonly timezone?: string;
  readonly operation: string;
  readonly input?: unknown;
  readonly as: string;
}

/** Both kinds of listener under one key: a name may be used once. */
export interface Listeners {
  readonly subscriptions?: Readonly<Record<string, Subscription>> | undefined;
  readonly executors?: Readonly<Record<string, Executor>> | undefined;
}

/** An event that was just recorded, as those who may listen to it are told. */
export interface WaitingEvent {
  readonly id: EventId;
  readonly type: string;
  /** How many deliveries lie between it and the event that began it. */
  readonly hops: number;
}

/** Of how many deliveries a chain may consist, each of which sets off the event of the next. */
export const CHAIN_DEFAULT = 16;
export const CHAIN_MAX = 1_000;
export const ATTEMPTS_DEFAULT = 10;
export const ATTEMPTS_MAX = 100;
export const TIMEOUT_DEFAULT_MS = 30_000;
export const TIMEOUT_MAX_MS = 600_000;

/** An event that waits for one executor, lent to whoever runs it. */
export interface ClaimedDelivery {
  readonly subscriber: string;
  readonly event: EventRecord;
  readonly attempt: number;
  /** Names this claim: an answer that comes after the claim was given to somebody else changes nothing. */
  readonly claim: number;
}

/** What became of a claimed delivery: done, unless one of the last two is there. */
export interface DeliveryResult {
  readonly subscriber: string;
  readonly event: EventId;
  readonly claim: number;
  readonly error?: { readonly code: string; readonly detail: string };
  /** Handed back without having been tried to its end: it counts as no attempt, and is lent again at once. */
  readonly handedBack?: true;
}

/** How a round is asked for. */
export interface WorkRequest {
  /**
   * Persons' keys cannot be had: a delivery that takes one has failed, instead of waiting for it. Asked for when the
   * vault has refused, so that one person's damaged key is in no other delivery's way.
   */
  readonly withoutKeys?: true;
  /** What a host that has a vault brings. */
  readonly keys?: KeySupply;
}

/** What one round of work did. */
export interface WorkDone {
  /** Deliveries and schedules that were brought to an end in this round: done, or given up. */
  readonly settled: number;
  readonly claimed: readonly ClaimedDelivery[];
  /**
   * When there is work again, in milliseconds since the epoch: at once when it has passed. Null: nothing waits. What the
   * round itself put in line is told to `onWork`, and need not be in here.
   */
  readonly nextAtMs: number | null;
  /** What deliveries lacked that this round left where they are: they come in the next one that is given it. */
  readonly needs?: KeyNeeds;
  /** Set when bytes of attachments may have become free: whoever has them is to sweep. */
  readonly sweep?: true;
}
