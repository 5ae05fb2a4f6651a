/**
 * Keeps the head of the admin log outside the data directory, so that a log whose end was cut off is noticed (design:
 * control-plane, "Audit").
 *
 * Invariants:
 * 1. A change is acknowledged only after a working anchor was offered a head that covers its row. Changes that commit
 *    together share one publication. An anchor counts as working unless an offer to it failed within the last 30 seconds
 *    and none has succeeded since.
 * 2. A head that the log no longer contains is never overwritten: it is the evidence that rows were cut off.
 * 3. An unreachable anchor neither undoes a durable change nor delays later ones: they are acknowledged at once, and the
 *    newest head is offered in the background, one offer at a time. An outage is reported once; meanwhile verification
 *    shows how far the anchor reaches.
 */
import type { LogHead } from '../declarations/records.ts';

/** A place outside the data directory that keeps one head: a file, a webhook, a bucket. */
export interface LogAnchor {
  /**
   * False where a person who can write the log can write this place too: verification compares the log with it, and answers
   * `unanchored` at best. Default true.
   */
  readonly vouches?: boolean;
  /** Replaces the head. Resolves when it is durable. */
  publish(head: LogHead): Promise<void>;
  /** The head that was published last, or null. */
  read(): Promise<LogHead | null>;
}

interface AnchorDeps {
  readonly anchor: LogAnchor | undefined;
  /** The hash of one row, or null when there is no such row. */
  readonly hashAt: (sequence: number) => Promise<string | null>;
  readonly onIncident: (error: unknown) => void;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** For this long after a failed offer changes do not wait: an anchor that hangs would cost each of them its time limit. */
const OUTAGE_MS = 30_000;

/**
 * Returns a function that resolves once the anchor was offered this head or a later one, or at once during an outage. It
 * never rejects.
 */
export function makeAnchoring(deps: AnchorDeps): (head: LogHead) => Promise<void> {
  const { anchor, hashAt, onIncident, now } = deps;
  if (!anchor) return async () => undefined;
  let newest: LogHead | null = null;
  let offered = 0;
  let running: { readonly sinceMs: number; readonly done: Promise<void> } | null = null;
  /** The head that the anchor holds. Undefined before it was read for the first time. */
  let anchored: LogHead | null | undefined;
  /** When the last offer failed; null when it succeeded. */
  let failedAtMs: number | null = null;

  const isRecent = (sinceMs: number): boolean => {
    const elapsedMs = now() - sinceMs;
    // Ignore a time in the future: the clock was wrong when it was noted.
    return elapsedMs >= 0 && elapsedMs < OUTAGE_MS;
  };
  const isInLog = async (head: LogHead | null): Promise<boolean> =>
    head === null || (await hashAt(head.sequence)) === head.hash;
  const isDown = (): boolean => failedAtMs !== null && isRecent(failedAtMs);

  const offer = async (): Promise<void> => {
    const head = newest as LogHead;
    try {
      // The operator may have replaced an anchor that does not fit since it was read.
      if (anchored === undefined || !(await isInLog(anchored))) anchored = await anchor.read();
      if (anchored && !(await isInLog(anchored))) {
        // The log has lost rows. That is no outage, and is reported with every change.
        onIncident(lostRow(anchored));
      } else {
        await anchor.publish(head);
        anchored = head;
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
   * Makes one offer at a time, except that an offer which hangs is not waited for: an engine may never end the work of a
   * request that is over. A head that came meanwhile is offered next, because no change may be waiting for it any more.
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
      const offerDone = offering();
      if (isDown()) return;
      await offerDone;
    }
  };
}

function lostRow({ sequence }: LogHead): Error {
  return new Error(
    `the admin log no longer contains row ${sequence} as it was anchored; the anchor is left as it is`,
  );
}
