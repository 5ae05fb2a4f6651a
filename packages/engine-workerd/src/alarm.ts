/**
 * When an object is called for what its unit does by itself. The alarm is in the object's storage: it rings also when
 * the object has died since, and it is set in the same write as what it is for.
 */

/** After work that failed as a whole. */
const RETRY_MS = 5_000;

export interface ObjectAlarm {
  /** Rings soon. */
  wake(): void;
  /** Rings soon unless it will ring anyway. */
  ensure(): void;
  /**
   * Does what is due, and sets the time of the next: the one that `work` answers, or an earlier one that somebody set
   * meanwhile. Never rejects, because the runtime would ring again as it sees fit.
   */
  ring(work: () => Promise<number | null>, onError: (error: unknown) => void): Promise<void>;
}

/** @param now the clock of the unit, which need not be that of the runtime. */
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

/** The runtime discards an object whose storage fails; the next one asks again what is to be done. */
function discarded(): void {}

/** A unit that was removed has no work. */
function isGone(error: unknown): boolean {
  return (error as { readonly code?: unknown } | null)?.code === 'not_found';
}
