/**
 * What the scopes of this process do by themselves: subscriptions, executors and schedules, kept going by one runner for
 * each vertical. A scope that is suspended does nothing until it is let in again.
 *
 * All scopes are listed once at the start, and whoever rests is not opened for it. From then on a change touches what it is
 * about, and nothing else.
 */

import { createHash } from 'node:crypto';
import { PlatformError } from '@freehold/contracts';
import type { RoutesChange } from '@freehold/directory';
import {
  type DeliveryRunner,
  makeDeliveryRunner,
  type ScopeHost,
  type ScopeStub,
  type ScopeUnit,
  type Vertical,
} from '@freehold/kernel';
import type { IncidentSink } from '@freehold/store';
import type { Fleet, FleetScope } from '../applications/fleet.ts';
import type { IdleScopes } from './idle-scopes.ts';
import type { WorkedScope } from './scope-outcomes.ts';

/** The scopes of one vertical in this process. */
export interface WorkingVertical {
  readonly vertical: Vertical;
  readonly host: Pick<ScopeHost, 'scope' | 'attachments'>;
  /** What it is at present: see `buildOf` in `deliveries-build.ts`. */
  readonly build: string;
}

export interface DeliveriesOptions {
  /** By slug. */
  readonly verticals: ReadonlyMap<string, WorkingVertical>;
  readonly fleet: Pick<Fleet, 'scopes' | 'scopesOf' | 'scope'>;
  /** Where it is written down in which scopes nothing waits. */
  readonly idleScopes: Pick<IdleScopes, 'resting' | 'takeDue' | 'settle'>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onIncident: IncidentSink;
  /** Told of a scope in which something was done: delivered, run, or given up. Default: nobody is told. */
  readonly onWorked?: (slug: string, scopeId: string) => void;
  /** Told of each scope that was not at rest when this process began, suspended or not. Default: nobody is told. */
  readonly onUnsettled?: (scope: FleetScope) => void;
  /** Whether something else is to be done yet before a scope may rest. Default: nothing is. */
  readonly isOwed?: (scopeId: string) => boolean;
  /** Runs a task after so many milliseconds; the answer cancels it. Default: timers that keep no process alive. */
  readonly after?: (ms: number, task: () => void) => () => void;
}

/**
 * Where scopes say that something was put in line. What is said before deliveries listen is dropped: they look into every
 * active scope when they begin.
 */
export class WorkSignal {
  #listener: (slug: string, scopeId: string) => void = () => undefined;

  readonly raise = (slug: string, scopeId: string): void => this.#listener(slug, scopeId);

  listen(listener: (slug: string, scopeId: string) => void): void {
    this.#listener = listener;
  }
}

export interface Deliveries {
  /** Something was put in line in a scope. */
  wake(slug: string, scopeId: string): void;
  /**
   * Lists every scope, learns which are suspended, and looks into those that serve and do not rest for what is left to do.
   * To be called once at the start, and when everything was replaced. Never rejects; a look that failed is repeated.
   */
  resume(): Promise<void>;
  /**
   * Somebody was suspended, let in, or is new: exactly those are asked about. Resolves when that is known, which is before
   * they have worked. Never rejects: a directory that could not be asked is asked again five seconds later, and whoever was
   * let in and could not be looked up is looked up again then, until that is done.
   */
  changed(change: RoutesChange): Promise<void>;
  /** Begins nothing new, and resolves when nothing is under way. */
  stop(): Promise<void>;
}

/** After the directory could not be asked, or the marks could not be read. */
const RETRY_MS = 5_000;
/** How often scopes that have become quiet are put to rest. */
const SETTLE_MS = 60_000;
/** For how long nothing must have been asked of them. Each rest and each waking is a write. */
const QUIET_MS = 10 * 60_000;
/** How many scopes are dealt with at a time. */
const BATCH = 200;

