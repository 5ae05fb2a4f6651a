/** Times: integers inside (milliseconds since the epoch), RFC 3339 in UTC with milliseconds on the wire. */
import { z } from 'zod';

export const timestamp = z.iso.datetime({ precision: 3 }).describe('RFC 3339, UTC, milliseconds');

const DAY_MS = 86_400_000;
/** The greatest time of ECMAScript. */
const TIME_MAX_MS = 1e8 * DAY_MS;
/** The day that was formatted last: most times of a page are of few days, and `toISOString` takes half a microsecond. */
let day = { number: Number.NaN, text: '' };

/**
 * Returns the wire form of a time, for example `2026-11-21T08:30:00.000Z`.
 * @throws RangeError on a number that is no time.
 */
export function toTimestamp(timeMs: number): string {
  const ms = Math.trunc(timeMs);
  if (ms > TIME_MAX_MS) throw new RangeError(`${timeMs} is no time`);
  const number = Math.floor(ms / DAY_MS);
  if (number !== day.number)
    day = { number, text: new Date(number * DAY_MS).toISOString().slice(0, -'00:00:00.000Z'.length) };
  const rest = Math.trunc(ms - number * DAY_MS);
  const seconds = Math.floor(rest / 1000);
  const minutes = Math.floor(seconds / 60);
  return `${day.text}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}:${two(seconds % 60)}.${three(rest % 1000)}Z`;
}

const two = (value: number): string => (value < 10 ? `0${value}` : `${value}`);
const three = (value: number): string => (value < 100 ? `0${two(value)}` : `${value}`);

/** Milliseconds since the epoch of a wire time. */
export function fromTimestamp(text: string): number {
  return Date.parse(text);
}
