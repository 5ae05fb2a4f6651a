/**
 * Keeps the head of the admin log outside the data directory, so that cutting off its end is noticed
 * (design: control-plane, "Audit").
 *
 * Invariants:
 * 1. A change is acknowledged only after an anchor that works was offered a head that covers its row. Changes that
 *    commit together share one publication. An anchor works unless an offer to it failed within the last 30 seconds and
 *    none has succeeded since.
 * 2. A head that the log no longer contains is never overwritten: it is the evidence of what was cut off.
 * 3. An anchor that cannot be reached does not undo a change that is already durable, nor hold up the ones after it:
 *    they are acknowledged at once, and each has the newest head offered behind it, one offer at a time. An outage is
 *    reported once, and until it is over verification shows how far the anchor reaches.
 */
import type { LogHead } from '../declarations/records.ts';

/** Where the head is kept: a file outside the data directory, a webhook, a bucket. */
export interface LogAnchor {
  /** Keeps this head instead of the one before. Resolves when it is durable. */
  publish(head: LogHead): Promise<void>;
  /** The head that was kept last, or null when there was none. */
  read(): Promise<LogHead | null>;
}

export interface AnchorDeps {
  readonly anchor: LogAnchor | undefined;
  /** The hash of one row, or null when there is no such row. */
  readonly hashAt: (sequence: number) => Promise<string | null>;
  readonly onIncident: (error: unknown) => void;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** How long changes do not wait after an offer that failed: one that hangs would cost each of them its time limit. */
const OUTAGE_MS = 30_000;

/**
 * Answers a function that resolves once the anchor was offered this head or a later one, or at once while it does not
 * work. It never rejects.
 */
export function makeAnchoring(deps: AnchorDeps): (head: LogHead) => Promise<void> {
  const { anchor, hashAt, onIncident, now } = deps;
  if (!anchor) return async () => undefined;
  let newest: LogHead | null = null;
  let offered = 0;
  let running: { readonly sinceMs: number; readonly done: Promise<void> } | null = null;
  /** What the anchor holds, once it is known. Undefined before the first look. */
  let kept: LogHead | null | undefined;
  /** When the last offer failed; null when it did not. */
  let failedAtMs: number | null = null;

  const isRecent = (sinceMs: number): boolean => {
    const elapsedMs = now() - sinceMs;
    // What a clock wrote that was ahead must not count until time catches up with it.
    return elapsedMs >= 0 && elapsedMs < OUTAGE_MS;
  };
  const isInLog = async (head: LogHead | null): Promise<boolean> =>
    head === null || (await hashAt(head.sequence)) === head.hash;
  const isDown = (): boolean => failedAtMs !== null && isRecent(failedAtMs);

  const offer = async (): Promise<void> => {
    const head = newest as LogHead;
    try {
      // An anchor that does not fit may have been put aside by the operator since it was looked at.
      if (kept === undefined || !(await isInLog(kept))) kept = await anchor.read();
      if (kept && !(await isInLog(kept))) {
        // It is the log that is not what it was: no outage, and said with every change.
        onIncident(lostRow(kept));
      } else {
        await anchor.publish(head);
        kept = head;
      }
      failedAtMs = null;
    } catch (error) {
      if (failedAtMs === null) onIncident(error);
      failedAtMs = now();
    } finally {
      offered = Math.max(offered, head.sequence);
    }
  };

  /**
   * One offer at a time, unless it does not end: where requests bound what they began, an offer that nobody waits for may
   * never do. Whatever came meanwhile is offered next, because nobody may be waiting for that either.
   */
  const offering = (): Promise<void> => {
    if (running && isRecent(running.sinceMs)) return running.done;
    const done = offer().then(() => {
      if (running?.done === done) running = null;
      if (newest && newest.sequence > offered) void offering();
    });
    running = { sinceMs: now(), done };
    return done;
  };

  return async (head) => {
    if (!newest || head.sequence > newest.sequence) newest = head;
    while (offered < head.sequence) {
      const underWay = offering();
      if (isDown()) return;
      await underWay;
    }
  };
}

function lostRow({ sequence }: LogHead): Error {
  return new Error(
    `the admin log no longer contains row ${sequence} as it was anchored; the anchor is left as it is`,
  );
}