export function makeDeliveries(options: DeliveriesOptions): Deliveries {
  const { verticals, fleet, idleScopes: rest, now, onIncident, after = afterTimeout } = options;
  const { onWorked = () => undefined, onUnsettled = () => undefined, isOwed = () => false } = options;
  const paused = new Set<string>();
  /** Scopes that were asked about while all are listed: what the list says of them may be older. */
  let fresher: Set<string> | null = null;
  let looking: Promise<void> = Promise.resolve();
  let changing: Promise<void> = Promise.resolve();
  let tending: Promise<void> = Promise.resolve();
  let isTended = false;
  let stopped = false;
  const timers = new Set<() => void>();
  const buildOf = (slug: string): string | undefined => verticals.get(slug)?.build;

  const runners = new Map(
    [...verticals].map(([slug, { vertical, host }]): [string, DeliveryRunner] => [
      slug,
      makeDeliveryRunner({
        vertical,
        scope: (scopeId) =>
          paused.has(scopeId) ? pausedScope : watched(host.scope(scopeId), () => onWorked(slug, scopeId)),
        attachments: host.attachments,
        now,
        onIncident,
      }),
    ]),
  );

  const incident = (method: string) => (error: unknown) =>
    onIncident(error, { kind: 'platform', key: 'deliveries', method });

  const later = (ms: number, task: () => void): void => {
    if (stopped) return;
    const cancel = after(ms, () => {
      timers.delete(cancel);
      if (!stopped) task();
    });
    timers.add(cancel);
  };

  /** Those that serve and may have something to do. */
  const unsettledOf = async (
    scopes: readonly FleetScope[],
    tell: (scope: FleetScope) => void = () => undefined,
  ): Promise<readonly FleetScope[]> => {
    const known = scopes.filter(({ vertical }) => verticals.has(vertical));
    if (known.length === 0) return [];
    const resting = await rest.resting(known, buildOf);
    for (const each of known) if (!resting.has(each.scope)) tell(each);
    return known.filter(({ scope, serving }) => serving && resting.get(scope) !== true);
  };

  /** One after the other in each vertical, as the runner can take them; whoever was suspended meanwhile is left out. */
  const workIn = async (scopes: readonly FleetScope[]): Promise<void> => {
    for (const [slug, runner] of runners) {
      if (stopped) return;
      await runner.resume(
        scopes
          .filter(({ vertical, scope }) => vertical === slug && !paused.has(scope))
          .map(({ scope }) => scope),
      );
    }
  };

  const look = async (): Promise<void> => {
    const asked = new Set<string>();
    fresher = asked;
    const suspended = new Set<string>();
    const unsettled: FleetScope[] = [];
    try {
      for await (const page of pagesOf(fleet.scopes())) {
        if (stopped) return;
        const listed = page.filter(({ scope }) => !asked.has(scope));
        for (const { scope, serving } of listed) if (!serving) suspended.add(scope);
        unsettled.push(...(await unsettledOf(listed, onUnsettled)));
      }
    } finally {
      fresher = null;
    }
    for (const scope of paused) if (!suspended.has(scope) && !asked.has(scope)) paused.delete(scope);
    for (const scope of suspended) if (!asked.has(scope)) paused.add(scope);
    tend();
    await workIn(unsettled);
  };

  /** What the directory says of them now; whoever serves is looked into, without keeping the next change waiting. */
  const learn = (scopes: readonly FleetScope[]): void => {
    for (const { scope, serving } of scopes) {
      fresher?.add(scope);
      if (serving) paused.delete(scope);
      else paused.add(scope);
    }
    lookInto(scopes);
  };

  const lookInto = (scopes: readonly FleetScope[]): void => {
    unsettledOf(scopes)
      .then(workIn)
      .catch((error: unknown) => {
        if (stopped) return;
        incident('changed')(error);
        // The look alone: what was learnt of them may be old by then, and whoever was suspended since is left out.
        later(RETRY_MS, () => lookInto(scopes));
      });
  };

  const apply = async ({ tenant, scope }: RoutesChange): Promise<void> => {
    if (tenant === null) return;
    if (scope === null) {
      for await (const page of pagesOf(fleet.scopesOf(tenant))) {
        if (stopped) return;
        learn(page);
      }
      return;
    }
    const found = await fleet.scope({ tenant, scope });
    if (found) learn([found]);
    else paused.delete(scope);
  };

  const wakeAll = (scopes: readonly WorkedScope[]): void => {
    for (const { vertical, scope } of scopes) runners.get(vertical)?.wake(scope);
  };

  /** Puts to rest whoever is quiet, and works where it is time. Comes back by itself. */
  const tend = (): void => {
    if (isTended || stopped) return;
    isTended = true;
    const round = async (): Promise<void> => {
      let next = SETTLE_MS;
      try {
        const { items, nextAtMs } = await rest.takeDue();
        // At once: they are due no more, so that nobody comes back to them when something below fails.
        wakeAll(items);
        if (nextAtMs !== null) next = Math.min(next, Math.max(0, nextAtMs - now()));
        wakeAll(await rest.settle({ quietMs: QUIET_MS, buildOf, isOwed }));
      } catch (error) {
        if (!stopped) incident('tend')(error);
      }
      again(next);
    };
    const again = (ms: number): void =>
      later(ms, () => {
        tending = round();
      });
    again(0);
  };

  const resume = (): Promise<void> => {
    // One after the other: what was learnt last counts.
    looking = looking.then(async () => {
      if (stopped) return;
      await look().catch((error: unknown) => {
        if (stopped) return;
        incident('resume')(error);
        later(RETRY_MS, () => void resume());
      });
    });
    return looking;
  };

  const changed = (change: RoutesChange): Promise<void> => {
    const { tenant, scope, vertical } = change;
    if (tenant === null && scope === null && vertical === null) return resume();
    changing = changing.then(async () => {
      if (stopped) return;
      await apply(change).catch((error: unknown) => {
        if (stopped) return;
        incident('changed')(error);
        later(RETRY_MS, () => void changed(change));
      });
    });
    return changing;
  };

  return {
    wake: (slug, scopeId) => runners.get(slug)?.wake(scopeId),
    resume,
    changed,
    stop: async () => {
      stopped = true;
      for (const cancel of timers) cancel();
      timers.clear();
      await Promise.all([...runners.values()].map((runner) => runner.stop()));
      await Promise.all([looking, changing, tending]);
      // Whoever is at rest now need not be looked into by the next process.
      await rest.settle({ quietMs: 0, buildOf, isOwed }).catch(incident('settle'));
    },
  };
}

