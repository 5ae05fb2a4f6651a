/**
 * The process of one deployed vertical: started by its first request, ended when it is idle, killed when it hangs, started
 * again after a pause that grows. One that waits for it longer than it may is answered 503.
 */
import { PlatformError } from '@freehold/contracts';
import { earliestAlarm } from './alarms.ts';
import { type ChildEnd, type ChildLimits, type ChildOptions, type HostChild, startChild } from './child.ts';
import { InFlight } from './in-flight.ts';
import { type SentRequest, sendOver } from './send.ts';

export interface ProcessLimits extends ChildLimits {
  /** The time without a request after which it is ended, in milliseconds. Default 5 minutes. */
  readonly idleMs: number;
  /**
   * The number of bundles after which a successor takes its place, since what it loaded is never freed. It doubles when that
   * happens within ten minutes. Default 100.
   */
  readonly bundlesMax: number;
  /**
   * The longest time that requests wait for the answers of a process that loaded too many bundles, in milliseconds. Then it goes
   * on, and is replaced later. Default 4 seconds.
   */
  readonly drainMs: number;
}

export const PROCESS_LIMITS: ProcessLimits = {
  heapMib: 256,
  memoryMib: 1_024,
  idleMs: 300_000,
  silenceMs: 5_000,
  heartbeatMs: 1_000,
  recoverMs: 60_000,
  bundlesMax: 100,
  drainMs: 4_000,
};

/** The end of a process that was not in order. */
export interface ProcessFault {
  readonly vertical: string;
  readonly reason: ChildEnd['reason'] | 'not_started';
  /** A sentence for the operator. */
  readonly detail: string;
  /** The scopes whose requests were running. */
  readonly scopes: readonly string[];
  /** The pause before it is started again, in milliseconds. */
  readonly pauseMs: number;
}

export interface VerticalProcessOptions extends Omit<ChildOptions, 'limits'> {
  readonly limits: ProcessLimits;
  /** Receives the end of a process that hung or died. It does not throw. */
  readonly onFault: (fault: ProcessFault) => void;
  /** Called when none runs any more: nothing runs until the next request, or until `wake`. */
  readonly onDown: () => void;
}

const BACKOFF_FIRST_MS = 250;
const BACKOFF_MAX_MS = 60_000;
/** A process that lived that long was sound: the next pause is the first again. */
const SOUND_MS = 60_000;
/** A successor within that time is one too many. */
const OFTEN_MS = 600_000;
/** The longest pause that a request waits for. */
const PATIENCE_MS = 2_000;
/** The longest time that a request waits for a process, in all. */
const WAIT_MAX_MS = 9_000;
/** Between two waits for answers that take long, requests are served for so many times as long. */
const DRAIN_PAUSE = 5;
/** So many failures in a row are a state, and no accident. */
const FAILING = 3;
/** A failure that long ago says nothing about the present. */
const FAILING_MS = 600_000;

export class VerticalProcess {
  readonly #options: VerticalProcessOptions;
  /** The requests that wait for a process. */
  readonly #waiting = new InFlight();
  /** The process that runs or starts. */
  #child: Promise<HostChild> | null = null;
  /** The same, once it runs. */
  #present: HostChild | null = null;
  /** Resolves when the process before is gone: two would write the same databases. With that process where it goes on. */
  #predecessor: Promise<HostChild | null> = Promise.resolve(null);
  #bundles = 0;
  #bundlesMax: number;
  /** Times of the process's own clock (`performance.now`), which no correction of the machine's moves. */
  #lastUsedAt = performance.now();
  #againAt = 0;
  #failedAt = 0;
  #failures = 0;
  /** Until then it is not tried to replace the process, since its answers took too long for that. */
  #drainAgainAt = 0;
  #isClosed = false;

  constructor(options: VerticalProcessOptions) {
    this.#options = options;
    this.#bundlesMax = options.limits.bundlesMax;
  }

  get vertical(): string {
    return this.#options.vertical;
  }

  /** Whether a process runs or starts. */
  get isUp(): boolean {
    return this.#child !== null;
  }

