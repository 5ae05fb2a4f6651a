/** The listeners and schedules of a vertical (design: kernel, "Events, causes, deliveries"). */
import {
  type EventRecord,
  permissionKey,
  type SubjectReader,
  type VerticalManifest,
} from '@freehold/contracts';
import { OPERATION_NAME, type OperationTable } from '@freehold/operations';
import { Cron } from 'croner';

/** The events of a listener, and the service as which it acts. */
interface Listener {
  /** Types of events: `order.completed`. */
  readonly on: readonly string[];
  /** A service of the manifest: every listener acts with the permissions of one. */
  readonly as: string;
  /** The number of attempts before the event becomes a dead letter. Default 10; at most 100. */
  readonly attemptsMax?: number;
  /**
   * The persons whose sealed data the delivery touches, beside the person of the event and those whom the operation
   * declares. Default: none.
   */
  readonly subjects?: (event: EventRecord, read: SubjectReader) => readonly string[];
}

/**
 * Runs an operation of the vertical for each event, after its commit, in the order of the events of a type. The
 * delivery is removed in the transaction of the operation: it happens once.
 */
export interface Subscription extends Listener {
  readonly operation: string;
  /** The operation's input. Default: `{ event: <the event's id> }`. */
  readonly input?: (event: EventRecord) => unknown;
}

/** The second argument of an executor. */
export interface ExecutorTools {
  /** 1 for the first time. */
  readonly attempt: number;
  /** The same for every attempt at this event, so that an outside system recognises a repetition. */
  readonly deliveryKey: string;
  /** Aborted when the time is over. */
  readonly signal: AbortSignal;
  /**
   * Runs an operation as the executor's service, caused by the event. Repeated under one `step` (default: the
   * operation's name) it is done once within 24 hours; an executor that is tried again later asks the scope what was
   * done.
   */
  invoke(operation: string, input: unknown, step?: string): Promise<unknown>;
  /**
   * Removes an attachment as the executor's service: its bytes are outside of the scope, and no operation reaches them.
   * @throws PlatformError `unsupported`, reason `no_blob_store`, where nothing can be attached.
   */
  removeAttachment(id: string): Promise<void>;
}

/**
 * Does outside work for each event: outside of any transaction, at least once, in the order of the events of a type. A
 * failure is tried again later.
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

/** The listeners of a vertical. Both kinds share one space of names. */
export interface Listeners {
  readonly subscriptions?: Readonly<Record<string, Subscription>> | undefined;
  readonly executors?: Readonly<Record<string, Executor>> | undefined;
}

/** The greatest number of deliveries in a chain, each of which causes the event of the next. */
export const CHAIN_DEFAULT = 16;
const CHAIN_MAX = 1_000;
const ATTEMPTS_DEFAULT = 10;
const ATTEMPTS_MAX = 100;
const TIMEOUT_DEFAULT_MS = 30_000;
const TIMEOUT_MAX_MS = 600_000;

/** One subscriber and one type of event. */
export interface Lane {
  readonly subscriber: string;
  readonly type: string;
  readonly attemptsMax: number;
  readonly listener:
    | { readonly kind: 'subscription'; readonly subscription: Subscription }
    | { readonly kind: 'executor'; readonly executor: Executor; readonly timeoutMs: number };
}

export interface Lanes {
  readonly all: readonly Lane[];
  /** The lanes of a type of event; absent when none listens. */
  readonly byType: ReadonlyMap<string, readonly Lane[]>;
  find(subscriber: string, type: string): Lane | undefined;
}

/** The name of a subscriber or a schedule. */
const LISTENER_NAME = /^[a-z][a-z0-9-]{0,63}$/;

export function makeLanes({ subscriptions = {}, executors = {} }: Listeners): Lanes {
  const lanesOf = (subscriber: string, { on, attemptsMax }: Listener, listener: Lane['listener']): Lane[] =>
    [...new Set(on)].map((type) => ({
      subscriber,
      type,
      attemptsMax: attemptsMax ?? ATTEMPTS_DEFAULT,
      listener,
    }));
  const all = [
    ...Object.entries(subscriptions).flatMap(([subscriber, subscription]) =>
      lanesOf(subscriber, subscription, { kind: 'subscription', subscription }),
    ),
    ...Object.entries(executors).flatMap(([subscriber, executor]) =>
      lanesOf(subscriber, executor, {
        kind: 'executor',
        executor,
        timeoutMs: executor.timeoutMs ?? TIMEOUT_DEFAULT_MS,
      }),
    ),
  ];
  const byType = Map.groupBy(all, (lane) => lane.type);
  return {
    all,
    byType,
    find: (subscriber, type) => byType.get(type)?.find((lane) => lane.subscriber === subscriber),
  };
}