async function* pagesOf<T>(items: AsyncIterable<T>): AsyncGenerator<readonly T[], void, undefined> {
  let page: T[] = [];
  for await (const item of items) {
    page.push(item);
    if (page.length < BATCH) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
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

function afterTimeout(ms: number, task: () => void): () => void {
  const timer = setTimeout(task, ms).unref();
  return () => clearTimeout(timer);
}

/**
 * The version of what the kernel does in every scope by itself: which pieces of work there are and when they are due. No
 * declaration shows that. To be raised with every change to it, or scopes at rest are not looked into for the new work.
 */
const KERNEL_WORK = '1';

/**
 * A digest of what a vertical declares, the platform's own part of its scopes with it.
 * @param kernelWork default: of this kernel.
 */
export function buildOf(
  { vertical, migrations }: Pick<ScopeUnit, 'vertical' | 'migrations'>,
  kernelWork: string = KERNEL_WORK,
): string {
  const { manifest, schedules, subscriptions, executors, retention, chainMax } = vertical;
  // What they run is code, which is left out here: it decides what a piece of work does, and not whether there is any.
  const declared = {
    kernelWork,
    manifest,
    schedules,
    subscriptions,
    executors,
    retention,
    chainMax,
    migrations,
  };
  return createHash('sha256').update(JSON.stringify(declared)).digest('hex').slice(0, 32);
}
