/**
 * The process of one deployed vertical: started by its first request, ended when it is idle, killed when it hangs, started
 * again after a pause that grows. One that waits for it longer than it may is answered 503.
 */
import type { Server } from 'node:http';
import { PlatformError } from '@freehold/contracts';
import type { WaitingCalls } from '../services/ports.ts';
import { earliestAlarm } from './alarms.ts';
import { type ChildEnd, type ChildLimits, type ChildOptions, type HostChild, startChild } from './child.ts';
import { InFlight } from './in-flight.ts';
import { OpenInstances } from './open-instances.ts';
import { type SentRequest, sendOver } from './send.ts';

export interface ProcessLimits extends ChildLimits {
  /** The time without a request after which it is ended, in milliseconds. Default 5 minutes. */
  readonly idleMs: number;
  /**
   * The memory from which on instances that rest are ended, and then a successor takes its place, in MiB. It goes up halfway to
   * `memoryMib` when that happens within ten minutes. Default 1280.
   */
  readonly fullMib: number;
  /**
   * The longest time that requests wait for the answers of a process that is to be replaced, in milliseconds. Then it goes on,
   * and is replaced later. Default 4 seconds.
   */
  readonly drainMs: number;
  /** The longest wait of an isolate for memory, in milliseconds. Default 5 seconds. */
  readonly roomMs: number;
  /** The number of instances that have files open at once. Default: any number. */
  readonly instancesMax: number;
}

