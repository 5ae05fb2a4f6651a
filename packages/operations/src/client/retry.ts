/** A call that is tried again: after which answers, after how long, and how often. */
import { problemOf } from './problem.ts';

/** Statuses after which the same request may succeed: too many, or something between here and the directory is down. */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);

const BACKOFF_BASE_MS = 250;
const BACKOFF_MAX_MS = 8_000;

/** A server that asks for more patience than this gets its error reported instead. */
const RETRY_AFTER_MAX_MS = 60_000;

export interface RetryOptions {
  /** The number of attempts after the first, at most. Default 2. */
  readonly retriesMax?: number;
  /** Waits that many milliseconds; rejects when the signal aborts. Default: a timer. */
  readonly sleep?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
  /** A number from 0 up to 1, for the jitter. Default: the platform's cryptographic source. */
  readonly random?: () => number;
  /** Milliseconds since the epoch, for a `Retry-After` that is a date. Default: the system's clock. */
  readonly now?: () => number;
}

type RetrySources = Required<Pick<RetryOptions, 'random' | 'now'>>;

const RETRIES_DEFAULT = 2;

/**
 * A call that broke off may still be going on, and then its key is taken: 150 seconds of patience, more than the control
 * plane has with a call that it has lost.
 */
const RUNNING_WAIT_MS = 2_000;
const RUNNING_WAITS_MAX = 75;

/** A response that arrived whole, or whose bytes are still to come. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: ReadableStream<Uint8Array> | null;
}

/**
 * Makes attempts until one is answered for good. Every attempt of a call that changes something must carry the same
 * idempotency key: that is what makes it safe to try it again.
 * @param attempt answers the TypeError of a network that failed; what it throws goes on to the caller.
 * @throws TypeError when nothing could be reached; the signal's reason.
 */
export async function untilAnswered(
  attempt: () => Promise<Answer | TypeError>,
  options: RetryOptions,
  signal: AbortSignal | undefined,
): Promise<Answer> {
  const { retriesMax = RETRIES_DEFAULT, now = Date.now, random = secureRandom, sleep = sleepFor } = options;
  let waits = 0;
  for (let made = 1; ; made++) {
    const answer = await attempt();
    if (made > 1 && waits < RUNNING_WAITS_MAX && isStillRunning(answer)) {
      waits += 1;
      made -= 1;
      await sleep(RUNNING_WAIT_MS, signal);
      continue;
    }
    const waitMs =
      answer instanceof TypeError ? backoffMs(made, { random }) : retryDelayMs(answer, made, { random, now });
    if (waitMs === null || made > retriesMax) {
      if (answer instanceof TypeError) throw answer;
      return answer;
    }
    await sleep(waitMs, signal);
  }
}

/** Whether an earlier attempt of this very call has not ended yet. */
function isStillRunning(answer: Answer | TypeError): boolean {
  if (answer instanceof TypeError || answer.status !== 409) return false;
  return problemOf(answer.headers, answer.text)?.reason === 'idempotency_in_progress';
}

/**
 * The wait before the next attempt in milliseconds; null when there should be none.
 * @param attempt how many attempts were made, at least 1.
 */
function retryDelayMs(
  answer: Pick<Response, 'status' | 'headers'>,
  attempt: number,
  sources: RetrySources,
): number | null {
  if (!RETRYABLE.has(answer.status)) return null;
  const askedMs = retryAfterMs(answer.headers.get('retry-after'), sources.now());
  if (askedMs === null) return backoffMs(attempt, sources);
  return askedMs > RETRY_AFTER_MAX_MS ? null : askedMs;
}

/** Exponential, with full jitter, so that clients that failed together do not come back together. */
function backoffMs(attempt: number, sources: Pick<RetrySources, 'random'>): number {
  return sources.random() * Math.min(BACKOFF_MAX_MS, BACKOFF_BASE_MS * 2 ** (attempt - 1));
}

/** RFC 9110, section 10.2.3: seconds, or an HTTP date. */
function retryAfterMs(header: string | null, nowMs: number): number | null {
  if (header === null) return null;
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  const dateMs = Date.parse(header);
  return Number.isNaN(dateMs) ? null : Math.max(0, dateMs - nowMs);
}

function secureRandom(): number {
  return (crypto.getRandomValues(new Uint32Array(1))[0] as number) / 2 ** 32;
}

function sleepFor(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
