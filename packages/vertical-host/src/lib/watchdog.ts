/** Gives up on a peer that is silent for too long. */

/** Calls back after so many milliseconds, unless the returned function is called first. */
export type SetTimer = (ms: number, fire: () => void) => () => void;

export interface Watchdog {
  /** Aborts when time is up. */
  readonly signal: AbortSignal;
  /** Rejects with the given error when time is up. */
  readonly expired: Promise<never>;
  /** Restarts the peer's time. */
  watch(): void;
  /** Stops the peer's time. */
  rest(): void;
}

/** Returns a watchdog whose time runs from now on. */
export function makeWatchdog(ms: number, setTimer: SetTimer, makeError: () => Error): Watchdog {
  const controller = new AbortController();
  const { promise, reject } = Promise.withResolvers<never>();
  // A rejection that no caller races against must not be unhandled.
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