  /** Whether it failed several times in a row, and did not recover since. */
  get isFailing(): boolean {
    if (this.#failures < FAILING || performance.now() - this.#failedAt > FAILING_MS) return false;
    return this.#present === null || this.#present.livedMs < SOUND_MS;
  }

  /** The id of the process, for the operator; null while none runs. */
  get pid(): number | null {
    return this.#present?.pid ?? null;
  }

  /** The time until it may be started, in milliseconds. */
  get pauseMs(): number {
    return Math.max(0, this.#againAt - performance.now());
  }

  /**
   * Sends a request about a scope.
   * @param isCopy true for one that makes or restores a copy, during which the process may be silent for longer.
   * @throws PlatformError `unavailable`, with `Retry-After`, when no answer comes.
   */
  async fetch(scope: string, request: SentRequest, isCopy = false): Promise<Response> {
    return this.#use(scope, request, (child) => child.requests, isCopy);
  }

  /** Sends an order of the platform. @throws PlatformError as {@link fetch}, and `runtime_fault` for a refusal. */
  async order(method: string, path: string, body?: unknown): Promise<unknown> {
    const request = new Request(`http://host.internal${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answered = await this.#use('', request, (child) => child.control);
    if (answered.ok) return answered.json();
    throw new PlatformError('runtime_fault', `The runtime of ${this.#options.vertical} could not do this.`, {
      reason: 'host_refused',
      cause: new Error(`${method} ${path} answered ${answered.status}: ${await answered.text()}`),
    });
  }

  /** Starts it where none runs, so that it does the work that is due. @throws PlatformError as {@link fetch}. */
  async wake(): Promise<void> {
    await this.#started().catch((error: unknown) => {
      throw this.#unavailable(error);
    });
  }

  /** When work of a scope is due, in milliseconds since the epoch; null for never. */
  dueAtMs(): number | null {
    return earliestAlarm(this.#options.folder);
  }

  /** Counts a bundle that it loaded. */
  loaded(): void {
    this.#bundles++;
  }

  /**
   * Ends it in order. The next request starts it again.
   * @param patienceMs the time that it has for what it was asked. Default: that of a silence.
   */
  async end(patienceMs?: number): Promise<void> {
    // It may go on.
    await this.#predecessor;
    const child = await this.#child?.catch(() => null);
    if (child) this.#retire(child, () => child.end(patienceMs));
    await this.#predecessor;
  }

  /** Ends it for good. @param patienceMs as {@link end}. */
  async close(patienceMs?: number): Promise<void> {
    this.#isClosed = true;
    await this.end(patienceMs);
  }

  async #use(
    scope: string,
    request: SentRequest,
    poolOf: (child: HostChild) => HostChild['requests'],
    isCopy = false,
  ): Promise<Response> {
    const wait = this.#waiting.begin(scope);
    try {
      const child = await this.#started().finally(() => wait('over'));
      const end = child.inFlight.begin(scope);
      if (isCopy) child.copies += 1;
      return await sendOver(poolOf(child), request, (error) => {
        this.#lastUsedAt = performance.now();
        if (isCopy) child.copies -= 1;
        end(error === null || request.signal?.aborted ? 'over' : 'broken');
      });
    } catch (error) {
      throw this.#unavailable(error);
    }
  }

