/** A clock that stands still until a test moves it. */

/** Milliseconds, or a number with a unit: `90s`, `15m`, `2h`, `3d`. */
export type Duration = number | string;

export interface TestClock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** The same as text: `2026-03-03T07:00:00.000Z`. */
  readonly iso: string;
  /** Moves it on. What comes due runs with `instance.deliver()`. @throws TypeError for what is no duration. */
  advance(by: Duration): void;
  /** Sets it, also back: to milliseconds since the epoch, or to a time as text. */
  set(at: number | string): void;
}

const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

export function makeTestClock(start: number | string): TestClock {
  let nowMs = timeOf(start);
  return {
    now: () => nowMs,
    get iso() {
      return new Date(nowMs).toISOString();
    },
    advance: (by) => {
      nowMs += durationMs(by);
    },
    set: (at) => {
      nowMs = timeOf(at);
    },
  };
}

/** @throws TypeError for what is no duration. */
export function durationMs(duration: Duration): number {
  if (typeof duration === 'number' && Number.isFinite(duration) && duration >= 0) return duration;
  const [, count, unit] = /^(\d+(?:\.\d+)?)(s|m|h|d)$/.exec(String(duration)) ?? [];
  if (count === undefined) throw new TypeError(`not a duration: ${duration} (write 90s, 15m, 2h or 3d)`);
  return Math.round(Number(count) * UNITS_MS[unit as keyof typeof UNITS_MS]);
}

function timeOf(at: number | string): number {
  const timeMs = typeof at === 'number' ? at : Date.parse(at);
  if (!Number.isFinite(timeMs)) throw new TypeError(`not a time: ${at} (write 2026-03-03T07:00:00Z)`);
  return timeMs;
}
