/**
 * Identifiers and times. An id is a prefix that names the kind and a lower-case ULID: sortable by creation, opaque to its
 * reader, and not to be confused with another kind (design: architecture, "Rules that hold everywhere"). A time is
 * milliseconds since the epoch inside, RFC 3339 in UTC on the wire.
 */
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

/** Returns the milliseconds since the epoch of a wire time. */
export function fromTimestamp(text: string): number {
  return Date.parse(text);
}

/** Crockford base 32 in lower case: no i, l, o or u. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_CHARS = 10;
const RANDOM_CHARS = 16;
/** 2^48 milliseconds, the largest time a ULID can name (the year 10889). */
const TIME_LIMIT_MS = 2 ** 48;

export const ID_PREFIXES = {
  tenant: 'tnt',
  scope: 'scp',
  principal: 'prn',
  event: 'evt',
  invocation: 'inv',
  version: 'ver',
  connection: 'con',
  token: 'tok',
  programGrant: 'grt',
  snapshot: 'snp',
  backup: 'bkp',
  denial: 'dnl',
  hostname: 'hst',
  access: 'acc',
  request: 'req',
} as const;

declare const brand: unique symbol;
type Branded<Kind extends string> = string & { readonly [brand]: Kind };

export type TenantId = Branded<'tnt'>;
export type ScopeId = Branded<'scp'>;
export type PrincipalId = Branded<'prn'>;
export type EventId = Branded<'evt'>;
export type InvocationId = Branded<'inv'>;
export type TokenId = Branded<'tok'>;

/** A service that a vertical's manifest declares: the vertical's own work runs as one of these. */
export type ServiceActor = `service:${string}`;
/** A connection to another system, acting in a scope (spec 4.4). */
export type ConnectionActor = `connection:${string}`;
/** An actor of a scope: a person's principal, a service, or a connection. */
export type ActorId = PrincipalId | ServiceActor | ConnectionActor;

/** Returns the schema of ids of one kind: the prefix, an underscore and 26 characters of ULID. */
export function idSchema<T extends string = string>(prefix: string): z.ZodType<T, string> {
  return z
    .string()
    .regex(
      new RegExp(`^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`),
      `must be an id that begins with ${prefix}_`,
    ) as never;
}

export const tenantId = idSchema<TenantId>(ID_PREFIXES.tenant);
export const scopeId = idSchema<ScopeId>(ID_PREFIXES.scope);
export const principalId = idSchema<PrincipalId>(ID_PREFIXES.principal);
/** The name of a service, as in `service:billing`. */
export const serviceKey = z.string().regex(/^[a-z][a-z0-9_-]{0,63}$/);
export const actorId: z.ZodType<ActorId, string> = z
  .string()
  .regex(
    /^(?:prn_[0-7][0-9a-hjkmnp-tv-z]{25}|connection:con_[0-7][0-9a-hjkmnp-tv-z]{25}|service:[a-z][a-z0-9_-]{0,63})$/,
    'must be the id of a principal, a service or a connection',
  ) as never;
export const eventId = idSchema<EventId>(ID_PREFIXES.event);
export const invocationId = idSchema<InvocationId>(ID_PREFIXES.invocation);

export interface IdSources {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Returns so many bytes from a cryptographic source. */
  readonly random: (bytes: number) => Uint8Array;
}

/** Makes ids that increase strictly in the order they are made, even when the clock stands still or steps back. */
export interface IdFactory {
  (prefix: string): string;
  /** Makes every later id greater than this one. Called with the newest stored id when a store is opened. */
  observe(id: string): void;
}

/** Builds an {@link IdFactory}. Two ids of one millisecond differ by one in their random part (ULID, monotonic). */
export function makeIdFactory(sources: IdSources): IdFactory {
  let lastMs = Number.NEGATIVE_INFINITY;
  let timePart = '';
  /** An id without its prefix and its last two digits, which change from one id to the next. */
  let stem = '';
  const digits = new Uint8Array(RANDOM_CHARS);

  const next = (prefix: string): string => {
    const ms = sources.now();
    // Not `ms > lastMs`: NaN from a clock must be refused, not taken for a clock that stands still.
    if (!(ms <= lastMs)) {
      timePart = encodeTime(ms);
      lastMs = ms;
      const random = sources.random(RANDOM_CHARS);
      for (let i = 0; i < RANDOM_CHARS; i++) digits[i] = (random[i] as number) & 31;
      // The top digit starts low, so that incrementing within one millisecond cannot run out.
      digits[0] = (digits[0] as number) & 15;
      stem = stemOf();
    } else {
      increment();
    }
    return `${prefix}_${stem}${ALPHABET[digits[14] as number]}${ALPHABET[digits[15] as number]}`;
  };

  const stemOf = (): string => {
    let text = timePart;
    for (let i = 0; i < RANDOM_CHARS - 2; i++) text += ALPHABET[digits[i] as number];
    return text;
  };

  const increment = (): void => {
    if ((digits[15] as number) < 31) {
      digits[15] = (digits[15] as number) + 1;
      return;
    }
    carry();
    stem = stemOf();
  };
  const carry = (): void => {
    for (let i = RANDOM_CHARS - 1; i >= 0; i--) {
      if ((digits[i] as number) < 31) {
        digits[i] = (digits[i] as number) + 1;
        return;
      }
      digits[i] = 0;
    }
    // 2^79 ids in one millisecond: the time part moves on instead of repeating an id.
    lastMs += 1;
    timePart = encodeTime(lastMs);
  };

  const observe = (id: string): void => {
    const ulid = id.slice(id.indexOf('_') + 1);
    const ms = decodeTime(ulid);
    if (ms < lastMs) return;
    const tail = [...ulid.slice(TIME_CHARS)].map((char) => ALPHABET.indexOf(char));
    if (ms === lastMs && !isAfter(tail, digits)) return;
    lastMs = ms;
    timePart = ulid.slice(0, TIME_CHARS);
    digits.set(tail);
    stem = stemOf();
  };

  return Object.assign(next, { observe });
}

/** Returns the smallest id of a millisecond, the start of a search by time; other times are moved into an id's range. */
export function firstIdAt(prefix: string, ms: number): string {
  const time = Math.min(Math.max(0, Math.floor(ms)), TIME_LIMIT_MS - 1);
  return `${prefix}_${encodeTime(time)}${ALPHABET.charAt(0).repeat(RANDOM_CHARS)}`;
}

/** Returns the creation time in an id, in milliseconds since the epoch. */
export function timeOfId(id: string): number {
  return decodeTime(id.slice(id.indexOf('_') + 1));
}

function encodeTime(ms: number): string {
  if (!Number.isSafeInteger(ms) || ms < 0 || ms >= TIME_LIMIT_MS)
    throw new RangeError('the clock is out of range');
  let rest = ms;
  let text = '';
  for (let i = 0; i < TIME_CHARS; i++) {
    text = ALPHABET[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

function decodeTime(ulid: string): number {
  let ms = 0;
  for (let i = 0; i < TIME_CHARS; i++) ms = ms * 32 + ALPHABET.indexOf(ulid[i] ?? '');
  return ms;
}

function isAfter(left: readonly number[], right: Uint8Array): boolean {
  for (let i = 0; i < RANDOM_CHARS; i++) {
    if (left[i] !== right[i]) return (left[i] as number) > (right[i] as number);
  }
  return false;
}
