/** Subscriptions, executors and schedules of an application, run when a test asks, and reported. */
import type { DeadLetter, EventId } from '@freehold/contracts';
import {
  type DeliveryRunnerOptions,
  type Executor,
  makeDeliveryRunner,
  type ScopeStub,
  type Vertical,
} from '@freehold/kernel';
import type { TestClock } from './clock.ts';

/** One attempt. */
export interface Ran {
  readonly kind: 'subscription' | 'executor' | 'schedule';
  /** The name in the declaration. */
  readonly name: string;
  /** The event that it followed; null for a schedule. */
  readonly event: EventId | null;
  /** Null where it was done. A failed delivery is tried again when its time has come. */
  readonly error: { readonly code: string; readonly detail: string } | null;
  /** The error of an executor as it was thrown. Absent where there is none. */
  readonly thrown?: unknown;
}

export interface Delivered {
  /** Every attempt, in its order. */
  readonly ran: readonly Ran[];
  /** The deliveries that were given up, newest event first. */
  readonly deadLetters: readonly DeadLetter[];
  /** When the next work comes due, in milliseconds since the epoch; null when nothing waits. */
  readonly nextAtMs: number | null;
}

export interface Deliveries {
  /** Does what is due now, and what follows from it, until nothing is due. */
  deliver(): Promise<Delivered>;
  stop(): Promise<void>;
}

export interface DeliveriesOptions
  extends Pick<DeliveryRunnerOptions, 'onIncident' | 'attachments' | 'fetch'> {
  readonly vertical: Vertical;
  readonly scope: ScopeStub;
  readonly scopeId: string;
  readonly clock: TestClock;
}

export function makeDeliveries(options: DeliveriesOptions): Deliveries {
  const { scope, scopeId, clock, vertical, ...rest } = options;
  const timers = new Set<{ readonly atMs: number; readonly task: () => void }>();
  const thrown = new Map<string, unknown>();
  const observed: Ran[] = [];
  const watched = watch(scope, observed, thrown);
  const runner = makeDeliveryRunner({
    ...rest,
    vertical: { ...vertical, executors: catching(vertical.executors ?? {}, thrown) },
    scope: () => watched,
    now: clock.now,
    // Waits end when the test moves the clock, those of executors too.
    after: (ms, task) => {
      const timer = { atMs: clock.now() + ms, task };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
  });

  const isDue = ({ atMs }: { readonly atMs: number }) => atMs <= clock.now();
  const fire = async (): Promise<void> => {
    for (const timer of [...timers].filter(isDue)) {
      timers.delete(timer);
      timer.task();
    }
    await runner.idle();
  };

  const lettersNow = async () => (await scope.deadLetters({ limit: 200 })).items;
  const nameOf = ({ subscriber, event }: DeadLetter) => `${subscriber} ${event.id}`;

  return {
    deliver: async () => {
      const from = observed.length;
      const before = new Set((await lettersNow()).map(nameOf));
      runner.wake(scopeId);
      // Before anything is waited for: an executor that hangs ends when its time is over.
      do {
        await fire();
      } while ([...timers].some(isDue));
      const nextAtMs = Math.min(...[...timers].map(({ atMs }) => atMs));
      return {
        ran: observed.slice(from),
        deadLetters: (await lettersNow()).filter((each) => !before.has(nameOf(each))),
        nextAtMs: Number.isFinite(nextAtMs) ? nextAtMs : null,
      };
    },
    stop: () => runner.stop(),
  };
}

/** A stub that notes the attempts of each round, and the results of executors. */
function watch(scope: ScopeStub, ran: Ran[], thrown: Map<string, unknown>): ScopeStub {
  const work: ScopeStub['work'] = async (input) => {
    const done = await scope.work({ ...input, report: true });
    ran.push(...(done.attempts ?? []));
    return done;
  };
  const settle: ScopeStub['settle'] = async (result) => {
    const answer = await scope.settle(result);
    const { subscriber, event, error = null, handedBack } = result;
    if (handedBack) return answer;
    const key = `${subscriber}:${event}`;
    const ended: Ran = { kind: 'executor', name: subscriber, event, error };
    ran.push(thrown.has(key) ? { ...ended, thrown: thrown.get(key) } : ended);
    thrown.delete(key);
    return answer;
  };
  return new Proxy(scope, {
    get: (target, name, receiver) =>
      name === 'work' ? work : name === 'settle' ? settle : Reflect.get(target, name, receiver),
  });
}

/** Executors whose failures are kept as they were thrown: the scope stores the public text alone. */
function catching(
  executors: Readonly<Record<string, Executor>>,
  thrown: Map<string, unknown>,
): Record<string, Executor> {
  return Object.fromEntries(
    Object.entries(executors).map(([name, executor]) => [
      name,
      {
        ...executor,
        run: async (event, tools) => {
          try {
            await executor.run(event, tools);
          } catch (error) {
            thrown.set(tools.deliveryKey, error);
            throw error;
          }
        },
      },
    ]),
  );
}
