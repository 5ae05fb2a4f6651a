/** The lanes of a vertical: who listens to which type of event. Checked once, when the vertical is declared. */
import { permissionKey, type VerticalManifest } from '@freehold/contracts';
import { OPERATION_NAME, type OperationTable } from '@freehold/operations';
import { Cron } from 'croner';
import {
  ATTEMPTS_DEFAULT,
  ATTEMPTS_MAX,
  CHAIN_DEFAULT,
  CHAIN_MAX,
  type Executor,
  type Listeners,
  type Schedule,
  type Subscription,
  TIMEOUT_DEFAULT_MS,
  TIMEOUT_MAX_MS,
} from './declarations.ts';

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
  /** Who is told of a type of event. */
  of(type: string): readonly Lane[];
  find(subscriber: string, type: string): Lane | undefined;
}

/** The name of a subscriber or a schedule. */
const LISTENER_NAME = /^[a-z][a-z0-9-]{0,63}$/;

export function makeLanes(listeners: Listeners): Lanes {
  const all: Lane[] = [
    ...Object.entries(listeners.subscriptions ?? {}).flatMap(([subscriber, subscription]) =>
      [...new Set(subscription.on)].map((type) => ({
        subscriber,
        type,
        attemptsMax: subscription.attemptsMax ?? ATTEMPTS_DEFAULT,
        listener: { kind: 'subscription' as const, subscription },
      })),
    ),
    ...Object.entries(listeners.executors ?? {}).flatMap(([subscriber, executor]) =>
      [...new Set(executor.on)].map((type) => ({
        subscriber,
        type,
        attemptsMax: executor.attemptsMax ?? ATTEMPTS_DEFAULT,
        listener: {
          kind: 'executor' as const,
          executor,
          timeoutMs: executor.timeoutMs ?? TIMEOUT_DEFAULT_MS,
        },
      })),
    ),
  ];
  const byType = Map.groupBy(all, (lane) => lane.type);
  return {
    all,
    of: (type) => byType.get(type) ?? [],
    find: (subscriber, type) => byType.get(type)?.find((lane) => lane.subscriber === subscriber),
  };
}

/**
 * Checks what a vertical listens to and when it runs by itself.
 * @throws TypeError that names what is wrong.
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

/** The first time of a schedule after a moment, or null when there is none. */
export function nextRunMs(
  schedule: Pick<Schedule, 'cron'> & { timezone?: string | undefined },
  afterMs: number,
): number | null {
  const cron = new Cron(schedule.cron, {
    paused: true,
    timezone: schedule.timezone ?? 'UTC',
    mode: '5-or-6-parts',
  });
  return cron.nextRun(new Date(afterMs))?.getTime() ?? null;
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
  // It would be refused at every event: better said now.
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
