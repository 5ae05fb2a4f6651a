/**
 * Deliveries: the subscriptions, executors and schedules of the scopes of this process, run by one runner for each
 * vertical. A suspended scope does nothing until it is resumed.
 *
 * The start lists all scopes, and opens no idle ones. Later a change touches only the scopes that it is about.
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
import type { Fleet, FleetScope } from '../applications/operator.ts';
import type { IdleScopes } from './idle-scopes.ts';
import type { WorkedScope } from './scope-outcomes.ts';

/** The scopes of one vertical in this process. */
export interface WorkingVertical {
  readonly vertical: Vertical;
  readonly host: Pick<ScopeHost, 'scope' | 'attachments'>;
  /** The digest of its declarations, from `buildOf`. */
  readonly build: string;
}

export interface DeliveriesOptions {
  /** By slug. */
  readonly verticals: ReadonlyMap<string, WorkingVertical>;
  readonly fleet: Pick<Fleet, 'scopes' | 'scopesOf' | 'scope'>;
  readonly idleScopes: Pick<IdleScopes, 'marked' | 'takeDue' | 'settle'>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onIncident: IncidentSink;
  /** Receives a scope in which work was done: delivered, run, or given up. */
  readonly onWorked?: (slug: string, scopeId: string) => void;
  /** Receives each scope that was not idle when this process began, suspended or not. */
  readonly onUnsettled?: (scope: FleetScope) => void;
  /** Whether a scope may not be idle yet, because usage is still to be collected there. Default: never. */
  readonly isOwed?: (scopeId: string) => boolean;
  /** Runs a task after so many milliseconds and returns its cancellation. Default: timers that keep no process alive. */
  readonly after?: (ms: number, task: () => void) => () => void;
}

/**
 * Carries "work was enqueued" from scopes to deliveries. Signals before deliveries listen are dropped: deliveries look into
 * every active scope when they begin.
 */
export class WorkSignal {
  #listener: (slug: string, scopeId: string) => void = () => undefined;

  readonly raise = (slug: string, scopeId: string): void => this.#listener(slug, scopeId);

  listen(listener: (slug: string, scopeId: string) => void): void {
    this.#listener = listener;
  }
}

/** The delay after the directory or the marks could not be read. */
const RETRY_MS = 5_000;
/** The interval at which idle scopes are marked. */
const SETTLE_MS = 60_000;
/** A scope without calls for this long is idle. Marking and unmarking are a write each. */
const QUIET_MS = 10 * 60_000;
/** The number of scopes per page. */
const BATCH = 200;

/**
 * The work of the scopes of this process. State: the paused scopes, two chains of tasks (looks over the fleet; changes), and
 * the timers of repeated tasks.
 */
export class Deliveries {
  readonly #options: DeliveriesOptions;
  readonly #runners: ReadonlyMap<string, DeliveryRunner>;
  readonly #paused = new Set<string>();
  /** Scopes that were asked about during a look over the fleet: the list may be older. */
  #fresher: Set<string> | null = null;
  #looking: Promise<void> = Promise.resolve();
  #changing: Promise<void> = Promise.resolve();
  #marking: Promise<void> = Promise.resolve();
  #isMarking = false;
  #stopped = false;
  readonly #timers = new Set<() => void>();

  constructor(options: DeliveriesOptions) {
    this.#options = options;
    this.#runners = new Map([...options.verticals].map(([slug, each]) => [slug, this.#runnerOf(slug, each)]));
  }

  /** Work was enqueued in a scope. */
  wake(slug: string, scopeId: string): void {
    this.#runners.get(slug)?.wake(scopeId);
  }

  /**
   * Lists every scope, learns which are suspended, and looks into the serving ones that are not idle for work. For the
   * start, and for after a restore of the directory. Never rejects; a failed look is repeated.
   */
  resume(): Promise<void> {
    // One look after the other: the last one counts.
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
   * A tenant or a scope was suspended, resumed, or is new: exactly those scopes are asked about. Resolves when their state is
   * known, before they have worked. Never rejects: a failed question is repeated five seconds later.
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

  /** Begins no more work, and resolves when none is in progress. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    await Promise.all([...this.#runners.values()].map((runner) => runner.stop()));
    await Promise.all([this.#looking, this.#changing, this.#marking]);
    // A scope that is marked now need not be looked into by the next process.
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

  /** Does a task, and repeats it a while later where it failed. */
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

  /** The serving scopes of these that may have work. `onUnsettled` receives each that has no mark. */
  async #unsettledOf(
    scopes: readonly FleetScope[],
    onUnsettled: (scope: FleetScope) => void = () => undefined,
  ): Promise<readonly FleetScope[]> {
    const known = scopes.filter(({ vertical }) => this.#options.verticals.has(vertical));
    if (known.length === 0) return [];
    const idle = await this.#options.idleScopes.marked(known, this.#buildOf);
    for (const each of known) if (!idle.has(each.scope)) onUnsettled(each);
    return known.filter(({ scope, serving }) => serving && idle.get(scope) !== true);
  }

  /** Resumes scopes as the runners can take them; scopes that are suspended by then are left out. */
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
    this.#startMarking();
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

  /** Records the present state of scopes, and looks into them without delaying the next change. */
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
      // Repeats the look alone: the recorded state may be newer by then.
      () => this.#lookInto(scopes),
    );
  }

  /** Begins to mark idle scopes and to wake due ones, again and again. */
  #startMarking(): void {
    if (this.#isMarking || this.#stopped) return;
    this.#isMarking = true;
    const again = (ms: number): void =>
      this.#later(ms, () => {
        this.#marking = this.#markOnce().then(again);
      });
    again(0);
  }

  /** Returns the delay until the next time, in milliseconds. Does not reject. */
  async #markOnce(): Promise<number> {
    let nextMs = SETTLE_MS;
    try {
      const { items, nextAtMs } = await this.#options.idleScopes.takeDue();
      // At once: they are no longer due, so a failure below would lose them.
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

/** The same scope; it reports rounds in which work was done, and settled executors. */
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
  const watchedMethods: Partial<ScopeStub> = { work, settle };
  return new Proxy(scope, {
    get: (target, name) => Reflect.get(Object.hasOwn(watchedMethods, name) ? watchedMethods : target, name),
  });
}

/** A runner gives up a scope that does not exist; a resumed scope is woken again. */
const pausedScope = new Proxy({} as ScopeStub, {
  get: () => () => Promise.reject(new PlatformError('not_found', 'This scope is suspended.')),
});

function afterTimeout(ms: number, task: () => void): () => void {
  const timer = setTimeout(task, ms).unref();
  return () => clearTimeout(timer);
}

/**
 * The version of the kernel's own work in every scope, which no declaration shows. Raise it with every change to which work
 * there is or when it is due, or idle scopes are not looked into for the new work.
 */
const KERNEL_WORK = '2';

/** A digest of a vertical's declarations and of the platform's own part of its scopes. @param kernelWork default: this kernel's. */
export function buildOf(
  { vertical, migrations }: Pick<ScopeUnit, 'vertical' | 'migrations'>,
  kernelWork: string = KERNEL_WORK,
): string {
  const { manifest, schedules, subscriptions, executors, works, retention, chainMax } = vertical;
  // Code is left out: it decides what a piece of work does, and not whether there is any.
  const declared = {
    kernelWork,
    manifest,
    schedules,
    subscriptions,
    executors,
    works,
    retention,
    chainMax,
    migrations,
  };
  return createHash('sha256').update(JSON.stringify(declared)).digest('hex').slice(0, 32);
}