/**
 * Checks the listeners and schedules of a vertical.
 * @throws TypeError that names the fault.
 */
export function requireListeners(
  listeners: Listeners & {
    readonly schedules?: Readonly<Record<string, Schedule>> | undefined;
    readonly chainMax?: number | undefined;
  },
  operations: OperationTable,
  manifest: VerticalManifest,
): void {
  const { subscriptions = {}, executors = {}, schedules = {}, chainMax = CHAIN_DEFAULT } = listeners;
  requireWhole('chainMax', chainMax, CHAIN_MAX);
  for (const name of Object.keys(subscriptions)) {
    if (Object.hasOwn(executors, name))
      throw new TypeError(`subscriber ${name}: is a subscription and an executor; a name is used once`);
  }
  for (const [name, { on, operation, as, attemptsMax }] of Object.entries(subscriptions)) {
    const where = `subscription ${name}`;
    requireListener(where, name, { on, attemptsMax });
    requireActor(where, { operation, as }, operations, manifest);
  }
  for (const [name, { on, as, attemptsMax, timeoutMs = TIMEOUT_DEFAULT_MS }] of Object.entries(executors)) {
    const where = `executor ${name}`;
    requireListener(where, name, { on, attemptsMax });
    requireService(where, as, manifest);
    requireWhole(`${where}, timeoutMs`, timeoutMs, TIMEOUT_MAX_MS);
  }
  for (const [name, { cron, timezone, operation, as }] of Object.entries(schedules)) {
    const where = `schedule ${name}`;
    requireName(where, name);
    requireActor(where, { operation, as }, operations, manifest);
    try {
      if (nextRunMs({ cron, timezone }, 0) === null) throw new TypeError('it never comes');
    } catch (cause) {
      throw new TypeError(`${where}: the cron expression cannot be used: ${cron}`, { cause });
    }
  }
}

/** Returns the first time of a schedule after a moment; null when there is none. */
export function nextRunMs(
  { cron, timezone = 'UTC' }: { readonly cron: string; readonly timezone?: string | undefined },
  afterMs: number,
): number | null {
  const next = new Cron(cron, { paused: true, timezone, mode: '5-or-6-parts' }).nextRun(new Date(afterMs));
  return next?.getTime() ?? null;
}

function requireListener(
  where: string,
  name: string,
  { on, attemptsMax = ATTEMPTS_DEFAULT }: { on: readonly string[]; attemptsMax: number | undefined },
): void {
  requireName(where, name);
  if (on.length === 0) throw new TypeError(`${where}: listens to nothing`);
  const odd = on.find((type) => !permissionKey.safeParse(type).success);
  if (odd !== undefined) throw new TypeError(`${where}: ${odd} is not a type of event; it is noun.verb`);
  requireWhole(`${where}, attemptsMax`, attemptsMax, ATTEMPTS_MAX);
}

function requireActor(
  where: string,
  { operation, as }: { readonly operation: string; readonly as: string },
  operations: OperationTable,
  manifest: VerticalManifest,
): void {
  requireService(where, as, manifest);
  const declared = Object.hasOwn(operations, operation) ? operations[operation] : undefined;
  if (!OPERATION_NAME.test(operation) || !declared)
    throw new TypeError(`${where}: there is no operation ${operation}`);
  // Otherwise every event would be refused.
  if (!manifest.services?.[as]?.permissions.includes(declared.permission))
    throw new TypeError(
      `${where}: the service ${as} may not run ${operation}; it takes ${declared.permission}`,
    );
}

function requireService(where: string, as: string, manifest: VerticalManifest): void {
  if (!Object.hasOwn(manifest.services ?? {}, as))
    throw new TypeError(`${where}: the manifest declares no service ${as}`);
}

function requireName(where: string, name: string): void {
  if (!LISTENER_NAME.test(name))
    throw new TypeError(
      `${where}: a name is lower-case letters, digits and hyphens, beginning with a letter`,
    );
}

function requireWhole(what: string, value: number, max: number): void {
  if (!Number.isSafeInteger(value) || value < 1 || value > max)
    throw new TypeError(`${what}: must be a whole number from 1 to ${max}`);
}