export const PROCESS_LIMITS: ProcessLimits = {
  heapMib: 256,
  memoryMib: 1_536,
  idleMs: 300_000,
  silenceMs: 5_000,
  heartbeatMs: 1_000,
  recoverMs: 60_000,
  fullMib: 1_280,
  drainMs: 4_000,
  roomMs: 5_000,
  instancesMax: Number.POSITIVE_INFINITY,
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

export interface VerticalProcessOptions extends Omit<ChildOptions, 'limits' | 'openServices'> {
  readonly limits: ProcessLimits;
  /** Opens the platform's socket. */
  readonly openServices: (socket: string, waiting: WaitingCalls) => Promise<Server>;
  /** Receives the end of a process that hung or died. It does not throw. */
  readonly onFault: (fault: ProcessFault) => void;
  /** Called when none runs any more: nothing runs until the next request, or until `wake`. */
  readonly onDown: () => void;
}

/** With more requests at once, no call begins to wait for a person: each of them holds a socket. */
const BUSY = 32;
const BACKOFF_FIRST_MS = 250;
const BACKOFF_MAX_MS = 60_000;
/** A process that lived that long was sound: the next pause is the first again. */
const SOUND_MS = 60_000;
/** A successor within that time is one too many. */
const OFTEN_MS = 600_000;
/** The longest pause that a request waits for. */
const PATIENCE_MS = 2_000;
/** The longest time that a request waits for a process after a failure, in all. */
const WAIT_MAX_MS = 9_000;
/** The same for one that is started or replaced in order: on a busy machine that takes long, and no request is lost for it. */
const WAIT_IN_ORDER_MS = 40_000;
/** The memory that a bundle of usual size needs, in MiB, and the time until it has it. */
const BUNDLE_MIB = 64;
const LOADING_MS = 3_000;
/** The wait between two looks for memory. */
const ROOM_LOOK_MS = 500;
/** The longest wait for the end of instances that rest: shorter than the silence after which a process counts as hung. */
const REST_MS = 3_000;
/** All of them are asked: not at each beat. */
const REST_PAUSE_MS = 10_000;
/** Between two waits for answers that take long, requests are served for so many times as long. */
const DRAIN_PAUSE = 5;
/** The time of a replaced process for what it was asked a moment before. */
const END_MS = 1_000;
/** So many failures in a row are a state, and no accident. */
const FAILING = 3;
/** A failure that long ago says nothing about the present. */
const FAILING_MS = 600_000;

export class VerticalProcess {
  readonly #options: VerticalProcessOptions;
  /** The requests that wait for a process. */
  readonly #waiting = new InFlight();
  readonly #open: OpenInstances;
  /** The process that runs or starts. */
  #child: Promise<HostChild> | null = null;
  /** The same, once it runs. */
  #present: HostChild | null = null;
  /** Resolves when the process before is gone: two would write the same databases. With that process where it goes on. */
  #predecessor: Promise<HostChild | null> = Promise.resolve(null);
  #fullMib: number;
  /** The isolates of which it is not known whether their memory is counted yet, and when they were let in. */
  readonly #handed = new Map<string, number>();
  /** Resolves when the instances that rest have ended, so that there is memory; null while none are asked to. */
  #resting: Promise<void> | null = null;
  #restAgainAt = 0;
  /** Times of the process's own clock (`performance.now`), which no correction of the machine's moves. */
  #lastUsedAt = performance.now();
  #againAt = 0;
  #failedAt = 0;
  #failures = 0;
  /** Until then it is not tried to replace the process, since its answers took too long for that. */
  #drainAgainAt = 0;
  #isClosed = false;
  readonly #waitingCalls: WaitingCalls = {
    mayBegin: () => this.#waitingCalls.mayGoOn() && (this.#present?.inFlight.size ?? 0) <= BUSY,
    mayGoOn: () => this.#present !== null && !this.#isFull(this.#present) && !this.#open.isShort,
  };

  constructor(options: VerticalProcessOptions) {
    this.#options = options;
    this.#fullMib = options.limits.fullMib;
    this.#open = new OpenInstances({
      max: options.limits.instancesMax,
      clock: () => performance.now(),
      sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    });
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

  /**
   * Call it before an isolate is loaded. Where there is no memory for it, ends instances that rest, and waits for more of them.
   * @param isolate its name: those of one name are one.
   * @throws PlatformError `unavailable`, reason `memory_full`, where all that fills it is in use.
   */
  async makeRoom(isolate: string): Promise<void> {
    const { roomMs, memoryMib } = this.#options.limits;
    const untilMs = performance.now() + roomMs;
    for (;;) {
      const child = this.#present;
      if (child === null || this.#neededMib(child, isolate) <= this.#fullMib) break;
      await this.#rest(child);
      const neededMib = this.#neededMib(child, isolate);
      if (neededMib <= this.#fullMib) break;
      if (performance.now() < untilMs) await sleep(ROOM_LOOK_MS);
      else if (neededMib <= halfway(this.#fullMib, memoryMib)) break;
      else throw memoryFull();
    }
    this.#handed.set(isolate, performance.now());
  }

  /** The memory with one isolate more, and with those that were handed out and are not counted yet, in MiB. */
  #neededMib({ dataMib }: HostChild, isolate: string): number {
    const nowMs = performance.now();
    for (const [name, atMs] of this.#handed) if (nowMs - atMs >= LOADING_MS) this.#handed.delete(name);
    const isOne = !this.#handed.has(isolate);
    return (dataMib ?? 0) + (this.#handed.size + (isOne ? 1 : 0)) * BUNDLE_MIB;
  }

  /** When work of a scope is due, in milliseconds since the epoch; null for never. */
  dueAtMs(): number | null {
    return earliestAlarm(this.#options.folder);
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
    const leave =
      scope === '' ? () => undefined : (this.#open.enter(scope) ?? (await this.#open.wait(scope)));
    const wait = this.#waiting.begin(scope);
    try {
      const child = await this.#started().finally(() => wait('over'));
      const end = child.inFlight.begin(scope);
      if (isCopy) child.copies += 1;
      return await sendOver(poolOf(child), request, (error) => {
        this.#lastUsedAt = performance.now();
        if (isCopy) child.copies -= 1;
        leave();
        end(error === null || request.signal?.aborted ? 'over' : 'broken');
      });
    } catch (error) {
      leave();
      throw this.#unavailable(error);
    }
  }

  /** The process, for a request that waits for it no longer than it may. */
  async #started(): Promise<HostChild> {
    const { promise, reject } = Promise.withResolvers<never>();
    const isRecovering = this.#failures > 0 && performance.now() - this.#failedAt < SOUND_MS;
    const waitMs = isRecovering ? WAIT_MAX_MS : WAIT_IN_ORDER_MS;
    const timer = setTimeout(() => reject(new Error('the process did not start in time')), waitMs);
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
    // One that went on may have ended since.
    if (before && !before.isOver) {
      this.#present = before;
      return before;
    }
    if (this.pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, this.pauseMs));
    this.#requireOpen();
    this.#open.restart();
    this.#handed.clear();
    const { openServices } = this.#options;
    const child = await startChild({
      ...this.#options,
      openServices: (socket) => openServices(socket, this.#waitingCalls),
    });
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
    this.#settleFull(child);
    if (this.#isFull(child)) void this.#relieve(child);
    else if (
      child.inFlight.isEmpty &&
      performance.now() - this.#lastUsedAt > idleMs &&
      !this.#isDueWithin(idleMs)
    )
      this.#retire(child, () => child.end());
  }

  #isFull({ dataMib }: HostChild): boolean {
    return (dataMib ?? 0) >= this.#fullMib;
  }

  /** Goes back to the usual limit once a process stayed below it for long. */
  #settleFull({ dataMib, livedMs }: HostChild): void {
    const { fullMib } = this.#options.limits;
    if ((dataMib ?? 0) < fullMib && livedMs > OFTEN_MS) this.#fullMib = fullMib;
  }

  /** Whether it has so much memory that its end by the limit is near. */
  #isAlmostOver({ dataMib }: HostChild): boolean {
    return (dataMib ?? 0) >= halfway(this.#fullMib, this.#options.limits.memoryMib);
  }

  /** Ends the instances of a full process that rest, and replaces it where that is not enough. It never rejects. */
  async #relieve(child: HostChild): Promise<void> {
    if (this.#resting !== null) return;
    if (performance.now() >= this.#restAgainAt) {
      this.#restAgainAt = performance.now() + REST_PAUSE_MS;
      await this.#rest(child);
    }
    if (this.#isFull(child) && this.#mayReplace(child)) this.#retire(child, () => this.#replace(child));
  }

  /** One order at a time: each of them holds a connection that heartbeats need. It never rejects. */
  #rest(child: HostChild): Promise<void> {
    this.#resting ??= child.restInstances(REST_MS).finally(() => {
      this.#resting = null;
    });
    return this.#resting;
  }

  /**
   * Whether it can be replaced now. An answer that takes long, or a move of a scope, is not cut off for that unless all of them
   * would be lost by its end.
   */
  #mayReplace(child: HostChild): boolean {
    if (this.#isAlmostOver(child)) return true;
    const { inFlight } = child;
    const { drainMs } = this.#options.limits;
    return inFlight.oldestMs < drainMs / 2 && !inFlight.hasOrder && performance.now() >= this.#drainAgainAt;
  }

  /** Ends a full process, unless its answers take too long for that. */
  async #replace(child: HostChild): Promise<void> {
    const { drainMs, memoryMib } = this.#options.limits;
    const isDrained = await child.inFlight.drained(drainMs);
    if (child.isOver) {
      await child.exited;
      return this.#failed(child.inFlight.takeScopes(), child.explained());
    }
    if (!isDrained && !this.#isAlmostOver(child)) {
      this.#drainAgainAt = performance.now() + DRAIN_PAUSE * drainMs;
      return;
    }
    // All that fills it within minutes may be in use: a successor would be full again.
    if (child.livedMs < OFTEN_MS) this.#fullMib = halfway(this.#fullMib, memoryMib);
    await child.end(END_MS);
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

function memoryFull(): PlatformError {
  return new PlatformError(
    'unavailable',
    'Too many instances of this application are in use at once. Try again in a moment.',
    { reason: 'memory_full', headers: { 'retry-after': '10' } },
  );
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function halfway(from: number, to: number): number {
  return from + (to - from) / 2;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
