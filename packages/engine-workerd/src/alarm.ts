/**
 * The alarm of an object, which calls it for its unit's own work. It is in the object's storage: it rings also when
 * the object has died since, and it is set in the same write as the work that needs it.
 */

/** The delay after work that failed as a whole. */
const RETRY_MS = 5_000;

export interface ObjectAlarm {
  /** Makes the alarm ring soon. */
  wake(): void;
  /** Makes the alarm ring soon, unless one is set. */
  ensure(): void;
  /**
   * Runs `work`, and sets the time of the next ring: the one that `work` returns, or an earlier one that was set
   * meanwhile. Never rejects, because the runtime would ring again at times of its own.
   */
  ring(work: () => Promise<number | null>, onError: (error: unknown) => void): Promise<void>;
}

/** @param now the clock of the unit, which may differ from the runtime's. */
export function makeAlarm(storage: DurableObjectStorage, now: () => number): ObjectAlarm {
  const set = (atMs: number): void =>
    void storage.setAlarm(Date.now() + Math.max(0, atMs - now())).catch(discarded);
  return {
    wake: () => set(now()),
    ensure: () =>
      void storage.getAlarm().then((atMs) => {
        if (atMs === null) set(now());
      }, discarded),
    ring: async (work, onError) => {
      let nextAtMs: number | null;
      try {
        nextAtMs = await work();
      } catch (error) {
        onError(error);
        nextAtMs = isGone(error) ? null : now() + RETRY_MS;
      }
      if (nextAtMs === null) return;
      const otherMs = await storage.getAlarm();
      if (otherMs === null || Date.now() + (nextAtMs - now()) < otherMs) set(nextAtMs);
    },
  };
}

/** The runtime discards an object whose storage fails; the next one looks for work again. */
function discarded(): void {}

/** A unit that was removed has no work. */
function isGone(error: unknown): boolean {
  return (error as { readonly code?: unknown } | null)?.code === 'not_found';
}
