/**
 * Keeps the head of the admin log outside the data directory, so that cutting off its end is noticed
 * (design: control-plane, "Audit").
 *
 * Invariants:
 * 1. A change is acknowledged only after the anchor was offered a head that covers its row. Changes that commit
 *    together share one publication.
 * 2. A head that the log no longer contains is never overwritten: it is the evidence of what was cut off.
 * 3. An anchor that cannot be reached does not undo a change that is already durable. It is reported, the next
 *    change tries again, and until then verification shows how far the anchor reaches.
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
}

/** Answers a function that resolves once the anchor was offered this head or a later one. It never rejects. */
export function makeAnchoring({ anchor, hashAt, onIncident }: AnchorDeps): (head: LogHead) => Promise<void> {
  if (!anchor) return async () => undefined;
  let newest: LogHead | null = null;
  let offered = 0;
  let running: Promise<void> | null = null;
  /** What the anchor holds, once it is known. Undefined before the first look. */
  let kept: LogHead | null | undefined;

  const offer = async (): Promise<void> => {
    const head = newest as LogHead;
    try {
      if (kept === undefined) kept = await anchor.read();
      if (kept && (await hashAt(kept.sequence)) !== kept.hash)
        throw new Error(
          `the admin log no longer contains row ${kept.sequence} as it was anchored; the anchor is left as it is`,
        );
      await anchor.publish(head);
      kept = head;
    } catch (error) {
      onIncident(error);
    } finally {
      offered = head.sequence;
    }
  };

  return async (head) => {
    if (!newest || head.sequence > newest.sequence) newest = head;
    while (offered < head.sequence) {
      running ??= offer().finally(() => {
        running = null;
      });
      await running;
    }
  };
}
