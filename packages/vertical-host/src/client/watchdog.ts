/** Gives up on a peer that keeps silent. */

/** Calls back after so many milliseconds, unless what it answers is called before. */
export type SetTimer = (ms: number, fire: () => void) => () => void;

export interface Watchdog {
  /** Aborts when time is up. */
  readonly signal: AbortSignal;
  /** Rejects when time is up, with what was given. */
  readonly expired: Promise<never>;
  /** The peer's time begins, anew. */
  watch(): void;
  /** The peer is not being waited for. */
  rest(): void;
}

/** Begins to watch at once. */
export function makeWatchdog(ms: number, setTimer: SetTimer, makeError: () => Error): Watchdog {
  const controller = new AbortController();
  const { promise, reject } = Promise.withResolvers<never>();
  // Whoever races against it hears of it; nobody else has to.
  promise.catch(() => undefined);
  let stop = (): void => undefined;
  const rest = (): void => stop();
  const watch = (): void => {
    stop();
    stop = setTimer(ms, () => {
      const error = makeError();
      reject(error);
      controller.abort(error);
    });
  };
  watch();
  return { signal: controller.signal, expired: promise, watch, rest };
}

export const systemTimer: SetTimer = (ms, fire) => {
  const timer = setTimeout(fire, ms);
  return () => clearTimeout(timer);
};
