/**
 * Deliveries: the subscriptions, executors and schedules of the scopes of this process, kept going by one runner for each
 * vertical. A scope that is suspended does nothing until it is let in again.
 *
 * All scopes are listed once at the start, and idle ones are not opened for it. From then on a change touches the scopes that
 * it is about, and no others.
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
  /** Remembers in which scopes nothing waits. */
  readonly idleScopes: Pick<IdleScopes, 'resting' | 'takeDue' | 'settle'>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onIncident: IncidentSink;
  /** Receives a scope in which something was done: delivered, run, or given up. */
  readonly onWorked?: (slug: string, scopeId: string) => void;
  /** Receives each scope that was not idle when this process began, suspended or not. */
  readonly onUnsettled?: (scope: FleetScope) => void;
  /** Whether something else is to be done before a scope may be idle. Default: nothing is. */
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

/** After the directory could not be asked, or the marks could not be read. */
const RETRY_MS = 5_000;
/** How often scopes that have become quiet are put to rest. */
const SETTLE_MS = 60_000;
/** For how long nothing must have been asked of them. Each rest and each waking is a write. */
const QUIET_MS = 10 * 60_000;
/** How many scopes are dealt with at a time. */
const BATCH = 200;

/**
 * The work of the scopes of this process. State: which scopes are paused, what is in progress one after the other (a look over
 * the fleet, changes), and the timers of what comes back.
 */
export class Deliveries {
  readonly #options: DeliveriesOptions;
  readonly #runners: ReadonlyMap<string, DeliveryRunner>;
  readonly #paused = new Set<string>();
  /** Scopes that were asked about while all are listed: what the list says of them may be older. */
  #fresher: Set<string> | null = null;
  #looking: Promise<void> = Promise.resolve();
  #changing: Promise<void> = Promise.resolve();
  #tending: Promise<void> = Promise.resolve();
  #isTended = false;
  #stopped = false;
  readonly #timers = new Set<() => void>();

  constructor(options: DeliveriesOptions) {
    this.#options = options;
    this.#runners = new Map([...options.verticals].map(([slug, each]) => [slug, this.#runnerOf(slug, each)]));
  }

  /** Something was put in line in a scope. */
  wake(slug: string, scopeId: string): void {
    this.#runners.get(slug)?.wake(scopeId);
  }

