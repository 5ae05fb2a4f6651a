/** The listeners and schedules of a vertical (design: kernel, "Events, causes, deliveries"). */
import {
  type EventRecord,
  permissionKey,
  type SubjectReader,
  type VerticalManifest,
} from '@freehold/contracts';
import type { OperationTable } from '@freehold/operations';
import type { FaultPath, ReportFault } from '@freehold/operations/faults';
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
   * Calls another system. Use it in place of the global `fetch`: it ends when the executor's time is over, the instance
   * sees what goes out of it, and a test answers it.
   */
  readonly fetch: typeof globalThis.fetch;
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

/** The codes of {@link checkListeners}. */
export const LISTENER_FAULT_CODES = [
  'unknown_service',
  'unknown_operation',
  'service_permission',
  'subscriber_name',
  'duplicate_subscriber',
  'event_type',
  'cron',
  'timezone',
  'invalid_value',
] as const;
type Report = ReportFault<(typeof LISTENER_FAULT_CODES)[number]>;

/** The declarations that a listener or a schedule is checked against. */
interface Declared {
  readonly operations: OperationTable;
  readonly manifest: VerticalManifest;
  readonly report: Report;
}

/** Checks the listeners and schedules of a vertical. */
export function checkListeners(
  listeners: Listeners & {
    readonly schedules?: Readonly<Record<string, Schedule>> | undefined;
    readonly chainMax?: number | undefined;
  },
  declared: Declared,
): void {
  const { subscriptions = {}, executors = {}, schedules = {}, chainMax = CHAIN_DEFAULT } = listeners;
  const { report } = declared;
  checkWhole(report, ['chainMax'], chainMax, CHAIN_MAX);
  for (const [name, subscription] of Object.entries(subscriptions)) {
    const path = ['subscriptions', name];
    if (Object.hasOwn(executors, name)) {
      const message = 'is the name of an executor too; a name is used once';
      report({ path, code: 'duplicate_subscriber', message });
    }
    checkListener(report, path, name, subscription);
    checkActor(declared, path, subscription);
  }
  for (const [name, executor] of Object.entries(executors)) {
    const path = ['executors', name];
    checkListener(report, path, name, executor);
    checkService(declared, path, executor.as);
    checkWhole(report, [...path, 'timeoutMs'], executor.timeoutMs ?? TIMEOUT_DEFAULT_MS, TIMEOUT_MAX_MS);
  }
  for (const [name, schedule] of Object.entries(schedules)) {
    const path = ['schedules', name];
    checkName(report, path, name);
    checkActor(declared, path, schedule);
    checkTimes(report, path, schedule);
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

function checkTimes(report: Report, path: FaultPath, schedule: Schedule): void {
  const { cron, timezone } = schedule;
  if (timezone !== undefined && !isTimezone(timezone)) {
    const message = `is no time zone such as Europe/Vienna: ${timezone}`;
    report({ path: [...path, 'timezone'], code: 'timezone', message });
    return;
  }
  if (comesEver(schedule)) return;
  const message = `is no cron expression that ever comes, such as 0 6 * * MON: ${cron}`;
  report({ path: [...path, 'cron'], code: 'cron', message });
}

function isTimezone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

function comesEver(schedule: Pick<Schedule, 'cron' | 'timezone'>): boolean {
  try {
    return nextRunMs(schedule, 0) !== null;
  } catch {
    return false;
  }
}

function checkListener(
  report: Report,
  path: FaultPath,
  name: string,
  { on, attemptsMax = ATTEMPTS_DEFAULT }: Listener,
): void {
  checkName(report, path, name);
  if (on.length === 0)
    report({
      path: [...path, 'on'],
      code: 'event_type',
      message: 'listens to nothing; name a type of event',
    });
  for (const [index, type] of on.entries()) {
    if (permissionKey.safeParse(type).success) continue;
    const message = `is not a type of event, which is noun.verb: ${type}`;
    report({ path: [...path, 'on', index], code: 'event_type', message });
  }
  checkWhole(report, [...path, 'attemptsMax'], attemptsMax, ATTEMPTS_MAX);
}

/** A service without the permission of its operation would be refused at every event. */
function checkActor(
  declared: Declared,
  path: FaultPath,
  { operation, as }: { readonly operation: string; readonly as: string },
): void {
  const { operations, manifest, report } = declared;
  const service = checkService(declared, path, as);
  if (!Object.hasOwn(operations, operation)) {
    const unknown = { name: operation, known: Object.keys(operations) };
    const message = `names no operation: ${operation}`;
    report({ path: [...path, 'operation'], code: 'unknown_operation', message, unknown });
    return;
  }
  const permission = operations[operation]?.permission ?? '';
  // An undeclared permission is the mistake of the operation.
  if (service === undefined || service.permissions.includes(permission)) return;
  if (!Object.hasOwn(manifest.permissions, permission)) return;
  const message = `the service ${as} may not run ${operation}, which takes ${permission}`;
  report({ path: [...path, 'as'], code: 'service_permission', message });
}

/** The service of a listener; undefined, after a report, where the manifest declares none. */
function checkService({ manifest, report }: Declared, path: FaultPath, as: string) {
  const { services = {} } = manifest;
  if (Object.hasOwn(services, as)) return services[as];
  const unknown = { name: as, known: Object.keys(services) };
  const message = `names a service that the manifest does not declare: ${as}`;
  report({ path: [...path, 'as'], code: 'unknown_service', message, unknown });
  return undefined;
}

function checkName(report: Report, path: FaultPath, name: string): void {
  if (LISTENER_NAME.test(name)) return;
  const message = 'a name is lower-case letters, digits and hyphens, beginning with a letter';
  report({ path, code: 'subscriber_name', message });
}

function checkWhole(report: Report, path: FaultPath, value: number, max: number): void {
  if (!Number.isSafeInteger(value) || value < 1 || value > max)
    report({ path, code: 'invalid_value', message: `must be a whole number from 1 to ${max}` });
}
