/**
 * What the scopes of this process do by themselves: subscriptions, executors and schedules, kept going by one runner for
 * each vertical. A scope that is suspended does nothing until it is let in again.
 */
import { PlatformError } from '@freehold/contracts';
import {
  type DeliveryRunner,
  makeDeliveryRunner,
  type ScopeHost,
  type ScopeStub,
  type Vertical,
} from '@freehold/kernel';
import type { IncidentSink } from '@freehold/store';
import type { Fleet, FleetScope } from '../fleet.ts';

/** The scopes of one vertical in this process. */
export interface WorkingVertical {
  readonly vertical: Vertical;
  readonly host: Pick<ScopeHost, 'scope' | 'attachments'>;
}

export interface DeliveriesOptions {
  /** By slug. */
  readonly verticals: ReadonlyMap<string, WorkingVertical>;
  readonly fleet: Pick<Fleet, 'scopes'>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onIncident: IncidentSink;
  /** Told of a scope in which something was done: delivered, run, or given up. Default: nobody is told. */
  readonly onWorked?: (slug: string, scopeId: string) => void;
}

export interface Deliveries {
  /** Something was put in line in a scope. */
  wake(slug: string, scopeId: string): void;
  /**
   * Looks into every scope that serves for what is left to do, and learns which are suspended. To be called once at the
   * start, and whenever somebody was suspended or let in. Never rejects.
   */
  resume(): Promise<void>;
  /** Begins nothing new, and resolves when nothing is under way. */
  stop(): Promise<void>;
}

export function makeDeliveries(options: DeliveriesOptions): Deliveries {
  const { verticals, fleet, now, onIncident, onWorked = () => undefined } = options;
  let suspended: ReadonlySet<string> = new Set();
  let resuming: Promise<void> = Promise.resolve();
  let stopped = false;
  const runners = new Map(
    [...verticals].map(([slug, { vertical, host }]): [string, DeliveryRunner] => [
      slug,
      makeDeliveryRunner({
        vertical,
        scope: (scopeId) =>
          suspended.has(scopeId) ? pausedScope : watched(host.scope(scopeId), () => onWorked(slug, scopeId)),
        attachments: host.attachments,
        now,
        onIncident,
      }),
    ]),
  );

  const look = async (): Promise<void> => {
    const scopes: FleetScope[] = [];
    for await (const each of fleet.scopes()) scopes.push(each);
    suspended = new Set(scopes.filter(({ serving }) => !serving).map(({ scope }) => scope));
    for (const [slug, runner] of runners) {
      if (stopped) return;
      await runner.resume(
        scopes.filter(({ vertical, serving }) => serving && vertical === slug).map(({ scope }) => scope),
      );
    }
  };

  return {
    wake: (slug, scopeId) => runners.get(slug)?.wake(scopeId),
    resume: () => {
      // One after the other: what was learnt last counts.
      resuming = resuming.then(async () => {
        if (stopped) return;
        await look().catch((error: unknown) =>
          onIncident(error, { kind: 'platform', key: 'deliveries', method: 'resume' }),
        );
      });
      return resuming;
    },
    stop: async () => {
      stopped = true;
      await Promise.all([...runners.values()].map((runner) => runner.stop()));
      await resuming;
    },
  };
}

/** The same scope. Rounds in which something was done are told, and so are executors that came back. */
function watched(scope: ScopeStub, onWorked: () => void): ScopeStub {
  const work: ScopeStub['work'] = async (input) => {
    const done = await scope.work(input);
    if (done.settled > 0) onWorked();
    return done;
  };
  const settle: ScopeStub['settle'] = async (input) => {
    const settled = await scope.settle(input);
    onWorked();
    return settled;
  };
  const told: Partial<ScopeStub> = { work, settle };
  return new Proxy(scope, {
    get: (target, name) => Reflect.get(Object.hasOwn(told, name) ? told : target, name),
  });
}

/** To a runner, a scope that is gone has no work; it is woken again when it is let in. */
const pausedScope = new Proxy({} as ScopeStub, {
  get: () => () => Promise.reject(new PlatformError('not_found', 'This scope is suspended.')),
});