  /**
   * Lists every scope, learns which are suspended, and looks into those that serve and are not idle for what is left to do.
   * To be called once at the start, and when everything was replaced. Never rejects; a look that failed is repeated.
   */
  resume(): Promise<void> {
    // One after the other: what was learnt last counts.
    this.#looking = this.#looking.then(() =>
      this.#attempt(
        'resume',
        () => this.#look(),
        () => void this.resume(),
      ),
    );
    return this.#looking;
  }

  /**
   * A tenant or a scope was suspended, let in, or is new: exactly those scopes are asked about. Resolves when that is known,
   * which is before they have worked. Never rejects: what could not be asked is asked again five seconds later.
   */
  changed(change: RoutesChange): Promise<void> {
    const { tenant, scope, vertical } = change;
    if (tenant === null && scope === null && vertical === null) return this.resume();
    this.#changing = this.#changing.then(() =>
      this.#attempt(
        'changed',
        () => this.#apply(change),
        () => void this.changed(change),
      ),
    );
    return this.#changing;
  }

  /** Begins nothing new, and resolves when nothing is in progress. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    await Promise.all([...this.#runners.values()].map((runner) => runner.stop()));
    await Promise.all([this.#looking, this.#changing, this.#tending]);
    // A scope that is idle now need not be looked into by the next process.
    await this.#settle(0).catch((error: unknown) => this.#report('settle', error));
  }

  #runnerOf(slug: string, { vertical, host }: WorkingVertical): DeliveryRunner {
    const { now, onIncident, onWorked = () => undefined } = this.#options;
    return makeDeliveryRunner({
      vertical,
      scope: (scopeId) =>
        this.#paused.has(scopeId) ? pausedScope : watched(host.scope(scopeId), () => onWorked(slug, scopeId)),
      attachments: host.attachments,
      now,
      onIncident,
    });
  }

  /** Does something, and again a while later where it failed. */
  async #attempt(method: string, work: () => Promise<void>, again: () => void): Promise<void> {
    if (this.#stopped) return;
    try {
      await work();
    } catch (error) {
      if (this.#stopped) return;
      this.#report(method, error);
      this.#later(RETRY_MS, again);
    }
  }

  #report(method: string, error: unknown): void {
    this.#options.onIncident(error, { kind: 'platform', key: 'deliveries', method });
  }

  #later(ms: number, task: () => void): void {
    if (this.#stopped) return;
    const { after = afterTimeout } = this.#options;
    const cancel = after(ms, () => {
      this.#timers.delete(cancel);
      if (!this.#stopped) task();
    });
    this.#timers.add(cancel);
  }

  readonly #buildOf = (slug: string): string | undefined => this.#options.verticals.get(slug)?.build;

  /** Those that serve and may have something to do. `onUnsettled` receives each that is not idle. */
  async #unsettledOf(
    scopes: readonly FleetScope[],
    onUnsettled: (scope: FleetScope) => void = () => undefined,
  ): Promise<readonly FleetScope[]> {
    const known = scopes.filter(({ vertical }) => this.#options.verticals.has(vertical));
    if (known.length === 0) return [];
    const idle = await this.#options.idleScopes.resting(known, this.#buildOf);
    for (const each of known) if (!idle.has(each.scope)) onUnsettled(each);
    return known.filter(({ scope, serving }) => serving && idle.get(scope) !== true);
  }

  /** One after the other in each vertical, as the runner can take them; scopes that are suspended by then are left out. */
  async #workIn(scopes: readonly FleetScope[]): Promise<void> {
    for (const [slug, runner] of this.#runners) {
      if (this.#stopped) return;
      const its = scopes.filter(({ vertical, scope }) => vertical === slug && !this.#paused.has(scope));
      await runner.resume(its.map(({ scope }) => scope));
    }
  }

  async #look(): Promise<void> {
    const asked = new Set<string>();
    this.#fresher = asked;
    const suspended = new Set<string>();
    const unsettled: FleetScope[] = [];
    try {
      for await (const page of pagesOf(this.#options.fleet.scopes())) {
        if (this.#stopped) return;
        const listed = page.filter(({ scope }) => !asked.has(scope));
        for (const { scope, serving } of listed) if (!serving) suspended.add(scope);
        unsettled.push(...(await this.#unsettledOf(listed, this.#options.onUnsettled)));
      }
    } finally {
      this.#fresher = null;
    }
    for (const scope of this.#paused)
      if (!suspended.has(scope) && !asked.has(scope)) this.#paused.delete(scope);
    for (const scope of suspended) if (!asked.has(scope)) this.#paused.add(scope);
    this.#tend();
    await this.#workIn(unsettled);
  }

  async #apply({ tenant, scope }: RoutesChange): Promise<void> {
    const { fleet } = this.#options;
    if (tenant === null) return;
    if (scope !== null) {
      const found = await fleet.scope({ tenant, scope });
      if (found) this.#learn([found]);
      else this.#paused.delete(scope);
      return;
    }
    for await (const page of pagesOf(fleet.scopesOf(tenant))) {
      if (this.#stopped) return;
      this.#learn(page);
    }
  }

  /** Takes over what the directory says now, and looks into the scopes without keeping the next change waiting. */
  #learn(scopes: readonly FleetScope[]): void {
    for (const { scope, serving } of scopes) {
      this.#fresher?.add(scope);
      if (serving) this.#paused.delete(scope);
      else this.#paused.add(scope);
    }
    this.#lookInto(scopes);
  }

  #lookInto(scopes: readonly FleetScope[]): void {
    void this.#attempt(
      'changed',
      async () => this.#workIn(await this.#unsettledOf(scopes)),
      // The look alone: what was learnt may be old by then, and a scope that was suspended since is left out.
      () => this.#lookInto(scopes),
    );
  }

  /** Marks idle scopes, and works where it is time. Comes back by itself. */
  #tend(): void {
    if (this.#isTended || this.#stopped) return;
    this.#isTended = true;
    const again = (ms: number): void =>
      this.#later(ms, () => {
        this.#tending = this.#tendOnce().then(again);
      });
    again(0);
  }

  /** Returns when to come back, in milliseconds. Does not reject. */
  async #tendOnce(): Promise<number> {
    let nextMs = SETTLE_MS;
    try {
      const { items, nextAtMs } = await this.#options.idleScopes.takeDue();
      // At once: they are no longer due, so that nothing would come back to them if something below fails.
      this.#wakeAll(items);
      if (nextAtMs !== null) nextMs = Math.min(nextMs, Math.max(0, nextAtMs - this.#options.now()));
      this.#wakeAll(await this.#settle(QUIET_MS));
    } catch (error) {
      if (!this.#stopped) this.#report('tend', error);
    }
    return nextMs;
  }

  #settle(quietMs: number): Promise<readonly WorkedScope[]> {
    const { idleScopes, isOwed = () => false } = this.#options;
    return idleScopes.settle({ quietMs, buildOf: this.#buildOf, isOwed });
  }

  #wakeAll(scopes: readonly WorkedScope[]): void {
    for (const { vertical, scope } of scopes) this.wake(vertical, scope);
  }
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