  /** The process, for a request that waits for it no longer than it may. */
  async #started(): Promise<HostChild> {
    const { promise, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error('the process did not start in time')), WAIT_MAX_MS);
    return Promise.race([this.#start(), promise]).finally(() => clearTimeout(timer));
  }

  async #start(): Promise<HostChild> {
    this.#requireOpen();
    this.#lastUsedAt = performance.now();
    if (this.#child !== null) return this.#child;
    if (this.pauseMs > PATIENCE_MS) throw new Error('the process failed a moment ago');
    const starting = this.#spawn();
    this.#child = starting;
    starting.catch((error: unknown) => {
      if (this.#child === starting) this.#child = null;
      if (this.#isClosed) return;
      void this.#failed(this.#waiting.takeScopes(), { reason: 'not_started', detail: textOf(error) });
    });
    return starting;
  }

  async #spawn(): Promise<HostChild> {
    const before = await this.#predecessor;
    if (before) {
      this.#present = before;
      return before;
    }
    if (this.pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, this.pauseMs));
    this.#requireOpen();
    this.#bundles = 0;
    const child = await startChild(this.#options);
    this.#present = child;
    void child.exited.then(() => this.#ended(child));
    child.watch(() => this.#beat(child));
    return child;
  }

  #requireOpen(): void {
    if (this.#isClosed) throw new Error('the platform is shutting down');
  }

  #beat(child: HostChild): void {
    if (this.#present !== child) return;
    const { idleMs } = this.#options.limits;
    if (this.#isFull(child)) this.#retire(child, () => this.#replace(child));
    else if (
      child.inFlight.isEmpty &&
      performance.now() - this.#lastUsedAt > idleMs &&
      !this.#isDueWithin(idleMs)
    )
      this.#retire(child, () => child.end());
  }

  /**
   * Whether it loaded too much. An answer that takes long, or a move of a scope, is not cut off for that until it is twice too
   * much.
   */
  #isFull({ inFlight }: HostChild): boolean {
    if (this.#bundles < this.#bundlesMax) return false;
    if (this.#isTwiceFull) return true;
    const { drainMs } = this.#options.limits;
    return inFlight.oldestMs < drainMs / 2 && !inFlight.hasOrder && performance.now() >= this.#drainAgainAt;
  }

  get #isTwiceFull(): boolean {
    return this.#bundles >= 2 * this.#bundlesMax;
  }

  /** Ends a process that loaded too much, unless its answers take too long for that. */
  async #replace(child: HostChild): Promise<void> {
    const { drainMs } = this.#options.limits;
    if (!this.#isTwiceFull && !(await child.inFlight.drained(drainMs))) {
      this.#drainAgainAt = performance.now() + DRAIN_PAUSE * drainMs;
      return;
    }
    // So many within minutes may all be in use: a successor of the same size would be full again.
    if (child.livedMs < OFTEN_MS) this.#bundlesMax *= 2;
    await child.end(drainMs);
  }

  /** Work that is due while it would be idle keeps it up: a start costs more than the pause saves. */
  #isDueWithin(idleMs: number): boolean {
    const dueAtMs = this.dueAtMs();
    return dueAtMs !== null && dueAtMs <= Date.now() + idleMs;
  }

  /** Ends a process in order. Requests from now on wait for its end, and start a successor; or go on there, if it does. */
  #retire(child: HostChild, end: () => Promise<void>): void {
    if (this.#present !== child) return;
    this.#child = null;
    this.#present = null;
    this.#predecessor = end().then(() => {
      if (child.isOver) return this.#down();
      this.#child ??= this.#spawn();
      return child;
    });
  }

  #down(): null {
    if (this.#child === null && !this.#isClosed) this.#options.onDown();
    return null;
  }

  async #ended(child: HostChild): Promise<void> {
    if (this.#present !== child) return;
    this.#child = null;
    this.#present = null;
    if (child.livedMs > SOUND_MS) this.#failures = 0;
    await this.#failed(child.inFlight.takeScopes(), child.explained());
  }

  async #failed(
    scopes: readonly string[],
    end: Pick<ProcessFault, 'reason' | 'detail'> | Promise<ChildEnd>,
  ): Promise<void> {
    const pauseMs = Math.min(BACKOFF_FIRST_MS * 2 ** this.#failures, BACKOFF_MAX_MS);
    this.#failures++;
    this.#failedAt = performance.now();
    this.#againAt = this.#failedAt + pauseMs;
    const { vertical, onFault } = this.#options;
    onFault({ vertical, ...(await end), scopes, pauseMs });
    this.#down();
  }

  #unavailable(cause: unknown): PlatformError {
    const waitS = Math.max(1, Math.ceil(this.pauseMs / 1_000));
    return new PlatformError(
      'unavailable',
      'The application did not answer. What was asked may or may not have been done; try again in a moment.',
      { reason: 'vertical_unreachable', headers: { 'retry-after': String(waitS) }, cause },
    );
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
