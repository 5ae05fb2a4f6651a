/**
 * The instances of a process that have files open. A process that can open no more files ends, with the requests of all its
 * instances: so many may be open at once as its limit allows, and others wait.
 */
import { PlatformError } from '@freehold/contracts';

/** workerd closes an instance of which nothing was asked for ten seconds. */
const CLOSED_AFTER_MS = 12_000;
/** The longest wait for room, and the time between two looks. */
const WAIT_MAX_MS = 9_000;
const LOOK_MS = 100;
/** An instance holds two databases, each with its log and the log's index. As many are for those that work of their own opens. */
const FILES_EACH = 12;
/** For the process itself: its sockets, its own database, what is open for a moment. */
const RESERVED_FILES = 48;
const MIN = 8;

/** The number of instances that may be open at once with a limit of open files. */
export function openInstancesMax(limit: number): number {
  return Math.max(MIN, Math.floor((limit - RESERVED_FILES) / FILES_EACH));
}

/** The limit of open files at which so many instances may be open at once. */
export function limitForInstances(instances: number): number {
  return RESERVED_FILES + FILES_EACH * instances;
}

interface Open {
  inFlight: number;
  /** By the clock that is given: when the last request was over. */
  restsSinceMs: number;
  /** Another one waits for its place: its own requests wait until it is closed. */
  isClosing: boolean;
}

export interface OpenInstancesOptions {
  readonly max: number;
  /** Milliseconds of a clock that no correction of the machine's moves. */
  readonly clock: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

export class OpenInstances {
  readonly #options: OpenInstancesOptions;
  readonly #open = new Map<string, Open>();
  /** The instances that wait for room, and how many requests of each. */
  readonly #waiting = new Map<string, number>();

  constructor(options: OpenInstancesOptions) {
    this.#options = options;
  }

  /** Counts a request. Null where the instance would be one too many now. Returns the function that ends the request, which does something once. */
  enter(scope: string): (() => void) | null {
    const entered = this.#open.get(scope) ?? this.#add(scope);
    if (entered === null || entered.isClosing) return null;
    entered.inFlight++;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      entered.inFlight--;
      entered.restsSinceMs = this.#options.clock();
    };
  }

  /**
   * As {@link enter}, once there is room: the one that rests for longest gives up its place. workerd closes none by order.
   * @throws PlatformError `unavailable`, reason `too_many_open_files`, where there is none in time.
   */
  async wait(scope: string): Promise<() => void> {
    const { clock, sleep } = this.#options;
    const untilMs = clock() + WAIT_MAX_MS;
    const waiting = this.#waiting.get(scope) ?? 0;
    // One place for one instance, however many of its requests come.
    if (waiting === 0) this.#closeOne();
    this.#waiting.set(scope, waiting + 1);
    try {
      for (;;) {
        this.#forgetClosed();
        const end = this.enter(scope);
        if (end) return end;
        const waitMs = this.#roomAtMs() - clock();
        if (clock() + waitMs > untilMs) throw tooMany(waitMs);
        await sleep(LOOK_MS);
      }
    } finally {
      const left = (this.#waiting.get(scope) ?? 1) - 1;
      if (left === 0) this.#waiting.delete(scope);
      else this.#waiting.set(scope, left);
    }
  }

  /** Whether an instance waits for the place of another one. */
  get isShort(): boolean {
    return this.#waiting.size > 0;
  }

  /** The process is another one: of those that rest nothing is open. */
  restart(): void {
    for (const [scope, { inFlight }] of this.#open) if (inFlight === 0) this.#open.delete(scope);
  }

  #add(scope: string): Open | null {
    if (this.#open.size >= this.#options.max) this.#forgetClosed();
    if (this.#open.size >= this.#options.max) return null;
    const added: Open = { inFlight: 0, restsSinceMs: 0, isClosing: false };
    this.#open.set(scope, added);
    return added;
  }

  /** When the first of those that rest is closed; one that is used rests at the earliest now. */
  #roomAtMs(): number {
    const times = [...this.#open.values()].map(({ inFlight, restsSinceMs }) =>
      inFlight === 0 ? restsSinceMs : this.#options.clock(),
    );
    return Math.min(...times) + CLOSED_AFTER_MS;
  }

  #closeOne(): void {
    const resting = [...this.#open.values()].filter(
      ({ inFlight, isClosing }) => inFlight === 0 && !isClosing,
    );
    const [first] = resting.sort((one, other) => one.restsSinceMs - other.restsSinceMs);
    if (first) first.isClosing = true;
  }

  #forgetClosed(): void {
    const closedBy = this.#options.clock() - CLOSED_AFTER_MS;
    for (const [scope, { inFlight, restsSinceMs }] of this.#open)
      if (inFlight === 0 && restsSinceMs <= closedBy) this.#open.delete(scope);
  }
}

function tooMany(waitMs: number): PlatformError {
  return new PlatformError('unavailable', 'This platform has too many files open. Try again in a moment.', {
    reason: 'too_many_open_files',
    headers: { 'retry-after': String(Math.ceil(waitMs / 1_000)) },
  });
}
